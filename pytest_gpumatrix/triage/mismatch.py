"""How far two results are apart, as the text of a comparison says it, and what may explain that."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

# A number as Python and C print it; nan and inf are numbers too.
_N = r"([-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e[-+]?\d{1,3})?|nan|[-+]?inf(?:inity)?)"
_ELEMENTS = re.compile(r"mismatched elements: (\d{1,15}) / (\d{1,15})")
_ABSOLUTE = re.compile(
    r"(?:(?:greatest|max\w*|largest) )?"
    r"(?:abs(?:olute)?[ ._]{0,2}(?:diff(?:erence)?|err(?:or)?)|(?:max|largest) diff(?:erence)?)"
    rf"(?: among violations)?[ :=]{{0,3}}(?:is |of )?{_N}"
)
_RELATIVE = re.compile(
    r"(?:(?:greatest|max\w*|largest) )?rel(?:ative)?[ ._]{0,2}(?:diff(?:erence)?|err(?:or)?)"
    rf"(?: among violations)?[ :=]{{0,3}}(?:is |of )?{_N}"
)
_ALLOWED = re.compile(
    r"^[^\n]{0,60}?(?:up to |tol(?:erance)?\w{0,6}[ :=]{0,3}(?:of |is )?|[>≥]=? ?|allowed[ :=]{0,3}|"
    rf"exceeds? (?:the )?(?:limit|threshold|tolerance)[ :=]{{0,3}}){_N}"
)
_NUMPY_ATOL = re.compile(rf"\batol ?= ?{_N}")
_NUMPY_RTOL = re.compile(rf"\brtol ?= ?{_N}")
_DECIMALS = re.compile(r"to (\d{1,2}) decimals")
_APPROX = re.compile(rf"\b{_N} == (?:approx\()?{_N} ± {_N}")
_NOT_EQUAL = re.compile(r"tensor-likes are not equal|scalars are not equal|arrays are not equal")

# A result is called rounded differently up to these; beyond, it is called wrong.
_TF32_ERROR = 0.15  # absolute, of float32 operands rounded to TF32's 10 bits, for sums of up to some thousand products
_TF32_TOLERANCE = 2e-4  # a tolerance below says that float32 was meant
_NEAR = 5.0  # times the tolerance: a tolerance too tight
_FEW = 0.05  # the share of elements that rounding alone puts outside
_ULPS = 40.0  # times the tolerance, for few elements


class Explanation(str, Enum):
    """What a mismatch may come from."""

    NEAR = "near"  # just outside the tolerance, or few elements of rounded types
    TF32 = "tf32"  # the size of TF32's rounding, where float32 was meant
    ROUNDING = "rounding"  # a step of a 16 or 8 bit type
    WRONG = "wrong"  # too far, too many, or not finite
    UNSAID = "unsaid"  # the text holds no numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class Mismatch:
    """The numbers of a comparison; None where the text does not say."""

    share: float | None = None  # of the elements, 0 to 1
    absolute: float | None = None
    absolute_allowed: float | None = None
    relative: float | None = None
    relative_allowed: float | None = None
    exact: bool = False  # equality was asked for

    @property
    def ratio(self) -> float | None:
        """How many times the tolerance the difference is, by the milder of both measures."""
        pairs = ((self.absolute, self.absolute_allowed), (self.relative, self.relative_allowed))
        ratios = [value / allowed for value, allowed in pairs if value is not None and allowed]
        return min(ratios, default=None)

    @property
    def explanation(self) -> Explanation:
        """What may explain it, by the sizes alone."""
        known = [value for value in (self.absolute, self.relative) if value is not None]
        if not known:
            return Explanation.UNSAID
        if any(not math.isfinite(value) for value in known[:1]):
            return Explanation.WRONG
        if self.exact and self.absolute is not None and self.absolute >= 1:
            return Explanation.WRONG
        if self.ratio is not None and self.ratio <= _NEAR:
            return Explanation.NEAR
        return self._by_size()

    def _by_size(self) -> Explanation:
        absolute, allowed = self.absolute, self.absolute_allowed or 0.0
        few = self.share is not None and self.share <= _FEW
        if absolute is None:
            return Explanation.ROUNDING if (self.relative or 0) <= 0.05 else Explanation.WRONG
        if absolute <= _TF32_ERROR and allowed <= _TF32_TOLERANCE and not (few and absolute < allowed):
            return Explanation.TF32 if absolute >= 1e-4 else Explanation.NEAR
        if self.ratio is not None and self.ratio <= _ULPS and (few or absolute <= 1):
            return Explanation.ROUNDING
        return Explanation.ROUNDING if few and absolute <= 1 else Explanation.WRONG


def mismatch_of(text: str) -> Mismatch:
    """The numbers of a comparison in a text in lower case."""
    text = text[:20_000]
    if approx := _APPROX.search(text):
        obtained, expected, allowed = (float(part) for part in approx.groups())
        return Mismatch(absolute=abs(obtained - expected), absolute_allowed=allowed)
    elements = _ELEMENTS.search(text)
    absolute, absolute_allowed = _measured(_ABSOLUTE, text)
    relative, relative_allowed = _measured(_RELATIVE, text)
    if absolute_allowed is None and (decimals := _DECIMALS.search(text)):
        absolute_allowed = 1.5 * 10.0 ** -int(decimals[1])
    return Mismatch(
        share=int(elements[1]) / int(elements[2]) if elements and int(elements[2]) else None,
        absolute=absolute,
        absolute_allowed=absolute_allowed if absolute_allowed is not None else _float(_NUMPY_ATOL.search(text)),
        relative=relative,
        relative_allowed=relative_allowed if relative_allowed is not None else _float(_NUMPY_RTOL.search(text)),
        exact=_NOT_EQUAL.search(text) is not None,
    )


def _measured(pattern: re.Pattern[str], text: str) -> tuple[float | None, float | None]:
    match = pattern.search(text)
    if match is None:
        return None, None
    end = text.find("\n", match.end())
    return float(match[1]), _float(_ALLOWED.match(text[match.end() : end if end >= 0 else len(text)]))


def _float(match: re.Match[str] | None) -> float | None:
    return float(match[1]) if match else None
