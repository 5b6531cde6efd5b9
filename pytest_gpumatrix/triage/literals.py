"""What a text must hold for a pattern to match it: searched first, for that costs a hundredth of the pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

Needed = tuple[frozenset[str], ...]  # of each set one member is in every text that matches

_SHORTEST = 3  # characters of a literal that is worth a search
_TOKEN = re.compile(
    r"(?P<group>\((?:\?(?P<look><?[=!])|\?:)?)"
    r"|(?P<end>\))|(?P<or>\|)"
    r"|(?P<any>\.|\\[dswDSWnt]|\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<nothing>\\[bBAZ]|[\^$])"
    r"|\\?(?P<one>.)",
    re.DOTALL,
)
_REPEAT = re.compile(r"(?P<least>[?*+]|\{\d{0,4}(?:,\d{0,4})?\})\??")


@dataclass(slots=True)
class _Branch:
    """One alternative, as far as it was read."""

    found: list[frozenset[str]] = field(default_factory=list)
    run: str = ""  # the characters that follow each other at this place

    def end_run(self) -> None:
        if len(self.run) >= _SHORTEST:
            self.found.append(frozenset({self.run}))
        self.run = ""


def needed_by(pattern: str) -> Needed:
    """The literals that a pattern asks for; empty where it asks for none.

    It knows the part of the syntax that rules are written in: no flags, names, back references or sets of characters
    spelled by escapes of their own.
    """
    needed, place = _alternatives(pattern, 0)
    assert place == len(pattern), f"not closed at {place}: {pattern}"  # noqa: S101 - a rule of ours, read once
    return needed


def may_match(needed: Needed, text: str) -> bool:
    """Whether a text holds what a pattern needs."""
    for literals in needed:  # loops, for it is asked some hundred times of each text
        for literal in literals:
            if literal in text:
                break
        else:
            return False
    return True


def _alternatives(pattern: str, place: int) -> tuple[Needed, int]:
    """Read up to the end of the group that place lies in."""
    branches = [_Branch()]
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        assert token is not None  # noqa: S101 - its last alternative takes any character
        place = token.end()
        if token["end"]:
            break
        if token["or"]:
            branches[-1].end_run()
            branches.append(_Branch())
        elif token["group"]:
            inner, place = _alternatives(pattern, place)
            repeat, place = _repeated(pattern, place)
            branches[-1].end_run()
            if not token["look"] and repeat != 0:
                branches[-1].found += inner
        elif not token["nothing"]:
            repeat, place = _repeated(pattern, place)
            _take(branches[-1], token["one"], repeat)
    branches[-1].end_run()
    return _of_each([branch.found for branch in branches]), place


def _take(branch: _Branch, one: str | None, repeat: int | None) -> None:
    """A character, or something else of one character; ``repeat``: how often at least, if it says so."""
    if one is not None and repeat != 0:
        branch.run += one
    if one is None or repeat is not None:
        branch.end_run()


def _repeated(pattern: str, place: int) -> tuple[int | None, int]:
    repeat = _REPEAT.match(pattern, place)
    if repeat is None:
        return None, place
    least = repeat["least"]
    return int(least == "+" or not least.startswith(("?", "*", "{0", "{,"))), repeat.end()


def _of_each(branches: Iterable[list[frozenset[str]]]) -> Needed:
    """All that a single branch needs; of several, one set with the most telling of each, or nothing."""
    branches = list(branches)
    if len(branches) == 1:
        return tuple(branches[0])
    if not all(branches):
        return ()
    best = [max(found, key=lambda literals: (min(map(len, literals)), -len(literals))) for found in branches]
    return (frozenset().union(*best),)
