"""Why a kernel that runs on a device would be slow there: its machine code against a build for another device. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures, TensorPath


@dataclass(frozen=True, kw_only=True, slots=True)
class Slowness:
    """What was found, and what could not be told: of the latter nothing may be concluded."""

    findings: tuple[str, ...] = ()  # each one sentence, with numbers
    not_known: tuple[str, ...] = ()  # which of the things that are looked at


def slowness(figures: KernelFigures, reference: KernelFigures | None, against: str) -> Slowness:
    """What of a device's build is slower than a build that it is held against.

    ``against`` names that build ("the build for 9.0"), or says why there is none. Without one, spills are all that
    can be told: they are slow by any measure, and a kernel that spills everywhere is not slower for it.
    """
    if reference is None:
        if figures.spill_stores is None:
            return Slowness(not_known=("spills",))
        return Slowness(findings=(_spills(figures.spill_stores, against),) if figures.spill_stores else ())
    findings, not_known = [], []
    for what, look in _LOOKED_AT.items():
        try:
            finding = look(figures, reference, against)
        except _NotKnownError:
            not_known.append(what)
            continue
        if finding is not None:
            findings.append(finding)
    return Slowness(findings=tuple(findings), not_known=tuple(not_known))


class _NotKnownError(Exception):
    """A figure that decides is not known."""


def _known(count: int | None) -> int:
    if count is None:
        raise _NotKnownError
    return count


def _spilling(figures: KernelFigures, reference: KernelFigures, against: str) -> str | None:
    spilled = _known(figures.spill_stores)
    if spilled == 0:
        return None
    theirs = _known(reference.spill_stores)
    return _spills(spilled, f"{against}: {theirs:,} B") if spilled > theirs else None


def _spills(count: int, against: str) -> str:
    return f"spills {count:,} B per thread ({against})"


def _tensor_cores(figures: KernelFigures, reference: KernelFigures, against: str) -> str | None:
    """Another instruction for the same cores is a device's own way: only none at all is a loss."""
    mine, theirs = figures.tensor_path, reference.tensor_path
    if mine not in (None, TensorPath.NONE) or theirs is TensorPath.NONE:
        return None
    if mine is None or theirs is None:
        raise _NotKnownError
    return f"no tensor cores ({against} uses them, by {theirs.value})"


def _async_copies(figures: KernelFigures, reference: KernelFigures, against: str) -> str | None:
    """One way of copying may replace the other."""
    theirs = (reference.async_copies, reference.bulk_copies)
    if figures.async_copies or figures.bulk_copies or theirs == (0, 0):
        return None
    _known(figures.async_copies), _known(figures.bulk_copies)
    return f"no asynchronous copies ({against} has {sum(map(_known, theirs)):,})"


def _atomics(figures: KernelFigures, reference: KernelFigures, against: str) -> str | None:
    """Loops that are there in both are the program's own; so are atomics of which one build has more copies."""
    loops = _known(figures.compare_and_swaps)
    if loops == 0:
        return None
    native = _known(reference.atomics)
    if loops <= _known(reference.compare_and_swaps) or native <= _known(figures.atomics):
        return None
    loops_are = "1 compare-and-swap loop" if loops == 1 else f"{loops:,} compare-and-swap loops"
    return f"{loops_are} ({against} has {native:,} native {'atomic' if native == 1 else 'atomics'})"


_LOOKED_AT: dict[str, Callable[[KernelFigures, KernelFigures, str], str | None]] = {
    "spills": _spilling,
    "tensor cores": _tensor_cores,
    "asynchronous copies": _async_copies,
    "atomics": _atomics,
}
