"""Which kernel each operator gets on a device, and why each other one does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainer.devices import CARDS, default_dtype, find_device
from trainer.errors import TrainerError
from trainer.kernels.operators import OPS
from trainer.kernels.registry import CPU, Capability, Request, is_installed


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One kernel of one operator. ``status`` is "chosen", "refused" or "not needed"."""

    op: str
    kernel: str
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """The whole answer for one device; ``capability`` None is the CPU."""

    device: str
    capability: Capability | None
    dtype: str
    rows: tuple[Row, ...]

    def as_json(self) -> dict[str, object]:
        """The same, for machines."""
        return {
            "device": self.device,
            "capability": None if self.capability is None else f"{self.capability[0]}.{self.capability[1]}",
            "dtype": self.dtype,
            "kernels": [
                {"op": row.op, "kernel": row.kernel, "status": row.status, "reason": row.reason} for row in self.rows
            ],
        }

    def as_text(self) -> str:
        """A table for people."""
        place = "CPU" if self.capability is None else "compute capability {}.{}".format(*self.capability)
        heads = ("operator", "kernel", "", "why")
        lines = [heads, *((row.op, row.kernel, row.status, row.reason) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        table = ("  ".join((*map(str.ljust, line, widths), line[3])).rstrip() for line in lines)
        return "\n".join((f"{self.device} ({place}), {self.dtype}", *table))


def capability_of(device: str) -> tuple[str, Capability | None]:
    """Resolve a card's name, "cpu" or "here" to a name for people and its capability. Only "here" loads torch."""
    if device == "here":
        found = find_device("auto")
        return found.name, found.capability
    if device == "cpu":
        return "cpu", CPU
    if device in CARDS:
        return device, CARDS[device]
    raise TrainerError(f"no device {device!r}; known: here, cpu, {', '.join(CARDS)}")


def explain(device: str, head_dim: int = 64, installed: Callable[[str], bool] = is_installed) -> Explanation:
    """What the trainer would choose on that device, with the modules that are installed here."""
    name, capability = capability_of(device)
    request = Request(capability=capability, dtype=default_dtype(capability), head_dim=head_dim)
    rows: list[Row] = []
    for op in OPS:
        choice = op.select(request, installed=installed)
        for kernel in op.kernels:
            if kernel is choice.kernel:
                status, reason = "chosen", "the first that runs"
            elif (refusal := kernel.refusal(request, installed)) is not None:
                status, reason = "refused", refusal
            else:
                status, reason = "not needed", f"{choice.kernel.name} comes before it"
            rows.append(Row(op=op.name, kernel=kernel.name, status=status, reason=reason))
    return Explanation(device=name, capability=capability, dtype=request.dtype, rows=tuple(rows))
