"""The rules: a file per category in rules/, in the order of rules/order.yml."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.triage.cause import Action, Category, Confidence
from pytest_gpumatrix.triage.literals import Needed, may_match, needed_by
from pytest_gpumatrix.triage.situation import Condition, Situation

_FOLDER = Path(__file__).with_name("rules")


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What a rule's answer becomes where all that is named here holds; the first that does is taken."""

    with_: str = msgspec.field(default="", name="with")  # a pattern, somewhere in the failure's texts
    without: str = ""  # a pattern that is nowhere in them
    when: tuple[Condition, ...] = ()
    capability: str = ""  # a PEP 440 specifier over the device's; an unknown device is outside
    category: Category | None = None
    action: Action | None = None
    advice: str = ""
    reason: str = ""
    confidence: Confidence | None = None

    def holds(self, situation: Situation) -> bool:
        """Whether this case is the one."""
        if self.with_ and _compiled(self.with_).search(situation.whole) is None:
            return False
        if self.without and _compiled(self.without).search(situation.whole) is not None:
            return False
        if self.capability and (
            situation.capability is None or not SpecifierSet(self.capability).contains(str(situation.capability))
        ):
            return False
        return all(situation.holds(condition) for condition in self.when)


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One row of a file of rules. Patterns are searched in a text whose ASCII letters are in lower case."""

    rule: str
    category: Category
    any_: tuple[str, ...] = msgspec.field(name="any")
    action: Action
    advice: str
    unless: str = ""  # a pattern in the lines that matched: then they are not what they seem
    demands: str = ""  # what these words ask of a device, a PEP 440 specifier over its capability
    confidence: Confidence = Confidence.HIGH
    # Words that only follow from something else: what another text says more exactly goes before them.
    vague: bool = False
    own: bool = False  # a test's own assertion is taken at its word
    cases: tuple[Case, ...] = ()

    def find(self, text: str) -> re.Match[str] | None:
        """The first place in the text that a pattern matches and ``unless`` does not speak against."""
        first: re.Match[str] | None = None
        for pattern, needed in _searched(self.any_):
            if may_match(needed, text) and (match := self._find(pattern, text)) is not None:
                first = match if first is None or match.start() < first.start() else first
        return first

    def _find(self, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
        for match in pattern.finditer(text):
            if not self.unless or _compiled(self.unless).search(lines_around(text, match)) is None:
                return match
        return None

    def answer(self, situation: Situation) -> Case:
        """The rule's answer to a failure that it matches: its own words, or those of the first case that holds."""
        case = next((case for case in self.cases if case.holds(situation)), Case())
        return msgspec.structs.replace(
            case,
            category=case.category or self.category,
            action=case.action or self.action,
            advice=case.advice or self.advice,
            confidence=case.confidence or self.confidence,
        )


def lines_around(text: str, match: re.Match[str]) -> str:
    """The whole lines that a match lies in."""
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[start : end if end >= 0 else len(text)]


@functools.cache
def load_rules() -> Sequence[Rule]:
    """The rules, in their order."""
    return tuple(_rules())


def _rules() -> Iterator[Rule]:
    import yaml

    order = yaml.safe_load((_FOLDER / "order.yml").read_text(encoding="utf-8"))
    for category in order:
        rows: list[Mapping[str, Any]] = yaml.safe_load((_FOLDER / f"{category}.yml").read_text(encoding="utf-8"))
        for row in rows:
            yield msgspec.convert({"category": category, **row}, Rule)


@functools.cache
def _searched(patterns: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], Needed], ...]:
    return tuple((_compiled(pattern), needed_by(pattern)) for pattern in patterns)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
