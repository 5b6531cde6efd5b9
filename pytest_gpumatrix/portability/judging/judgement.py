"""Whether a launch would run on a device, and why not, or why slowly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Fit(str, Enum):
    """Whether a launch would run on a device."""

    FITS = "fits"
    SLOW = "slow"  # it runs, and takes a slower way than the build that it is held against
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Whether a kernel would run on a device, and why not, or why slowly."""

    fit: Fit
    # Of what does not fit, is slow (its findings, joined by "; ") or is not known; of what fits, what could not be
    # held against the build that would tell whether it is slow.
    reason: str = ""
    tuner_survives: bool = False  # Triton's autotuner passes over this failure to another configuration


FITS = Judgement(fit=Fit.FITS)
WORST_FIRST = (Fit.FAILS, Fit.UNKNOWN, Fit.SLOW, Fit.FITS)


def fails(reason: str, *, tuner_survives: bool = False) -> Judgement:
    """It would not run, and why."""
    return Judgement(fit=Fit.FAILS, reason=reason, tuner_survives=tuner_survives)


def unknown(reason: str) -> Judgement:
    """Nobody knows, and why."""
    return Judgement(fit=Fit.UNKNOWN, reason=reason)
