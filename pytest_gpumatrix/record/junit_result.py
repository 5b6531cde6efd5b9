"""An outcome as JUnit says it: ``<failure>``, ``<error>``, ``<skipped>`` or nothing. Both ways; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Outcome, Standing, standing

STRICT_XPASS = "[XPASS(strict)]"  # how pytest begins the failure of a strict unexpected pass
_TYPES = {Outcome.XFAILED: "xfail", Outcome.SKIPPED: "skip"}
# Outcomes that JUnit has no element for: the message of an <error> begins with them.
_SAID_FIRST = (Outcome.ERROR, Outcome.CRASHED, Outcome.TIMEOUT, Outcome.UNKNOWN)
# The worst first: a case may have several elements.
_ELEMENTS = {"error": Outcome.ERROR, "failure": Outcome.FAILED, "skipped": Outcome.SKIPPED}
# What a case without an element says of itself in its attributes: Google Test, CTest. The first speaks first.
_ATTRIBUTES = ("result", "status")
_WORDS = {
    "suppressed": Outcome.SKIPPED,
    "disabled": Outcome.SKIPPED,
    "skipped": Outcome.SKIPPED,
    "notrun": Outcome.NOT_RUN,
    "fail": Outcome.FAILED,
    "failed": Outcome.FAILED,
    "failure": Outcome.FAILED,
    "error": Outcome.ERROR,
}
# Types of elements that say more than their name.
_XFAIL_TYPES = ("pytest.xfail", "XFAIL")  # the second is unittest-xml-reporting's
_XPASS_TYPE = "UnexpectedSuccess"  # unittest-xml-reporting's <error>: unittest has no other than the strict kind
_TIMED_OUT = "Failed: Timeout "  # pytest-timeout's
_WORKER_DIED = re.compile(r'failed on setup with "worker \'\w+\' crashed while running ')  # pytest-xdist's


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """An element of a case that says what came of it."""

    element: str  # failure, error or skipped
    message: str = ""
    type: str = ""
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a case's elements and attributes say."""

    outcome: Outcome
    strict: bool = False
    element: str | None = None  # the one that decided, or the attribute; None: neither, so it passed
    type: str = ""
    message: str = ""
    details: str = ""


PASSED = Told(outcome=Outcome.PASSED)  # of a case that says nothing else


def result_of(cell: Cell) -> Result | None:
    """The element that says a cell's outcome to any reader of JUnit."""
    form = _form(cell.outcome, strict=cell.strict)
    if form.element is None:
        return None
    message = cell.message
    if form.prefix == STRICT_XPASS:
        message = f"{STRICT_XPASS} {message.removeprefix(STRICT_XPASS).strip()}"
    elif form.prefix:
        message = form.prefix + message
    elif form.element == "skipped":
        message = message or cell.outcome.value
    return Result(element=form.element, message=message, type=form.type, text=cell.details)


def told_by(results: Sequence[Result], attributes: Mapping[str, str]) -> Told:
    """What a plain JUnit case says: the worst of its elements; without one, its attributes; without those, a pass."""
    for element, outcome in _ELEMENTS.items():
        own = [result for result in results if result.element == element]
        if own:
            return _told(own, results, attributes, outcome)
    for name in _ATTRIBUTES:
        word = attributes.get(name, "").lower()
        if word in _WORDS:
            return Told(outcome=_WORDS[word], element=name, message=f"{name}: {word}")
    return PASSED


def recorded_outcome(told: Told, recorded: Outcome | None) -> Outcome:
    """The outcome by a case's property, if the element is the one that this project writes for it; else what that says.

    A property is the word of the code under test: it may say more than the element, but nothing better. One that says
    bad or unknown is believed.
    """
    if recorded is None or recorded is told.outcome:
        return told.outcome
    form = _form(recorded, strict=told.strict)
    if (told.element, told.type) == (form.element, form.type) and told.message.startswith(form.prefix):
        return recorded
    said, claimed = standing(told.outcome, strict=told.strict), standing(recorded)
    graver = claimed in (Standing.BAD, Standing.UNKNOWN) and claimed.weight >= said.weight
    return recorded if graver else told.outcome


def own_message(outcome: Outcome, message: str) -> str:
    """The message of a cell, of the one that this project wrote into its element."""
    return message.removeprefix(f"{outcome.value}: ") if outcome in _SAID_FIRST else message


@dataclass(frozen=True, kw_only=True, slots=True)
class _Form:
    """How this project writes an outcome."""

    element: str | None = None
    type: str = ""
    prefix: str = ""  # how the message begins


def _form(outcome: Outcome, *, strict: bool) -> _Form:
    if outcome is Outcome.PASSED or (outcome is Outcome.XPASSED and not strict):
        return _Form()
    if outcome in (Outcome.FAILED, Outcome.XPASSED):
        return _Form(element="failure", prefix=STRICT_XPASS if outcome is Outcome.XPASSED else "")
    if outcome in _SAID_FIRST:
        return _Form(element="error", prefix=f"{outcome.value}: ")
    return _Form(element="skipped", type=f"pytest.{_TYPES.get(outcome, outcome.value)}")


def _told(own: Sequence[Result], results: Sequence[Result], attributes: Mapping[str, str], outcome: Outcome) -> Told:
    first = own[0]
    texts = dict.fromkeys(result.text for result in results if result.text.strip())
    outcome = _closer(outcome, own, attributes)
    return Told(
        outcome=outcome,
        strict=outcome is Outcome.XPASSED,
        element=first.element,
        type=first.type,
        message=first.message,
        details="\n\n".join(texts),
    )


def _closer(outcome: Outcome, own: Sequence[Result], attributes: Mapping[str, str]) -> Outcome:
    """What an element says beyond its name."""
    message, kind = own[0].message, own[0].type
    if outcome is Outcome.FAILED:
        if all((result.message or result.text).startswith(STRICT_XPASS) for result in own):
            return Outcome.XPASSED
        return Outcome.TIMEOUT if message.startswith(_TIMED_OUT) else outcome
    if outcome is Outcome.ERROR:
        if all(result.type == _XPASS_TYPE for result in own):
            return Outcome.XPASSED
        return Outcome.CRASHED if _WORKER_DIED.match(message) else outcome
    if kind in _XFAIL_TYPES:
        return Outcome.XFAILED
    # CTest: the program is not there, or what it needs failed; "SKIP_RETURN_CODE=77" is a skip.
    not_run = attributes.get("status") == "notrun" and not message.startswith("SKIP_")
    return Outcome.NOT_RUN if not_run else outcome
