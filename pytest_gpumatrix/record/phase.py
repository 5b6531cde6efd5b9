"""One report of a test (setup, call, teardown, a subtest, a rerun), and a test's cell made of all of its reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Cause
from pytest_gpumatrix.triage.classify import DeviceFacts, classify

# The worst report of a test decides what came of it: a subtest or a teardown may fail where the call passed.
_WORST_FIRST = (
    Outcome.CRASHED,
    Outcome.TIMEOUT,
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.XPASSED,
    Outcome.XFAILED,
    Outcome.SKIPPED_REQUIREMENT,
    Outcome.SKIPPED,
    Outcome.PASSED,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """One report, as the journal keeps it."""

    test: str  # node id
    when: str  # setup, call or teardown
    outcome: Outcome
    subtest: bool = False
    rerun: bool = False  # another attempt follows: what came before does not count
    strict: bool = False
    message: str = ""
    details: str = ""
    cause: Cause | None = None
    duration: float = 0.0  # seconds
    metrics: tuple[Metric, ...] = ()
    place: Place | None = None  # of a bad one


def cell_of(
    test: str, phases: Sequence[Phase], *, evidence: Evidence, requirement: str | None, finished: bool = True
) -> Cell:
    """The cell of a test by its reports. One that never finished, in a process that is gone, crashed."""
    reruns = sum(phase.rerun for phase in phases)
    attempt = _last_attempt(phases)
    if not finished:
        attempt = (*attempt, _crash(test))
    if not attempt:
        return Cell(
            test=test,
            outcome=Outcome.UNKNOWN,
            evidence=evidence,
            message="the test gave no report",
            requirement=requirement,
            reruns=reruns,
        )
    deciding = _deciding(attempt)
    return Cell(
        test=test,
        outcome=deciding.outcome,
        evidence=evidence,
        strict=deciding.strict,
        reruns=reruns,
        message=deciding.message,
        details=deciding.details,
        cause=deciding.cause,
        requirement=requirement,
        duration=sum(phase.duration for phase in attempt if not phase.subtest),
        metrics=tuple(metric for phase in attempt for metric in phase.metrics),
        place=deciding.place,
    )


def _crash(test: str) -> Phase:
    return Phase(
        test=test,
        when="call",
        outcome=Outcome.CRASHED,
        message="the process ended while this test ran",
        cause=cause_of_death(),
        place=Place(file=test.partition("::")[0]),
    )


def cause_of_death() -> Cause:
    """Of a test whose process is gone: what that wrote to its standard error went with it."""
    return classify((), DeviceFacts(worker_lost=True))


def _last_attempt(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    attempt: list[Phase] = []
    for phase in phases:
        if phase.rerun:
            attempt.clear()
        else:
            attempt.append(phase)
    return tuple(attempt)


def _deciding(attempt: Sequence[Phase]) -> Phase:
    """The worst report; a subtest's skip or expected failure does not speak for the whole test."""
    bad_or_whole = [
        phase for phase in attempt if not phase.subtest or _WORST_FIRST.index(phase.outcome) <= _SUBTEST_SPEAKS_TO
    ]
    return min(bad_or_whole or attempt, key=lambda phase: _WORST_FIRST.index(phase.outcome))


_SUBTEST_SPEAKS_TO = _WORST_FIRST.index(Outcome.ERROR)
