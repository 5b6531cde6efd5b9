"""Pytest's reports -> phases of the journal. In the process that runs a test: why it failed, and its metrics."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.record.cell import Metric, Place
from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.record.phase import Phase, cause_of_death
from pytest_gpumatrix.session.failure import collection_cause, examine
from pytest_gpumatrix.session.fixtures import recorded_metrics
from pytest_gpumatrix.session.gating import SKIPPED_BY_REQUIREMENT
from pytest_gpumatrix.session.places import definition, failing_place, file_of
from pytest_gpumatrix.triage.cause import Cause
from pytest_gpumatrix.triage.classify import FailureText, classify
from pytest_gpumatrix.triage.printable import printable

_DETAILS_LENGTH = 100_000  # characters of a traceback that are kept
_STRICT_XPASS = "[XPASS(strict)]"
# An attribute of the report, not user_properties: plain JSON, so that xdist can carry it whatever the test recorded.
_NOTE = "gpumatrix"
_BAD = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.TIMEOUT})


class ReportNote(msgspec.Struct, frozen=True, kw_only=True):
    """What only the process that ran the test knows."""

    by_requirement: bool = False
    cause: Cause | None = None
    metrics: tuple[Metric, ...] = ()
    place: Place | None = None
    gpu: str = ""  # how it was when the test had failed


class ReportNotes:
    """Puts a note on each report that needs one."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Runs after all others have had their say about the report."""
        report = yield
        error = call.excinfo if report.failed else None
        finding = examine(item, report.sections, error.value) if error is not None else None
        note = ReportNote(
            by_requirement=report.skipped and item.stash.get(SKIPPED_BY_REQUIREMENT, False),
            cause=finding.cause if finding is not None else None,
            gpu=finding.gpu if finding is not None else "",
            metrics=recorded_metrics(item).take(),
            place=failing_place(error, item.config.rootpath) if error is not None else None,
        )
        _put(note, report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any], report: pytest.CollectReport
    ) -> None:
        """A file that could not be collected: often just this breaks on another GPU, what a module does on import."""
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            cause = collection_cause(node.config, report.sections, call.excinfo.value)
            _put(ReportNote(cause=cause, place=failing_place(call.excinfo, node.config.rootpath)), report)


def _put(note: ReportNote, report: pytest.TestReport | pytest.CollectReport) -> None:
    if note != ReportNote():
        setattr(report, _NOTE, msgspec.to_builtins(note))


def phase_of(report: pytest.TestReport) -> Phase:
    """The phase that a report tells of."""
    note = msgspec.convert(getattr(report, _NOTE, {}), ReportNote)
    message = printable(_message(report))
    outcome, strict = _outcome(report, note, message)
    return Phase(
        test=printable(report.nodeid),
        when=str(report.when),
        outcome=outcome,
        subtest=hasattr(report, "context"),
        rerun=str(report.outcome) == "rerun",
        strict=strict,
        message=message,
        details=_details(report, note) if report.failed else "",
        cause=_cause(report, note, message, outcome),
        duration=report.duration,
        metrics=note.metrics,
        place=(note.place or definition(report.location)) if outcome in _BAD or strict else None,
    )


def collection_error(report: pytest.CollectReport) -> Phase:
    """What could not be collected, as a phase of a test of that name."""
    crash = getattr(report.longrepr, "reprcrash", None)
    note = msgspec.convert(getattr(report, _NOTE, {}), ReportNote)
    lines = [line.removeprefix("E").strip() for line in report.longreprtext.splitlines() if line.strip()]
    message = printable(str(crash.message) if crash is not None else (lines[-1] if lines else ""))
    return Phase(
        test=printable(report.nodeid) or "collection",
        when="collect",
        outcome=Outcome.ERROR,
        message=f"collection failed: {message}",
        details=printable(report.longreprtext)[:_DETAILS_LENGTH],
        cause=note.cause or classify([FailureText(text=message)]),
        place=note.place or file_of(printable(report.nodeid)),
    )


def _outcome(report: pytest.TestReport, note: ReportNote, message: str) -> tuple[Outcome, bool]:
    expected_to_fail = hasattr(report, "wasxfail")
    if str(report.outcome) == "rerun":
        return Outcome.FAILED, False
    if report.skipped:
        if expected_to_fail:
            return Outcome.XFAILED, False
        return (Outcome.SKIPPED_REQUIREMENT if note.by_requirement else Outcome.SKIPPED), False
    if report.passed:
        return (Outcome.XPASSED if expected_to_fail else Outcome.PASSED), False
    if message.startswith(_STRICT_XPASS):
        return Outcome.XPASSED, True
    if report.when not in ("setup", "call", "teardown"):  # xdist's word for a worker that died
        return Outcome.CRASHED, False
    if message.startswith("Failed: Timeout "):
        return Outcome.TIMEOUT, False  # pytest-timeout
    return (Outcome.FAILED if report.when == "call" else Outcome.ERROR), False


def _cause(report: pytest.TestReport, note: ReportNote, message: str, outcome: Outcome) -> Cause | None:
    if not report.failed or outcome is Outcome.XPASSED:
        return None
    if note.cause is not None:
        return note.cause
    if outcome is Outcome.CRASHED:  # xdist's message names the test, whose parameters may say anything
        return cause_of_death()
    # A report that another plugin made: there is only its text, and an assertion may quote anything.
    quotable = message.startswith(("AssertionError", "Failed:"))
    return classify([FailureText(text=message, quotable=quotable)])


def _message(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail).removeprefix("reason: ")
    longrepr = report.longrepr
    if longrepr is None:
        return ""
    if isinstance(longrepr, tuple):
        return longrepr[2].removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(longrepr)


def _details(report: pytest.TestReport, note: ReportNote) -> str:
    text = printable(report.longreprtext)
    if len(text) > _DETAILS_LENGTH:
        half = _DETAILS_LENGTH // 2
        text = f"{text[:half]}\n... {len(text) - _DETAILS_LENGTH:,} characters left out ...\n{text[-half:]}"
    return f"{text}\nGPU at the failure: {note.gpu}" if note.gpu else text
