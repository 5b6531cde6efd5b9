"""Files that are cut off, too large, or no files: none costs more than it is worth."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record import atomic, xml_guard
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.journal import read_journal
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence
from tests.record.cells import cells
from tests.record.foreign_file import no_triage, read, write  # noqa: F401 - the fixture is used by its name

pytestmark = pytest.mark.usefixtures("no_triage")
DATA = Path(__file__).parents[1] / "data" / "junit"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("1e400", 0.0), ("9" * 10_000, 0.0), ("nan", 0.0), ("-5", 0.0), ("1,234.5", 1234.5), ("x", 0.0), ("", 0.0)],
)
def test_times_that_are_none(tmp_path: Path, value: str, seconds: float) -> None:
    (cell,) = read(write(tmp_path, f'<testsuite><testcase name="t" time="{value}"/></testsuite>')).cells.values()
    assert cell.duration == seconds


def test_counts_that_are_none(tmp_path: Path) -> None:
    for count in ("-1", "many", "", "1.5"):
        assert read(write(tmp_path, f'<testsuite failures="{count}"><testcase name="t"/></testsuite>')).cells
    with pytest.raises(CutOff, match="declares 1,000,000,000,000,000 failures"):
        read(write(tmp_path, f'<testsuites><testsuite failures="{"9" * 10_000}"/></testsuites>'))


def test_an_attribute_of_100_mb_is_refused_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    with path.open("wb") as file:
        file.write(b'<testsuite><testcase name="')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"/></testsuite>')
    with pytest.raises(GpuMatrixError, match=r"h100\.native\.xml:1: refused: a tag \(or a comment\) of more than"):
        read(path)


def test_a_text_of_20_mb_keeps_both_ends_and_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    with path.open("wb") as file:
        file.write(b'<testsuite><testcase name="t"><failure message="boom">begin')
        for _ in range(10):
            file.write(b"some line of output\n" * 50_000)
        file.write(b"end</failure><system-out>")
        for _ in range(10):
            file.write(b"x" * 1_000_000)
        file.write(b"</system-out></testcase></testsuite>")
    tracemalloc.start()
    (cell,) = read(path).cells.values()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (cell.details[:5], cell.details[-3:], len(cell.details) < 250_000) == ("begin", "end", True)
    assert peak < 5_000_000


def test_long_failures_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_gpumatrix.record.bounded_text._ENOUGH", 1_000_000)
    cases = "".join(
        f'<testcase name="t{n}"><failure message="boom">{n} {"x" * 100_000} end</failure></testcase>' for n in range(50)
    )
    found = read(write(tmp_path, f"<testsuite>{cases}</testsuite>")).cells
    lengths = [len(cell.details) for cell in found.values()]
    assert (lengths[0] > 100_000, max(lengths[20:]) < 2_100, sum(lengths) < 1_300_000) == (True, True, True)
    assert all(cell.details.endswith(" end") for cell in found.values())


@pytest.mark.parametrize(
    "content",
    [
        "".join(f'<testcase name="t{n}"/>' for n in range(200)),
        '<testcase name="t">' + "<failure/>" * 200 + "</testcase>",
        '<testcase name="t"><properties>'
        + '<property name="gpumatrix_slow" value="x"/>' * 200
        + "</properties></testcase>",
        "<properties>" + "".join(f'<property name="version_{n}" value="x"/>' for n in range(200)) + "</properties>",
    ],
)
def test_how_much_a_file_may_hold_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr("pytest_gpumatrix.record.junit_read._MOST", 100)
    with pytest.raises(GpuMatrixError, match=r"h100\.native\.xml: refused: it holds more than 100 "):
        read(write(tmp_path, f"<testsuite>{content}</testsuite>"))


def test_a_file_that_is_too_large_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    path.touch()
    os.truncate(path, atomic.LARGEST + 1)
    with pytest.raises(GpuMatrixError, match=r"it has 1,073,741,825 bytes, and a results file at most 1,073,741,824"):
        read(path)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_guard, "LARGEST", 100_000)  # what is found out while reading
    with pytest.raises(GpuMatrixError, match="refused: it has more than 100,000 bytes"):
        read(write(tmp_path, "<testsuite>" + '<testcase name="t"/>' * 20_000 + "</testsuite>"))


def test_a_pipe_never_blocks(tmp_path: Path) -> None:
    pipe = tmp_path / "h100.native.xml"
    os.mkfifo(pipe)
    with pytest.raises(GpuMatrixError, match=r"h100\.native\.xml: cannot be read: it is not a regular file"):
        read(pipe)
    with pytest.raises(GpuMatrixError, match="it is not a regular file"):
        read_journal(pipe)


def test_only_a_regular_file_is_read_through_a_link(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    for target in (tmp_path, Path("/dev/zero"), tmp_path / "nowhere"):
        path.symlink_to(target)
        with pytest.raises(GpuMatrixError, match=r"h100\.native\.xml: cannot be read"):
            read(path)
        path.unlink()
    path.symlink_to(DATA / "ctest.xml")
    assert read(path).cells


@pytest.mark.parametrize("tool", sorted(path.stem for path in DATA.glob("*.xml")))
def test_a_file_cut_off_anywhere_counts_as_none(tmp_path: Path, tool: str) -> None:
    content = (DATA / f"{tool}.xml").read_bytes().rstrip()
    for length in range(0, len(content), max(1, len(content) // 60)):
        with pytest.raises(CutOff, match=r"h100\.native\.xml is (cut off|empty)"):
            read(write(tmp_path, content[:length]))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(cells(), min_size=1, max_size=3, unique_by=lambda cell: cell.test), st.data())
def test_our_own_file_cut_off_anywhere_is_never_better(
    tmp_path_factory: pytest.TempPathFactory, originals: list[Cell], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("junit") / "h100.native.xml"
    column = Column(device="h100", evidence=Evidence.NATIVE, cells={cell.test: cell for cell in originals})
    write_junit(column, path)
    content = path.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises((CutOff, GpuMatrixError), match=r"h100\.native\.xml"):
        read(path)
