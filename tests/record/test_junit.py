"""Columns to JUnit and back; JUnit of others; files that must be refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit_read import node_id, read_junit
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Action, Category, Cause

NO_FACTS = SessionFacts()
CAUSE = Cause(
    category=Category.ONCHIP_LIMIT, evidence="needs 1 B", action=Action.SKIP, advice="Use less.", rule="limit-exceeded"
)


def cell(outcome: Outcome, **more: object) -> Cell:
    return Cell(test=f"tests/test_a.py::test_{outcome.name}", outcome=outcome, evidence=Evidence.NATIVE, **more)  # type: ignore[arg-type]


def column(*cells: Cell, facts: SessionFacts = NO_FACTS) -> Column:
    return Column(device="h100", evidence=Evidence.NATIVE, cells={cell.test: cell for cell in cells}, facts=facts)


def there_and_back(tmp_path: Path, original: Column) -> Column:
    path = tmp_path / "h100.native.xml"
    write_junit(original, path)
    return read_junit(path, device="h100", evidence=Evidence.NATIVE)


def test_every_outcome_survives(tmp_path: Path) -> None:
    cells = [cell(outcome, message="why") for outcome in Outcome if outcome not in (Outcome.PASSED, Outcome.XPASSED)]
    cells += [cell(Outcome.PASSED, duration=1.5), cell(Outcome.XPASSED, strict=True, message="why")]
    back = there_and_back(tmp_path, column(*cells))
    for original in cells:
        got = back.cells[original.test]
        assert (got.outcome, got.strict) == (original.outcome, original.strict)
        assert original.message in got.message
        assert got.duration == original.duration


def test_facts_cause_metrics_and_requirement_survive(tmp_path: Path) -> None:
    facts = SessionFacts(
        gpu_name="NVIDIA H100 80GB HBM3",
        gpu_uuid="GPU-1",
        gpu_compute_capability=ComputeCapability(9, 0),
        driver_version="580.1",
        commit="a" * 40,
        dirty=True,
        versions={"torch": "2.11.0"},
    )
    metric = Metric(name="loss", value=2.5, unit="nats", better="higher")
    original = cell(
        Outcome.FAILED,
        cause=CAUSE,
        metrics=(metric,),
        requirement="gpu('>=9.0')",
        details="trace\nback",
        reruns=2,
    )
    back = there_and_back(tmp_path, column(original, facts=facts))
    assert back.facts == facts
    assert back.cells[original.test] == original


def test_what_is_slow_survives(tmp_path: Path) -> None:
    original = cell(Outcome.COMPILED, message="it fits", slow=("matmul: spills 4 B", "gram: <no> tensor cores & more"))
    back = there_and_back(tmp_path, column(original))
    assert back.cells[original.test] == original


def test_each_case_bears_its_properties(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    facts = SessionFacts(gpu_name="G", gpu_compute_capability=ComputeCapability(9, 0), driver_version="1")
    write_junit(column(cell(Outcome.PASSED, requirement="gpu()"), facts=facts), path)
    text = path.read_text()
    for name in (
        "gpumatrix_nodeid",
        "gpumatrix_device",
        "gpumatrix_outcome",
        "gpumatrix_evidence",
        "gpumatrix_requirement",
        "gpu_name",
        "gpu_compute_capability",
        "driver_version",
    ):
        assert f'name="{name}"' in text.partition("<testcase")[2]


# Every character, surrogates aside: those are no text, and pytest escapes them in ids.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@settings(max_examples=60, deadline=None)
@given(test=texts, message=texts, details=texts)
def test_hostile_text_makes_no_broken_file(
    tmp_path_factory: pytest.TempPathFactory, test: str, message: str, details: str
) -> None:
    path = tmp_path_factory.mktemp("junit") / "h100.native.xml"
    hostile = Cell(
        test=f"t.py::{test}",
        outcome=Outcome.FAILED,
        evidence=Evidence.NATIVE,
        message=message,
        details=details,
    )
    write_junit(column(hostile), path)
    (back,) = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells.values()
    assert back.outcome is Outcome.FAILED


PLAIN = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" tests="6">
<testcase classname="tests.test_a.TestB" name="test_ok[x::y]" time="0.5"/>
<testcase classname="tests.test_a" name="test_fails"><failure message="AssertionError: 1">trace</failure></testcase>
<testcase classname="tests.test_a" name="test_errs"><error message="setup">trace</error></testcase>
<testcase classname="tests.test_a" name="test_skips"><skipped type="pytest.skip" message="no"/></testcase>
<testcase classname="tests.test_a" name="test_xfails"><skipped type="pytest.xfail" message="known"/></testcase>
<testcase classname="tests.test_a" name="test_xpasses"><failure message="[XPASS(strict)] known">x</failure></testcase>
</testsuite></testsuites>"""


