"""Who asks what the GPU is: the code under test, or what compiles for the card that is here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType

# What these build must load on the card that is here, so they see it.
_COMPILERS = (
    "pytest_gpumatrix",
    "torch._dynamo",
    "torch._functorch",
    "torch._inductor",
    "torch._prims",
    "torch.cuda._utils._nvrtc_compile",
    "torch.utils.cpp_extension",
    "triton.backends",
    "triton.compiler",
    "triton.language.semantic",
    "triton.profiler",
    "triton.runtime",
)
# Parts of the above that call a function of the code under test, in order to know its result.
_STAND_FOR_THE_CODE = ("torch._dynamo.variables", "torch._dynamo.utils.run_node")
_PASS_ON = ("torch.cuda", "contextlib", "functools")  # these ask for whoever called them


def real_card_is_asked_for() -> bool:
    """Whether the function that calls this one was called by a compiler. All others see the device that is posed."""
    return sees_the_real_card(_chain(sys._getframe(2)))


def sees_the_real_card(callers: Iterable[str]) -> bool:
    """The same for a chain of callers, each "module.function", the nearest first: the first that says anything."""
    for caller in callers:
        if _is_in(caller, _STAND_FOR_THE_CODE):
            return False
        if _is_in(caller, _COMPILERS):
            return True
        if not _is_in(caller, _PASS_ON):
            return False
    return False


def _chain(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"
        frame = frame.f_back


def _is_in(caller: str, parents: tuple[str, ...]) -> bool:
    return any(caller == parent or caller.startswith(f"{parent}.") for parent in parents)
