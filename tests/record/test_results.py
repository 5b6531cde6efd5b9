"""A folder of files -> columns, or a clear refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.journal import CollectedLine, EndLine, JournalWriter, PhaseLine, SessionLine, StartLine
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.phase import Phase
from pytest_gpumatrix.record.results import read_results


def write(folder: Path, device: str, evidence: Evidence, commit: str | None = None, **outcomes: Outcome) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    cells = {
        f"t.py::{name}": Cell(test=f"t.py::{name}", outcome=outcome, evidence=evidence)
        for name, outcome in outcomes.items()
    }
    path = folder / f"{device}.{evidence.value}.xml"
    write_junit(Column(device=device, evidence=evidence, cells=cells, facts=SessionFacts(commit=commit)), path)
    return path


def test_each_file_is_a_column_also_in_subfolders(tmp_path: Path) -> None:
    write(tmp_path / "gpumatrix-h100", "h100", Evidence.NATIVE, a=Outcome.PASSED)
    write(tmp_path / "gpumatrix-rtx3090", "rtx3090", Evidence.COMPILED, a=Outcome.COMPILED)
    (tmp_path / "launches.tape.jsonl").write_text("no journal")
    results = read_results(tmp_path)
    assert {(column.device, column.evidence.value) for column in results.columns} == {
        ("h100", "native"),
        ("rtx3090", "compiled"),
    }
    assert results.broken == {}


def test_a_plain_name_is_native(tmp_path: Path) -> None:
    (tmp_path / "h100.xml").write_text('<testsuite><testcase classname="a" name="t"/></testsuite>')
    (column,) = read_results(tmp_path).columns
    assert (column.device, column.evidence) == ("h100", Evidence.NATIVE)


def test_cut_off_and_empty_files_leave_the_device_missing_by_name(tmp_path: Path) -> None:
    (tmp_path / "h100.native.xml").write_text("<testsuites><testsuite>")
    (tmp_path / "rtx3090.native.xml").write_text("<testsuites/>")
    (tmp_path / "t4.native.xml").write_text("")
    results = read_results(tmp_path)
    assert results.columns == ()
    assert set(results.broken) == {"h100", "rtx3090", "t4"}
    assert "h100.native.xml is cut off" in results.broken["h100"]
    assert "holds no test" in results.broken["rtx3090"]


def test_the_journal_speaks_where_the_run_did_not_end(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "h100.native.jsonl")
    writer.write(SessionLine(device="h100", evidence=Evidence.NATIVE, facts=SessionFacts()))
    writer.write(CollectedLine(tests={"t.py::a": None, "t.py::b": None}))
    writer.write(StartLine(test="t.py::a"))
    writer.close()
    (column,) = read_results(tmp_path).columns
    assert {test: cell.outcome.value for test, cell in column.cells.items()} == {
        "t.py::a": "crashed",
        "t.py::b": "unknown",
    }
    # A file left by an earlier run of the same column may not hide that.
    write(tmp_path, "h100", Evidence.NATIVE, a=Outcome.PASSED, b=Outcome.PASSED)
    (column,) = read_results(tmp_path).columns
    assert column.cells["t.py::a"].outcome is Outcome.CRASHED


RAN = {"a": Outcome.PASSED, "b": Outcome.XPASSED, "c": Outcome.FAILED, "d": Outcome.XFAILED, "e": Outcome.SKIPPED}


def journal(folder: Path, evidence: Evidence, *, ended: bool) -> None:
    writer = JournalWriter(folder / f"h100.{evidence.value}.jsonl")
    writer.write(SessionLine(device="h100", evidence=evidence, facts=SessionFacts()))
    writer.write(CollectedLine(tests=dict.fromkeys(RAN)))
    for test, outcome in RAN.items():
        writer.write(PhaseLine(phase=Phase(test=test, when="call", outcome=outcome, strict=True, message="why")))
    if ended:
        writer.write(EndLine())
    writer.close()


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (False, "the run ended before its launches were judged"),
        (True, "its launches are judged in its JUnit file, which is missing"),
    ],
)
def test_a_pass_of_an_emulated_journal_alone_is_not_known(tmp_path: Path, ended: bool, why: str) -> None:
    journal(tmp_path, Evidence.EMULATED, ended=ended)
    (column,) = read_results(tmp_path).columns
    cells = {test: column.cells[test] for test in RAN}
    assert {test: cell.outcome for test, cell in cells.items()} == {
        **RAN,
        "a": Outcome.UNKNOWN,
        "b": Outcome.UNKNOWN,
    }
    assert {cells[test].message for test in "ab"} == {why}
    assert cells["b"].standing is Standing.UNKNOWN
    assert cells["c"].message == "why"


def test_a_pass_of_a_native_journal_is_one(tmp_path: Path) -> None:
    journal(tmp_path, Evidence.NATIVE, ended=False)
    (column,) = read_results(tmp_path).columns
    assert {test: column.cells[test].outcome for test in RAN} == RAN


def test_shards_of_one_device_merge_and_lose_nothing_bad(tmp_path: Path) -> None:
    write(tmp_path / "one", "h100", Evidence.NATIVE, a=Outcome.PASSED, b=Outcome.FAILED)
    write(tmp_path / "two", "h100", Evidence.NATIVE, b=Outcome.PASSED, c=Outcome.PASSED)
    (column,) = read_results(tmp_path).columns
    assert {test[-1]: cell.outcome.value for test, cell in column.cells.items()} == {
        "a": "passed",
        "b": "failed",
        "c": "passed",
    }


def test_results_of_two_commits_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "h100", Evidence.NATIVE, commit="a" * 40, a=Outcome.PASSED)
    write(tmp_path, "rtx3090", Evidence.NATIVE, commit="b" * 40, a=Outcome.PASSED)
    with pytest.raises(GpuMatrixError, match=r"2 commits.*aaaaaaaaaaaa in .*h100.*bbbbbbbbbbbb in .*rtx3090"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [("two words.xml", "not named"), ("h100.native.xml", "root is <html>"), ("-rf.xml", "not named")],
)
def test_a_file_that_does_not_belong_is_named(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("<html/>")
    with pytest.raises(GpuMatrixError, match=said):
        read_results(tmp_path)


def test_two_names_of_one_column_in_one_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "h100", Evidence.NATIVE, a=Outcome.PASSED)
    (tmp_path / "h100.xml").write_text('<testsuite><testcase classname="a" name="t"/></testsuite>')
    with pytest.raises(GpuMatrixError, match="the same column"):
        read_results(tmp_path)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match="no such folder"):
        read_results(tmp_path / "nowhere")
