"""Why a cell is bad."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Category(str, Enum):
    """The kinds of cause. GENUINE_FAILURE is the default: no hardware cause proven."""

    NO_KERNEL_IMAGE = "no_kernel_image"
    ARCH_FEATURE = "arch_feature"
    ONCHIP_LIMIT = "onchip_limit"
    DEVICE_OOM = "device_oom"
    GENUINE_FAILURE = "genuine_failure"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One category of the triage table, the text that decided, and the action it calls for."""

    category: Category
    evidence: str  # the line of the text that decided; "" for the default
    action: str  # what to do about it, one sentence
    rule: str  # the rule's name, for a bug report about it
