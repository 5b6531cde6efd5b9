"""A folder of files -> columns, or a clear refusal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.record.journal import CollectedLine, EndLine, JournalWriter, PhaseLine, SessionLine, StartLine
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.phase import Phase
from pytest_gpumatrix.record.results import read_results
from tests.record.columns import write, write_facts


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


def test_results_of_two_commits_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "h100", Evidence.NATIVE, commit="a" * 40, a=Outcome.PASSED)
    write(tmp_path, "rtx3090", Evidence.NATIVE, commit="b" * 40, a=Outcome.PASSED)
    with pytest.raises(GpuMatrixError, match=r"2 commits.*aaaaaaaaaaaa in .*h100.*bbbbbbbbbbbb in .*rtx3090"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two words.xml", "not named <device>.<evidence>.xml"),
        ("-rf.xml", "not named"),
        ("h100\nnative.xml", "not named"),
        ("notes.jsonl", "not a line of a journal"),
        ("t4.native.xml", "root is <html>"),
    ],
)
def test_a_file_that_is_refused_is_named_and_the_others_count(tmp_path: Path, name: str, said: str) -> None:
    write(tmp_path, "h100", Evidence.NATIVE, a=Outcome.PASSED)
    (tmp_path / name).write_text("<html/>\n")
    results = read_results(tmp_path)
    assert [column.device for column in results.columns] == ["h100"]
    ((file, reason),) = results.refused.items()
    assert (file, said in reason) == (str(tmp_path / name), True)


def test_a_device_of_which_every_file_is_refused_is_missing_with_that_reason(tmp_path: Path) -> None:
    (tmp_path / "h100.native.xml").write_text("<!DOCTYPE x><testsuites/>")
    results = read_results(tmp_path)
    why = "it declares a DOCTYPE, which JUnit never needs"
    assert results.refused == {str(tmp_path / "h100.native.xml"): why}
    assert (results.columns, results.broken) == ((), {"h100": f"h100.native.xml was refused: {why}"})


def test_a_device_with_another_shard_is_not_missing(tmp_path: Path) -> None:
    write(tmp_path / "one", "h100", Evidence.NATIVE, a=Outcome.PASSED)
    (tmp_path / "h100.native.xml").write_text("<!DOCTYPE x><testsuites/>")
    results = read_results(tmp_path)
    assert (len(results.columns), results.broken, len(results.refused)) == (1, {}, 1)


def test_a_refused_journal_leaves_the_junit_beside_it_and_the_other_way_round(tmp_path: Path) -> None:
    write(tmp_path / "one", "h100", Evidence.NATIVE, a=Outcome.PASSED)
    (tmp_path / "one" / "h100.native.jsonl").write_text("{}\n")
    journal(tmp_path, Evidence.NATIVE, ended=True)
    (tmp_path / "h100.native.xml").write_text("<html/>")
    results = read_results(tmp_path)
    assert {test[-1] for test in results.columns[0].cells} == {"a", "b", "c", "d", "e"}
    assert set(results.refused) == {
        str(tmp_path / "h100.native.xml"),
        str(tmp_path / "one" / "h100.native.jsonl"),
    }


def test_what_is_no_file_is_refused_and_does_not_block(tmp_path: Path) -> None:
    write(tmp_path, "h100", Evidence.NATIVE, a=Outcome.PASSED)
    os.mkfifo(tmp_path / "t4.native.xml")
    os.mkfifo(tmp_path / "t4.native.jsonl")
    (tmp_path / "v100.native.xml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / "up").symlink_to(tmp_path)  # would be read again and again
    results = read_results(tmp_path)
    assert [column.device for column in results.columns] == ["h100"]
    assert {Path(file).name for file in results.refused} == {"t4.native.xml", "t4.native.jsonl", "v100.native.xml"}


def test_what_is_not_read_is_never_lost_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("results", "results/one", "results/locked", "elsewhere"):
        (tmp_path / name).mkdir()
    write(tmp_path / "results" / "one", "h100", Evidence.NATIVE, a=Outcome.PASSED)
    (tmp_path / "results" / "again").symlink_to("one")  # its files are read by their own names
    (tmp_path / "results" / "two").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "results" / "H100.NATIVE.XML").write_text("<testsuites>")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and access(path, mode))
    results = read_results(tmp_path / "results")
    assert len(results.columns) == 1
    told = {Path(file).name: reason for file, reason in results.refused.items()}
    assert told.keys() == {"two", "locked", "H100.NATIVE.XML"}
    assert "a link to a folder" in told["two"]
    assert "cannot be read: check the permissions" in told["locked"]


def test_thousands_of_files_are_one_column(tmp_path: Path) -> None:
    for number in range(2000):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "h100.xml").write_text(f'<testsuite><testcase classname="A" name="t{number}"/></testsuite>')
    (column,) = read_results(tmp_path).columns
    assert len(column.cells) == 2000


def test_work_grows_with_the_tests_and_no_faster(tmp_path: Path) -> None:
    calls = {}
    for count in (200, 800):
        outcomes = {f"t{n}": Outcome.FAILED if n % 50 == 0 else Outcome.PASSED for n in range(count)}
        for shard in ("one", "two"):
            write_facts(tmp_path / str(count) / shard, "h100", Evidence.NATIVE, SessionFacts(), outcomes)
        calls[count] = calls_of(tmp_path / str(count))
    assert calls[800] < 4.1 * calls[200]


def calls_of(folder: Path) -> int:
    """How many functions, of Python and of C, reading a folder calls."""
    number = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read_results(folder)
    finally:
        sys.setprofile(before)
    return number


def test_two_names_of_one_column_in_one_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "h100", Evidence.NATIVE, a=Outcome.PASSED)
    (tmp_path / "h100.xml").write_text('<testsuite><testcase classname="a" name="t"/></testsuite>')
    with pytest.raises(GpuMatrixError, match="the same column"):
        read_results(tmp_path)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match="no such folder"):
        read_results(tmp_path / "nowhere")
