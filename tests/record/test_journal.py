"""A journal tells what came of each test, also where it ends in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.record.journal import (
    CollectedLine,
    EndLine,
    FinishLine,
    JournalWriter,
    Line,
    PhaseLine,
    SessionLine,
    StartLine,
    cells_of,
    read_journal,
)
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.phase import Phase
from pytest_gpumatrix.triage.cause import Category


def phase(test: str, when: str = "call", outcome: Outcome = Outcome.PASSED, **more: object) -> PhaseLine:
    return PhaseLine(phase=Phase(test=test, when=when, outcome=outcome, **more))  # type: ignore[arg-type]


def whole(test: str, outcome: Outcome = Outcome.PASSED) -> list[Line]:
    return [
        StartLine(test=test),
        phase(test, "setup"),
        phase(test, outcome=outcome),
        phase(test, "teardown"),
        FinishLine(test=test),
    ]


FIRST = SessionLine(device="h100", evidence=Evidence.NATIVE, facts=SessionFacts(commit="c"))
COLLECTED = CollectedLine(tests={"a": None, "b": "gpu()", "c": None})


def outcomes(lines: Sequence[Line]) -> dict[str, str]:
    return {test: cell.outcome.value for test, cell in cells_of(lines, evidence=Evidence.NATIVE).items()}


def written(path: Path, lines: Sequence[Line]) -> Path:
    writer = JournalWriter(path)
    for line in lines:
        writer.write(line)
    writer.close()
    return path


def test_a_whole_session(tmp_path: Path) -> None:
    lines = [
        FIRST,
        COLLECTED,
        *whole("a"),
        *whole("b", Outcome.FAILED),
        *whole("c", Outcome.SKIPPED),
        EndLine(),
    ]
    column, ended = read_journal(written(tmp_path / "h100.native.jsonl", lines))
    assert ended
    assert column.device == "h100"
    assert column.facts.commit == "c"
    assert column.cells["b"].requirement == "gpu()"
    assert {test: cell.outcome.value for test, cell in column.cells.items()} == {
        "a": "passed",
        "b": "failed",
        "c": "skipped",
    }


def test_cut_off_in_mid_test_that_test_crashed_and_the_rest_is_unknown(tmp_path: Path) -> None:
    path = written(tmp_path / "j.jsonl", [FIRST, COLLECTED, *whole("a"), StartLine(test="b"), phase("b", "setup")])
    with path.open("ab") as file:
        file.write(b'{"event":"report","pha')
    column, ended = read_journal(path)
    assert not ended
    assert {test: cell.outcome.value for test, cell in column.cells.items()} == {
        "a": "passed",
        "b": "crashed",
        "c": "unknown",
    }


def test_a_session_stopped_in_good_order_leaves_the_rest_not_run() -> None:
    assert outcomes([COLLECTED, *whole("a", Outcome.FAILED), EndLine(stopped="stopping after 1 failures")]) == {
        "a": "failed",
        "b": "not-run",
        "c": "not-run",
    }


@pytest.mark.parametrize(("interrupted", "outcome"), [(True, "unknown"), (False, "crashed")])
def test_a_test_that_ran_when_its_session_stopped(interrupted: bool, outcome: str) -> None:
    """A test that never finished, of a session that ended by itself, has died; whoever interrupts knows nothing."""
    end = EndLine(stopped="x", interrupted=interrupted)
    assert outcomes([CollectedLine(tests={"t::a": None}), StartLine(test="t::a"), end]) == {"t::a": outcome}


def test_a_session_that_died_after_its_last_test_is_unknown() -> None:
    collected = CollectedLine(tests={"a": None})
    assert outcomes([collected, *whole("a")]) == {"a": "passed", "pytest": "unknown"}
    assert outcomes([collected, *whole("a"), EndLine()]) == {"a": "passed"}


def test_tests_that_no_worker_reported_are_unknown() -> None:
    assert outcomes([COLLECTED, *whole("a"), EndLine()]) == {"a": "passed", "b": "unknown", "c": "unknown"}


def attempt(*reports: Phase) -> list[Line]:
    return [StartLine(test="a"), *(PhaseLine(phase=report) for report in reports), FinishLine(test="a")]


SETUP = Phase(test="a", when="setup", outcome=Outcome.PASSED)
CALL = Phase(test="a", when="call", outcome=Outcome.PASSED)
TEARDOWN = Phase(test="a", when="teardown", outcome=Outcome.PASSED)


@pytest.mark.parametrize(
    ("before", "outcome", "reruns"),
    [
        # A plugin (flaky) that runs a test again keeps the report of the call that failed.
        ([attempt(SETUP, TEARDOWN)], "passed", 1),
        ([attempt(SETUP, TEARDOWN), attempt(TEARDOWN)], "passed", 2),
        # Another (pytest-rerunfailures) tells of it, and may tell of the teardown after it.
        ([attempt(SETUP, replace(CALL, outcome=Outcome.FAILED, rerun=True), TEARDOWN)], "passed", 1),
        # A test that is there twice has told of its call: the worse counts.
        ([attempt(SETUP, CALL, TEARDOWN)], "passed", 0),
        ([attempt(SETUP, replace(CALL, outcome=Outcome.FAILED), TEARDOWN)], "failed", 0),
        ([attempt(replace(SETUP, outcome=Outcome.ERROR), TEARDOWN)], "error", 0),
        ([attempt(replace(SETUP, outcome=Outcome.SKIPPED), TEARDOWN)], "skipped", 0),
        # And so does one whose worker died.
        ([attempt(SETUP, replace(CALL, when="???", outcome=Outcome.CRASHED))], "crashed", 0),
    ],
)
def test_a_test_that_starts_again(before: list[list[Line]], outcome: str, reruns: int) -> None:
    lines = [line for lines in before for line in lines]
    collected = CollectedLine(tests={"a": None})
    again = [*lines, *attempt(SETUP, CALL, TEARDOWN)]
    cell = cells_of([collected, *again, EndLine()], evidence=Evidence.NATIVE)["a"]
    assert (cell.outcome.value, cell.reruns) == (outcome, reruns)


def test_the_place_and_cause_of_a_failure_are_kept(tmp_path: Path) -> None:
    place = Place(file="tests/test_a.py", line=3)
    failed = replace(CALL, outcome=Outcome.FAILED, place=place)
    lines = [FIRST, CollectedLine(tests={"a": None, "d/b.py::t": None}), *attempt(SETUP, failed, TEARDOWN)]
    column, _ = read_journal(written(tmp_path / "j.jsonl", [*lines, StartLine(test="d/b.py::t")]))
    assert column.cells["a"].place == place
    died = column.cells["d/b.py::t"]
    assert died.place == Place(file="d/b.py")
    assert died.cause is not None
    assert died.cause.category is Category.UNKNOWN


def test_a_worker_that_died() -> None:
    lines: list[Line] = [
        COLLECTED,
        StartLine(test="a"),
        phase("a", "setup"),
        phase("a", "???", Outcome.CRASHED, message="worker died"),
    ]
    assert outcomes([*lines, *whole("b"), *whole("c"), EndLine()]) == {
        "a": "crashed",
        "b": "passed",
        "c": "passed",
    }


@pytest.mark.parametrize(
    ("reports", "outcome"),
    [
        ([phase("a", "setup", Outcome.ERROR)], "error"),
        ([phase("a"), phase("a", "teardown", Outcome.ERROR)], "error"),
        ([phase("a", outcome=Outcome.FAILED), phase("a", "teardown", Outcome.ERROR)], "failed"),
        ([phase("a", outcome=Outcome.FAILED, subtest=True), phase("a")], "failed"),
        ([phase("a", outcome=Outcome.SKIPPED, subtest=True), phase("a")], "passed"),
        ([phase("a", outcome=Outcome.XFAILED, subtest=True), phase("a")], "passed"),
        ([phase("a", outcome=Outcome.XFAILED)], "xfailed"),
        ([phase("a", outcome=Outcome.XPASSED, strict=True)], "xpassed"),
        ([phase("a", "setup", Outcome.SKIPPED_REQUIREMENT)], "skipped-requirement"),
        ([phase("a", outcome=Outcome.FAILED, rerun=True), phase("a", "setup"), phase("a")], "passed"),
        ([], "unknown"),
    ],
)
def test_the_worst_report_of_the_last_attempt_decides(reports: list[Line], outcome: str) -> None:
    lines = [
        StartLine(test="a"),
        phase("a", "setup"),
        *reports,
        phase("a", "teardown"),
        FinishLine(test="a"),
        EndLine(),
    ]
    if not reports:
        lines = [StartLine(test="a"), FinishLine(test="a")]
    assert outcomes(lines) == {"a": outcome}


def test_reruns_are_counted() -> None:
    lines: list[Line] = [
        StartLine(test="a"),
        phase("a", outcome=Outcome.FAILED, rerun=True),
        phase("a"),
        FinishLine(test="a"),
    ]
    assert cells_of(lines, evidence=Evidence.NATIVE)["a"].reruns == 1


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_journal_cut_anywhere_makes_nothing_green(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "j.jsonl"
    bad = written(
        path,
        [
            FIRST,
            COLLECTED,
            *whole("a", Outcome.FAILED),
            *whole("b", Outcome.ERROR),
            *whole("c", Outcome.FAILED),
            EndLine(),
        ],
    )
    content = bad.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        column, _ = read_journal(path)
    except CutOff:
        return
    assert all(cell.standing in (Standing.BAD, Standing.UNKNOWN) for cell in column.cells.values())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello\n", r"j\.jsonl:1: not a line of a journal"),
        (b'{"event":"start","test":"a"}\n', "first line must be a session line"),
        (b'{"event":"session","device":"h","evidence":"native","facts":{},"schema":99}\n', "schema 99"),
        (b'{"event":"session","device":"h","evidence":"psychic","facts":{}}\n', r"j\.jsonl:1"),
        (
            b'{"event":"session","device":"h","evidence":"native","facts":{}}\n{"event":"dance"}\n',
            r"j\.jsonl:2",
        ),
    ],
)
def test_what_is_no_journal_is_refused_by_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(content)
    with pytest.raises(GpuMatrixError, match=said):
        read_journal(path)


def test_an_empty_journal_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"event":"sess')
    with pytest.raises(CutOff):
        read_journal(path)
