"""Whether a launch would run on a device, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Fit(str, Enum):
    """Whether a launch would run on a device."""

    FITS = "fits"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Whether a kernel would run on a device, and why not."""

    fit: Fit
    reason: str = ""  # of what does not fit, or is not known
    tuner_survives: bool = False  # Triton's autotuner passes over this failure to another configuration


FITS = Judgement(fit=Fit.FITS)
