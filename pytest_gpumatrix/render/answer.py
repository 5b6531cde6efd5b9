"""The one question that a change has: did it break a device?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_gpumatrix.render.tame import bounded
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.headline import with_evidence
from pytest_gpumatrix.verdict.verdict import ChangeRow, Conclusion, Verdict

QUESTION = "Did this change break a device?"
_MOST_DEVICES = 8
_LONGEST_NAME = 60  # characters of a device
_NOT_RED = ", which fail-on does not make red"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """``word: before devices after``. All but the devices' names are words of this file."""

    word: str  # Yes, No or Not known
    before: str = ""
    devices: tuple[str, ...] = ()
    after: str = ""


def answer(verdict: Verdict) -> Answer:
    """The answer, from what the verdict holds to be changed, missing and unknown."""
    if found := _broken(verdict):
        return found
    if found := _not_known(verdict):
        return found
    if verdict.conclusion is Conclusion.REGRESSION:
        return Answer(word="No", before="no test newly fails; the run is red for another reason")
    ran = [with_evidence(item) for item in verdict.devices if item.results() and not item.missing]
    if not ran:
        return Answer(word="Not known", before="no device has the results that it requires")
    first = any(row.change is Change.FIRST_RUN_FAILING for row in verdict.changes)
    return _about("No", ran, before=f"no test {'that ran there before ' if first else ''}newly fails on ")


def _broken(verdict: Verdict) -> Answer | None:
    """What the change broke, as far as a baseline tells. A failure is one whether or not ``fail-on`` makes it red."""
    new = [row for row in verdict.changes if row.change in (Change.NEW_FAILURE, Change.NEW_TEST_FAILING)]
    if new:
        red = any(row.red for row in new)
        return _about("Yes", _names(new), before="tests newly fail on ", after="" if red else _NOT_RED)
    if worse := [row.device for row in verdict.metrics if row.red]:
        return _about("Yes", worse, before="a metric got worse on ")
    if apart := [name for row in verdict.drift if row.red and row.before is False for name in row.apart]:
        return _about("Yes", apart, before="a metric newly drifts apart on ")
    return None


def _not_known(verdict: Verdict) -> Answer | None:
    if failing := [row for row in verdict.changes if row.change is Change.FAILING]:
        after = ", and no baseline tells whether they did before"
        return _about("Not known", _names(failing), before="tests fail on ", after=after)
    if verdict.missing_is_incomplete and (absent := [*(item.device for item in verdict.missing), *verdict.broken]):
        return _about("Not known", absent, before="results are missing of ")
    if verdict.refused or verdict.base_refused:
        return Answer(word="Not known", before="a results file was refused")
    if not verdict.has_results:
        return Answer(word="Not known", before="no test has a result")
    unknown = _names(row for row in verdict.changes if row.change is Change.UNKNOWN)
    return _about("Not known", unknown, before="what came of a test is not known on ") if unknown else None


def _names(rows: Iterable[ChangeRow]) -> list[str]:
    return [name for row in rows for name in row.devices]


def _about(word: str, names: Iterable[str], *, before: str, after: str = "") -> Answer:
    devices = tuple(dict.fromkeys(bounded(name, _LONGEST_NAME) for name in names))
    if (more := len(devices) - _MOST_DEVICES) > 0:
        after = f" and {more:,} more{after}"
    return Answer(word=word, before=before, devices=devices[:_MOST_DEVICES], after=after)
