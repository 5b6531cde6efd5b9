"""Which compute capabilities a text demands, and which one it says that the device has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.hardware.capability import ComputeCapability

# A capability as messages write it: 8.0, 9.x, (9, 0), sm_90a, SM90, sm 7.5; a bare 90 or 9 only after a word for it.
_MARKED = r"(?:sm|compute)[_ ]?(?P<m1>\d{1,2})\.?(?P<m2>\d)(?P<specific>[af])?\b"
_DOTTED = r"(?P<d1>\d{1,2})\.(?P<d2>[\dx])(?!\d|\.\d)"
_PAIR = r"\((?P<p1>\d{1,2}), ?(?P<p2>\d)\)"
_BARE = r"(?P<b1>\d{1,2}?)(?P<b2>\d)?\b(?![.,]\d)(?! ?(?:[kmgt]i?b|gpus?|bits?|devices|%))"
_FAMILIES = {
    "volta": (7, 0),
    "turing": (7, 5),
    "ampere": (8, 0),
    "ada": (8, 9),
    "hopper": (9, 0),
    "blackwell": (10, 0),
    "a100": (8, 0),
    "h100": (9, 0),
    "h200": (9, 0),
    "b200": (10, 0),
    "gb200": (10, 0),
    "b300": (10, 3),
}
_FAMILY = rf"(?P<family>{'|'.join(sorted(_FAMILIES, key=len, reverse=True))})"
_ONE = re.compile(rf"\b{_MARKED}|{_PAIR}|\b{_DOTTED}|\b{_FAMILY}\b")
_NUMBER = re.compile(rf"{_MARKED}|{_PAIR}|{_DOTTED}|{_BARE}")
# What the text says of the device, which is no demand. A bare number is a capability only after that word.
_STATED = re.compile(
    r"\b(?:has|have|is|are|got|found|detected|running on|to run on|current(?: (?:device|gpu|arch\w{0,8}|sm))?"
    r"|your (?:device|gpu)(?: is)?"
    r"|for (?:cuda )?device|device)\b:? ?(?:of |an? |only )?"
    r"(?P<word>(?:current |cuda |compute |device ){0,2}capability)?"
    r":? ?(?:is )?(?:of )?"
)
_SMVERSION = re.compile(r'"?smversion"?: ?(\d{2,3})0\b')
_LEAST = re.compile(r"(?:>=|≥|\bat least|\bminimum(?: \w+){0,2}:?|\bmin(?:imum)? capability:?)\s*")
_BELOW = re.compile(
    r"(?:not supported|unsupported)[^\n]{0,40}<\s*|(?:not|n't) support[^\n]{0,80}(?:less than|lower than|below)\s*"
)
_OR_NEWER = re.compile(
    r"[^\n\w]{0,3}(?:gpus?|devices?|architectures?|\(?compute capability [\d.]{3,4}\)?)?[)\]]?\s*"
    r"(?:\+|(?:or|and) (?:newer|higher|later|above|greater|up|beyond|better))"
)
_RANGE = re.compile(r"in the range [\[(]")
_EXCLUDING = re.compile(r"\b(?:excluding|except|excl\.)\b")
_ONLY = re.compile(r"\bonly\b|\brequires?\b|\brequired\b|\bneeds?\b|\bmust be\b|\bexpected is_|\bbuilt for\b|= ?\[")
_NEGATED = re.compile(r"(?:not supported|unsupported)[^\n,;]{0,20}$")
_CLAUSE = re.compile(r"; |\. |, but |\bbut\b|, (?:got|current|found|device)|: (?=\w{1,12} for)")
_OR_MORE = re.compile(r"^\s*(?:or|,|and|\|\|)\s*(?:is_)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """The capabilities that a text allows: all from ``least`` up to ``most``, and those of ``exactly``."""

    least: ComputeCapability | None = None
    most: ComputeCapability | None = None
    exactly: frozenset[ComputeCapability] = frozenset()
    excluded: str = ""  # the words of the text that take some away again

    def allows(self, capability: ComputeCapability) -> bool:
        """Whether the device may run it. What the text excludes is not allowed, if it names this capability."""
        if self.excluded and any(capability == one for one in _all(self.excluded)):
            return False
        if self.excluded and (match := _LEAST.search(self.excluded)):
            bound = _number(_NUMBER.match(self.excluded, match.end()))
            if bound is not None and capability >= bound:
                return False
        above = self.least is not None and capability >= self.least
        return capability in self.exactly or (above and (self.most is None or capability <= self.most))

    @property
    def newest(self) -> ComputeCapability | None:
        """The newest capability that the text names."""
        return max((*self.exactly, *((self.most or self.least,) if self.least else ())), default=None)

    def __str__(self) -> str:
        parts = [str(one) for one in sorted(self.exactly)]
        if self.least is not None:
            parts.append(f"{self.least} to {self.most}" if self.most else f"{self.least} or newer")
        return " or ".join(parts) + (f", {self.excluded.strip()[:60]}" if self.excluded else "")


def demand_of(line: str) -> Demand | None:
    """What one line, in lower case, asks of a device; None where it names no capability or only forbids some."""
    line = line[:1_000]
    stated = next((match.start() for match in _STATED.finditer(line) if _stated(line, match) is not None), None)
    if stated is not None:
        line = line[:stated]
    excluded = ""
    if match := _EXCLUDING.search(line):
        line, excluded = line[: match.start()], line[match.start() :]
    if match := _RANGE.search(line):
        bounds = _all(line[match.end() : match.end() + 40])
        if len(bounds) == 2:
            return Demand(least=min(bounds), most=max(bounds), excluded=excluded)
    least, exactly = _bounds(line)
    if least is None and not exactly:
        return None
    return Demand(least=least, exactly=frozenset(exactly), excluded=excluded)


def demand_of_specifier(specifier: str, capability: ComputeCapability) -> bool:
    """Whether a device meets a rule's own demand, a PEP 440 specifier over the capability."""
    return SpecifierSet(specifier).contains(str(capability))