def test_plain_junit_of_any_pytest(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    path.write_text(PLAIN)
    cells = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells
    assert {test.rpartition("::")[2]: found.outcome.value for test, found in cells.items() if "[" not in test} == {
        "test_fails": "failed",
        "test_errs": "error",
        "test_skips": "skipped",
        "test_xfails": "xfailed",
        "test_xpasses": "xpassed",
    }
    assert cells["tests/test_a.py::TestB::test_ok[x::y]"].outcome is Outcome.PASSED
    assert cells["tests/test_a.py::test_xpasses"].strict


def test_the_same_id_twice_keeps_the_worse(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    case = '<testcase classname="a" name="t"/>'
    path.write_text(
        f"<testsuite>{case}<testcase classname='a' name='t'><failure message='x'/></testcase>{case}</testsuite>"
    )
    (found,) = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells.values()
    assert found.outcome is Outcome.FAILED


def test_nested_suites_are_read(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    path.write_text(
        '<testsuites><testsuite><testsuite><testcase classname="a" name="t"/></testsuite></testsuite></testsuites>'
    )
    assert list(read_junit(path, device="h100", evidence=Evidence.NATIVE).cells) == ["a.py::t"]


@pytest.mark.parametrize(
    ("classname", "name", "file", "expected"),
    [
        ("tests.test_a", "test_b", None, "tests/test_a.py::test_b"),
        ("tests.test_a.TestC.TestD", "test_b[1]", None, "tests/test_a.py::TestC::TestD::test_b[1]"),
        ("tests.test_a.lower", "test_b", "tests/test_a.py", "tests/test_a.py::lower::test_b"),
        ("", "tests/test_a.py", None, "tests/test_a.py"),
        (None, None, None, ""),
    ],
)
def test_node_ids_are_rebuilt(classname: str | None, name: str | None, file: str | None, expected: str) -> None:
    assert node_id(classname, name, file) == expected


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><testsuites>&b;</testsuites>'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (BOMB, "DOCTYPE"),
        ("<!DOCTYPE testsuites><testsuites/>", "DOCTYPE"),
        (BOMB.encode("utf-16"), "DOCTYPE"),
        ('<!DOCTYPE x SYSTEM "file:///etc/hostname"><testsuites/>', "DOCTYPE"),
        ("<html></html>", "root is <html>"),
        ("hello", "not XML"),
        ("{}", "not XML"),
        ("<testsuites></testsuite>", "mismatched tag"),
        ("<testsuites>&undefined;</testsuites>", "undefined entity"),
        (b"<testsuites>\xff\xfe</testsuites>", "not well-formed"),
        ('<?xml version="1.0" encoding="klingon"?><testsuites/>', "klingon|unknown encoding"),
        ("<testsuite>" * 3000 + "</testsuite>" * 3000, "nested more than 100 deep"),
        (
            '<testsuite><properties><property name="gpumatrix_device" value="rtx3090"/></properties></testsuite>',
            "says h100, its property gpumatrix_device says rtx3090",
        ),
        (
            '<testsuite><properties><property name="gpu_compute_capability" value="x"/></properties></testsuite>',
            "not a compute capability",
        ),
    ],
)
def test_what_is_no_junit_is_refused_by_name(tmp_path: Path, content: str | bytes, said: str) -> None:
    path = tmp_path / "h100.native.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(GpuMatrixError, match=said) as error:
        read_junit(path, device="h100", evidence=Evidence.NATIVE)
    assert "h100.native.xml" in str(error.value)


@pytest.mark.parametrize("length", [0, 30, 60, 130, 250, 400, len(PLAIN) - 3])
def test_a_file_cut_off_anywhere_counts_as_none(tmp_path: Path, length: int) -> None:
    path = tmp_path / "h100.native.xml"
    path.write_text(PLAIN[:length])
    with pytest.raises(CutOff, match=r"h100\.native\.xml is (cut off|empty)"):
        read_junit(path, device="h100", evidence=Evidence.NATIVE)


def test_writing_fails_whole(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    path.write_text("before")
    path.parent.chmod(0o755)
    bad = Cell(
        test="t.py::t",
        outcome=Outcome.PASSED,
        evidence=Evidence.NATIVE,
        metrics=(Metric(name="m", value=float("nan"), unit=""),),
    )
    with pytest.raises(ValueError, match="Out of range float"):
        write_junit(column(bad), path)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["h100.native.xml"]


def test_a_property_cannot_turn_a_failure_into_a_pass(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    properties = '<properties><property name="gpumatrix_outcome" value="passed"/></properties>'
    path.write_text(
        f'<testsuite><testcase classname="a" name="t">{properties}<failure message="boom"/></testcase></testsuite>'
    )
    (found,) = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells.values()
    assert (found.outcome, found.message) == (Outcome.FAILED, "boom")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    path.symlink_to(tmp_path)
    with pytest.raises(GpuMatrixError, match=r"h100\.xml: cannot be read"):
        read_junit(path, device="h100", evidence=Evidence.NATIVE)


def test_a_suite_that_holds_less_than_it_declares_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    path.write_text('<testsuite errors="2" failures="1" tests="5"><testcase classname="a" name="t"/></testsuite>')
    with pytest.raises(CutOff, match="declares 3 failures and errors, and holds 0"):
        read_junit(path, device="h100", evidence=Evidence.NATIVE)


def test_elements_of_a_namespace_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    path.write_text('<testsuites xmlns="urn:x"><testsuite><testcase name="t"/></testsuite></testsuites>')
    with pytest.raises(GpuMatrixError, match=r"h100\.xml: not JUnit"):
        read_junit(path, device="h100", evidence=Evidence.NATIVE)


def test_what_is_said_with_a_pass_is_kept(tmp_path: Path) -> None:
    said = Cell(test="t.py::test_a", outcome=Outcome.PASSED, evidence=Evidence.EMULATED, message="not known: k")
    path = tmp_path / "rtx3090.emulated.xml"
    write_junit(Column(device="rtx3090", evidence=Evidence.EMULATED, cells={said.test: said}), path)
    assert read_junit(path, device="rtx3090", evidence=Evidence.EMULATED).cells[said.test] == said
