"""Who asks what the GPU is: the code under test, or what compiles for the card that is here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType

# Who of them sees the card. Of a function the longest name that it begins with decides; all others are the code.
_SEES_THE_CARD: Mapping[str, bool | None] = {
    # What these build must load on the card that is here.
    "pytest_gpumatrix": True,
    "torch._dynamo": True,
    "torch._functorch": True,
    "torch._inductor": True,
    "torch._prims": True,
    "torch.cuda._utils._nvrtc_compile": True,
    "torch.utils.cpp_extension": True,
    "triton.backends": True,
    "triton.compiler": True,
    "triton.language.semantic": True,
    "triton.profiler": True,
    "triton.runtime": True,
    # Parts of the above that call a function of the code under test, in order to know its result.
    "torch._dynamo.variables": False,
    "torch._dynamo.utils.run_node": False,
    # These ask for whoever called them: the last four are what torch.compiler.disable and the like wrap around code.
    "torch.cuda": None,
    "torch.accelerator": None,
    "contextlib": None,
    "functools": None,
    "torch._compile": None,
    "torch._dynamo.decorators": None,
    "torch._dynamo.eval_frame": None,
    "torch._dynamo.external_utils": None,
}


def real_card_is_asked_for() -> bool:
    """Whether the function that calls this one was called by a compiler. All others see the device that is posed."""
    return sees_the_real_card(_chain(sys._getframe(2)))


def sees_the_real_card(callers: Iterable[str]) -> bool:
    """The same for a chain of callers, each "module.function", the nearest first: the first that says anything."""
    for caller in callers:
        if (sees := _sees(caller)) is not None:
            return sees
    return False


def _chain(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"
        frame = frame.f_back


def _sees(caller: str) -> bool | None:
    name = caller
    while name not in _SEES_THE_CARD:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return False
    return _SEES_THE_CARD[name]