def stated_capability(text: str) -> ComputeCapability | None:
    """The capability that a text, in lower case, says the device has."""
    if match := _SMVERSION.search(text):
        return _of_digits(match[1])
    found = (_stated(text, match) for match in _STATED.finditer(text))
    return next((capability for capability in found if capability is not None), None)


def _stated(text: str, match: re.Match[str]) -> ComputeCapability | None:
    number = _NUMBER.match(text, match.end())
    if number is None or _OR_NEWER.match(text, number.end()):
        return None
    sure = match["word"] is not None or number["m1"] is not None
    spoken_of = "capab" in text[max(0, match.start() - 160) : match.start()]
    if not sure and (number["b1"] is not None or not spoken_of):
        return None
    return _number(number)


def _bounds(line: str) -> tuple[ComputeCapability | None, set[ComputeCapability]]:
    for pattern in (_BELOW, _LEAST):
        if (match := pattern.search(line)) and (bound := _number(_NUMBER.match(line, match.end()))) is not None:
            number = _NUMBER.match(line, match.end())
            after = line[number.end() : number.end() + 40] if number else ""
            also = _all(after) if _OR_MORE.match(after) else []  # ">= 9.0 or 8.9": from the lower, in effect
            return min([bound, *also]), set()
    least: ComputeCapability | None = None
    exactly: set[ComputeCapability] = set()
    only = _ONLY.search(line)
    restrained = only is not None or "is_sm" in line
    if only is not None and (clause := _CLAUSE.search(line, only.end())):
        line = line[: clause.start()]
    for match in _ONE.finditer(line.replace("is_sm", "is sm")):
        found = _number(match)
        if found is None or _NEGATED.search(line[: match.start()]):
            continue
        if _OR_NEWER.match(line.replace("is_sm", "is sm"), match.end()):
            least = found if least is None else min(least, found)
        elif restrained:
            exactly.add(found)
            if match["family"] in ("ampere", "blackwell", "volta") or (match["d2"] == "x"):
                exactly |= {ComputeCapability(found.major, minor) for minor in range(10)}
            if match["family"] == "blackwell":
                exactly |= {ComputeCapability(12, 0), ComputeCapability(12, 1), ComputeCapability(11, 0)}
    return least, exactly


def _all(text: str) -> list[ComputeCapability]:
    return [found for match in _ONE.finditer(text) if (found := _number(match)) is not None]


def _number(match: re.Match[str] | None) -> ComputeCapability | None:
    if match is None:
        return None
    named = match.groupdict()
    if named.get("family"):
        return ComputeCapability(*_FAMILIES[named["family"]])
    for prefix in "mdp":
        if named.get(f"{prefix}1"):
            minor = named[f"{prefix}2"]
            return ComputeCapability(int(named[f"{prefix}1"]), 0 if minor == "x" else int(minor))
    return _of_digits((named.get("b1") or "") + (named.get("b2") or ""))


def _of_digits(digits: str) -> ComputeCapability | None:
    """A bare 90 is 9.0 and 120 is 12.0; 8 and 10, as major versions, are 8.0 and 10.0."""
    if not digits.isdecimal() or len(digits) > 3:
        return None
    if len(digits) == 1 or digits in ("10", "11", "12"):
        return ComputeCapability(int(digits), 0)
    return ComputeCapability(int(digits[:-1]), int(digits[-1]))
