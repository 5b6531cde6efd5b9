"""What the rules may ask about a failure beside its words: the closed set of conditions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.facts import DeviceFacts
from pytest_gpumatrix.triage.memory import memory_text
from pytest_gpumatrix.triage.mismatch import Explanation, mismatch_of
from pytest_gpumatrix.triage.toolkits import build_has_device, driver_too_old

_REQUIRED = re.compile(r"required:?\s{0,4}([\d,]{1,15}).{0,8}?hardware limit:?\s{0,4}([\d,]{1,15})")
_SHARED = re.compile(r"shared|out of resources?: (?!tensor|threads|registers)\w+")


class Condition(str, Enum):
    """A yes or no about the facts, or about the numbers of the text. Unknown is no."""

    BUILD_LACKS_DEVICE = "build-lacks-device"
    BUILD_HAS_DEVICE = "build-has-device"
    DRIVER_TOO_OLD = "driver-too-old"
    WSL = "wsl"
    MIG = "mig"
    HEADLESS = "headless"  # no display watchdog on this card
    DIED_BY_SIGBUS = "died-by-sigbus"
    MEMORY_LEFT = "memory-left"  # a quarter of the device's memory was free when it failed
    MEMORY_OF_OTHERS = "memory-of-others"  # other processes hold it
    MEMORY_OWN = "memory-own"  # this process holds it
    TEXT_MEMORY_OF_OTHERS = "text-memory-of-others"  # by the sizes in the text
    OVER_EVERY_GPU = "over-every-gpu"  # more on-chip memory than any known GPU has, or a limit that is the same on all
    MISMATCH_NEAR = "mismatch-near"
    MISMATCH_TF32 = "mismatch-tf32"
    MISMATCH_ROUNDING = "mismatch-rounding"
    MISMATCH_WRONG = "mismatch-wrong"
    MISMATCH_UNSAID = "mismatch-unsaid"


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """One failure: its facts, all of its texts, and the text that a rule matched. Texts are in lower case."""

    facts: DeviceFacts
    text: str
    whole: str  # all texts and what is told about the machine
    capability: ComputeCapability | None  # of the facts, else as the texts say

    def holds(self, condition: Condition) -> bool:
        """Whether a condition is known to hold."""
        return _TESTS[condition](self)


def _memory_left(situation: Situation) -> bool:
    facts = situation.facts
    if facts.memory_free is None or facts.memory_total is None:
        return False
    return facts.memory_free * 4 >= facts.memory_total


def _memory_of_others(situation: Situation) -> bool:
    """Others hold a quarter of it; or little was free at the start; or others are there, and no size is known."""
    facts = situation.facts
    total = facts.memory_total
    if facts.memory_of_others is not None:
        return facts.memory_of_others * 4 >= (total or 4 * 2**30)
    if total is not None and facts.memory_free_at_start is not None:
        return facts.memory_free_at_start * 4 < total and (facts.memory_reserved or 0) * 2 < total
    return bool(facts.other_processes) and not _memory_left(situation)


def _memory_own(situation: Situation) -> bool:
    facts = situation.facts
    total = facts.memory_total
    if total is None or _memory_of_others(situation) or _memory_left(situation):
        return False
    if facts.memory_reserved is not None:
        return facts.memory_reserved * 2 >= total
    return facts.memory_free_at_start is not None and facts.memory_free_at_start * 4 >= total * 3


def _over_every_gpu(situation: Situation) -> bool:
    match = _REQUIRED.search(situation.text)
    if match is None:
        return False
    if _SHARED.search(situation.text) is None:
        return True
    required = int(match[1].replace(",", "") or 0)
    return required > largest_shared_memory()


@functools.cache
def largest_shared_memory() -> int:
    """Bytes that a block may have on the known GPU that has the most."""
    return max(limits.shared_memory_per_block for limits in catalogue.load().architectures.values())


def _explained_as(explanation: Explanation) -> Callable[[Situation], bool]:
    return lambda situation: mismatch_of(situation.text).explanation is explanation


def _signal(name: str, code: int) -> Callable[[Situation], bool]:
    return lambda situation: situation.facts.exit_signal == name or situation.facts.exit_code in (-code, 128 + code)


_TESTS: Mapping[Condition, Callable[[Situation], bool]] = {
    Condition.BUILD_LACKS_DEVICE: lambda situation: build_has_device(situation.facts) is False,
    Condition.BUILD_HAS_DEVICE: lambda situation: build_has_device(situation.facts) is True,
    Condition.DRIVER_TOO_OLD: lambda situation: driver_too_old(situation.facts) is True,
    Condition.WSL: lambda situation: situation.facts.wsl is True,
    Condition.MIG: lambda situation: situation.facts.mig is True,
    Condition.HEADLESS: lambda situation: situation.facts.display_watchdog is False,
    Condition.DIED_BY_SIGBUS: _signal("SIGBUS", 7),
    Condition.MEMORY_LEFT: _memory_left,
    Condition.MEMORY_OF_OTHERS: _memory_of_others,
    Condition.MEMORY_OWN: _memory_own,
    Condition.TEXT_MEMORY_OF_OTHERS: lambda situation: memory_text(situation.text).shared,
    Condition.OVER_EVERY_GPU: _over_every_gpu,
    Condition.MISMATCH_NEAR: _explained_as(Explanation.NEAR),
    Condition.MISMATCH_TF32: _explained_as(Explanation.TF32),
    Condition.MISMATCH_ROUNDING: _explained_as(Explanation.ROUNDING),
    Condition.MISMATCH_WRONG: _explained_as(Explanation.WRONG),
    Condition.MISMATCH_UNSAID: _explained_as(Explanation.UNSAID),
}
