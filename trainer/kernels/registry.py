"""Choose, for each operator, the fastest kernel that a device can run, and say why not the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import Generic, TypeVar

from trainer.errors import TrainerError

Capability = tuple[int, int]  # what torch.cuda.get_device_capability() returns; None stands for the CPU
CPU: Capability | None = None

F = TypeVar("F", bound=Callable[..., object])  # the operator's signature; its op file defines it


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked of an operator: the device, and what a kernel may refuse."""

    capability: Capability | None
    dtype: str  # "bfloat16", "float16" or "float32"
    head_dim: int = 64
    interpret: bool = False  # Triton kernels may run on the CPU by Triton's interpreter


def is_installed(module: str) -> bool:
    """Look for a module, submodules included, without importing it or its parents."""
    name, *parts = module.split(".")
    spec = find_spec(name)
    for part in parts:
        if spec is None:
            break
        name = f"{name}.{part}"
        # find_spec would import the parent of a dotted name.
        spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    return spec is not None


def _no_objection(request: Request) -> str | None:  # noqa: ARG001 - the signature of Kernel.refuses
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel(Generic[F]):
    """One implementation. ``load`` imports it, so a kernel that is not chosen costs nothing."""

    name: str
    load: Callable[[], F]
    min_capability: Capability | None = None  # None: any device, the CPU included
    max_capability: Capability | None = None  # set for code tied to some architectures
    modules: tuple[str, ...] = ()
    install: str = ""  # what to type when a module is missing
    interpretable: bool = False  # a Triton kernel
    refuses: Callable[[Request], str | None] = _no_objection

    def refusal(self, request: Request, installed: Callable[[str], bool] = is_installed) -> str | None:
        """Why this kernel cannot serve the request, or None."""
        reason = self._refused_capability(request) or self.refuses(request)
        if reason is not None:
            return reason
        for module in self.modules:
            if not installed(module):
                return f"needs module {module}, which is not installed here ({self.install})"
        return None

    def _refused_capability(self, request: Request) -> str | None:
        low, high, here = self.min_capability, self.max_capability, request.capability
        if low is None:
            return None
        if here is None:
            if not (self.interpretable and request.interpret):
                return "needs a CUDA GPU"
            # It keeps bfloat16 as its 16 bits, and would compute with those.
            return "cannot be interpreted in bfloat16" if request.dtype == "bfloat16" else None
        if here < low:
            return f"needs compute capability {_dotted(low)} or later, this is {_dotted(here)}"
        if high is not None and here > high:
            return f"is made for compute capability {_dotted(high)} at most, this is {_dotted(here)}"
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A kernel that was passed over, and why."""

    kernel: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice(Generic[F]):
    """The kernel that an operator gets. ``refused`` are the faster ones, in order."""

    op: str
    kernel: Kernel[F]
    refused: tuple[Refusal, ...]
    forced: bool

    @property
    def reason(self) -> str:
        """Why this kernel, in one line."""
        if self.forced:
            return "asked for"
        if not self.refused:
            return "first choice"
        return "; ".join(f"{refusal.kernel} {refusal.reason}" for refusal in self.refused)


@dataclass(frozen=True, slots=True)
class Op(Generic[F]):
    """The kernels of one operator, fastest first; the last one runs anywhere."""

    name: str
    kernels: tuple[Kernel[F], ...]

    def __post_init__(self) -> None:
        names = [kernel.name for kernel in self.kernels]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: two kernels have one name: {', '.join(names)}")
        last = self.kernels[-1] if self.kernels else None
        if last is None or last.min_capability or last.modules or last.refuses is not _no_objection:
            raise ValueError(f"{self.name}: the last kernel must run anywhere")

    def kernel(self, name: str) -> Kernel[F]:
        """The kernel of that name; an unknown name is the user's mistake."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        known = ", ".join(kernel.name for kernel in self.kernels)
        raise TrainerError(f"{self.name} has no kernel {name!r}; it has: {known}")

    def select(
        self,
        request: Request,
        forced: str | None = None,
        installed: Callable[[str], bool] = is_installed,
    ) -> Choice[F]:
        """Return the first kernel that serves the request; a forced one serves it or raises.

        Raises TrainerError where the forced kernel is unknown or refuses.
        """
        if forced is not None:
            kernel = self.kernel(forced)
            reason = kernel.refusal(request, installed)
            if reason is not None:
                raise TrainerError(f"{self.name}: {forced} was asked for, but it {reason}")
            return Choice(op=self.name, kernel=kernel, refused=(), forced=True)
        request = replace(request, interpret=False)  # far too slow to be an automatic choice
        refused: list[Refusal] = []
        for kernel in self.kernels[:-1]:
            reason = kernel.refusal(request, installed)
            if reason is None:
                return Choice(op=self.name, kernel=kernel, refused=tuple(refused), forced=False)
            refused.append(Refusal(kernel=kernel.name, reason=reason))
        return Choice(op=self.name, kernel=self.kernels[-1], refused=tuple(refused), forced=False)


def _dotted(capability: Capability) -> str:
    return f"{capability[0]}.{capability[1]}"
