"""Why a cell is bad."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Category(str, Enum):
    """The kinds of cause. GENUINE_FAILURE is the default: no hardware cause proven; UNKNOWN: the text has several."""

    NO_KERNEL_IMAGE = "no_kernel_image"
    ARCH_GATE = "arch_gate"
    ARCH_FEATURE = "arch_feature"
    LIBRARY_NO_ENGINE = "library_no_engine"
    TOOLCHAIN_UNKNOWN_ARCH = "toolchain_unknown_arch"
    ONCHIP_LIMIT = "onchip_limit"
    DEVICE_OOM = "device_oom"
    DEVICE_OOM_SHARED = "device_oom_shared"
    HOST_MEMORY = "host_memory"
    GPU_TOPOLOGY = "gpu_topology"
    DRIVER_PLATFORM = "driver_platform"
    BROKEN_INSTALL = "broken_install"
    DEVICE_STATE = "device_state"
    NUMERIC_MISMATCH = "numeric_mismatch"
    STICKY_CRASH = "sticky_crash"
    GENUINE_FAILURE = "genuine_failure"
    UNKNOWN = "unknown"


class Action(str, Enum):
    """What a cause calls for. It does not follow from the category alone."""

    SKIP = "skip"
    XFAIL = "xfail"
    REAL_FAILURE = "real_failure"
    INFRA_FAILURE = "infra_failure"
    NEEDS_MORE_MEMORY = "needs_more_memory"
    ENVIRONMENT = "environment"
    NO_REPORT = "no_report"


class Confidence(str, Enum):
    """How far the text and the facts carry the category."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


# What is the machine's fault and not the code's.
_INFRA = frozenset(
    {
        Category.TOOLCHAIN_UNKNOWN_ARCH,
        Category.DEVICE_OOM_SHARED,
        Category.HOST_MEMORY,
        Category.DRIVER_PLATFORM,
        Category.BROKEN_INSTALL,
        Category.DEVICE_STATE,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One category of the triage table, the text that decided, and the action it calls for."""

    category: Category
    action: Action
    advice: str  # what to do about it, one sentence
    rule: str  # the rule's name, for a bug report about it
    evidence: str = ""  # the line of the text that decided; "" for the default
    confidence: Confidence = Confidence.HIGH
    reason: str = ""  # the sub-reason, where a category has several: "build_gap", "cascade"
    note: str = ""  # what the facts say against the text: "the text demands 8.0, the device is 8.6"

    @property
    def infra(self) -> bool:
        """Whether the machine is at fault, so that nothing is known of the code."""
        return self.category in _INFRA or self.reason == "build_gap"
