"""Columns to JUnit and back, and what properties may say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit_read import read_junit
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.triage.cause import Action, Category, Cause
from tests.record.cells import cells

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


def read_text(tmp_path: Path, text: str) -> Column:
    path = tmp_path / "h100.xml"
    path.write_text(text)
    return read_junit(path, device="h100", evidence=Evidence.NATIVE)


@settings(max_examples=150, deadline=None)
@given(st.lists(cells(), max_size=4, unique_by=lambda cell: cell.test))
def test_every_cell_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, originals: list[Cell]) -> None:
    back = there_and_back(tmp_path_factory.mktemp("junit"), column(*originals))
    assert list(back.cells.values()) == originals


def test_facts_survive(tmp_path: Path) -> None:
    facts = SessionFacts(
        gpu_name="NVIDIA H100 80GB HBM3",
        gpu_uuid="GPU-1",
        gpu_compute_capability=ComputeCapability(9, 0),
        driver_version="580.1",
        commit="a" * 40,
        dirty=True,
        versions={"torch": "2.11.0"},
    )
    assert there_and_back(tmp_path, column(cell(Outcome.PASSED), facts=facts)).facts == facts


def test_a_place_is_junits_own(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    write_junit(column(cell(Outcome.FAILED, place=Place(file="tests/test_a.py", line=7))), path)
    assert 'file="tests/test_a.py" line="7"' in path.read_text()


def test_each_case_bears_its_properties(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    facts = SessionFacts(gpu_name="G", gpu_compute_capability=ComputeCapability(9, 0), driver_version="1")
    write_junit(column(cell(Outcome.PASSED, requirement="gpu()"), facts=facts), path)
    suite, _, case = path.read_text().partition("<testcase")
    for name in ("gpumatrix_nodeid", "gpumatrix_outcome", "gpumatrix_evidence", "gpumatrix_requirement"):
        assert f'name="{name}"' in case
    # What is the same for all is said once.
    for name in ("gpumatrix_device", "gpumatrix_evidence", "gpu_name", "gpu_compute_capability", "driver_version"):
        assert f'name="{name}"' in suite
    assert "gpu_name" not in case


# Every character, surrogates aside: those are no text, and pytest escapes them in ids.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@settings(max_examples=60, deadline=None)
@given(test=texts, message=texts, details=texts)
def test_hostile_text_makes_no_broken_file(
    tmp_path_factory: pytest.TempPathFactory, test: str, message: str, details: str
) -> None:
    hostile = replace(cell(Outcome.FAILED), test=f"t.py::{test}", message=message, details=details)
    (back,) = there_and_back(tmp_path_factory.mktemp("junit"), column(hostile)).cells.values()
    assert back.outcome is Outcome.FAILED


def test_long_texts_keep_both_ends_and_long_ids_stay_apart(tmp_path: Path) -> None:
    long = "begin " + "x" * 1_000_000
    originals = [
        replace(cell(Outcome.FAILED), test=f"t.py::{long}{n}", message=f"{long} end", details=f"{long} end")
        for n in range(2)
    ]
    back = there_and_back(tmp_path, column(*originals)).cells
    assert len(back) == 2
    for got in back.values():
        for text in (got.message, got.details):
            assert (len(text) < 250_000, text[:6], text[-4:]) == (True, "begin ", " end")
            assert "left out" in text


def test_text_that_just_fits_stays_whole(tmp_path: Path) -> None:
    original = cell(Outcome.FAILED, message="m" * 200_000, details="line\n" * 40_000, cause=CAUSE)
    assert there_and_back(tmp_path, column(original)).cells[original.test] == original


@pytest.mark.parametrize(
    ("element", "recorded", "outcome"),
    [
        ("", "failed", "failed"),  # worse is taken at its word
        ("", "skipped", "passed"),
        ("", "xpassed", "xpassed"),
        ("", "unknown", "unknown"),
        ("<skipped message='no' type='pytest.skip'/>", "unknown", "unknown"),
        ("<failure message='boom'/>", "passed", "failed"),
        ("<failure message='[XPASS(strict)] no'/><failure message='boom'/>", "xpassed", "failed"),
        ("<failure message='boom'/>", "xfailed", "failed"),
        ("<failure message='boom'/>", "unknown", "failed"),
        ("<failure message='boom'/>", "crashed", "crashed"),
        ("<failure message='boom'/>", "nonsense", "failed"),
        ("<error message='boom'/>", "unknown", "error"),
        ("<error message='unknown: boom'/>", "unknown", "unknown"),
        ("<error message='timeout: boom'/>", "timeout", "timeout"),
        ("<skipped message='no' type='pytest.skip'/>", "passed", "skipped"),
        ("<skipped message='no' type='pytest.skip'/>", "xfailed", "skipped"),
        ("<skipped message='no' type='pytest.compiled'/>", "compiled", "compiled"),
    ],
)
def test_a_property_makes_nothing_better(tmp_path: Path, element: str, recorded: str, outcome: str) -> None:
    properties = f'<properties><property name="gpumatrix_outcome" value="{recorded}"/></properties>'
    case = f'<testcase classname="a" name="t">{properties}{element}</testcase>'
    (found,) = read_text(tmp_path, f"<testsuite>{case}</testsuite>").cells.values()
    assert found.outcome.value == outcome


BAD_CASES = [
    '<testcase name="t"><properties>{}</properties><failure message="boom"/></testcase>',
    '<testcase name="t"><properties>{}</properties><error message="boom"/></testcase>',
    '<testcase name="t" status="failed"><properties>{}</properties></testcase>',
    '<testcase name="t" result="Error"><properties>{}</properties></testcase>',
]


@settings(max_examples=200, deadline=None)
@given(
    case=st.sampled_from(BAD_CASES),
    properties=st.dictionaries(
        st.sampled_from(["gpumatrix_outcome", "gpumatrix_evidence", "gpumatrix_reruns", "gpumatrix_message"]),
        st.sampled_from([*(item.value for item in Outcome), *(item.value for item in Evidence), "", "9" * 50]),
    ),
)
def test_no_property_makes_a_failure_better(
    tmp_path_factory: pytest.TempPathFactory, case: str, properties: dict[str, str]
) -> None:
    written = "".join(f'<property name="{name}" value="{value}"/>' for name, value in properties.items())
    document = f"<testsuite>{case.format(written)}</testsuite>"
    (found,) = read_text(tmp_path_factory.mktemp("junit"), document).cells.values()
    assert found.standing is Standing.BAD


def test_an_attribute_that_says_not_run_is_not_made_a_pass(tmp_path: Path) -> None:
    properties = '<properties><property name="gpumatrix_outcome" value="passed"/></properties>'
    case = f'<testcase name="t" status="notrun">{properties}</testcase>'
    (found,) = read_text(tmp_path, f"<testsuite>{case}</testsuite>").cells.values()
    assert found.outcome is Outcome.NOT_RUN


@pytest.mark.parametrize(("said", "dirty"), [("true", True), ("false", False), ("True", None), ("", None)])
def test_a_tree_is_clean_only_where_that_is_said(tmp_path: Path, said: str, dirty: bool | None) -> None:
    properties = f'<properties><property name="commit_dirty" value="{said}"/></properties>'
    document = f'<testsuite>{properties}<testcase name="t"/></testsuite>'
    assert read_text(tmp_path, document).facts.dirty is dirty


def test_an_empty_node_id_is_none(tmp_path: Path) -> None:
    properties = '<properties><property name="gpumatrix_nodeid" value=""/></properties>'
    cases = "".join(f'<testcase classname="a" name="{name}">{properties}</testcase>' for name in "tu")
    assert list(read_text(tmp_path, f"<testsuite>{cases}</testsuite>").cells) == ["a.py::t", "a.py::u"]


def test_no_property_makes_evidence_stronger(tmp_path: Path) -> None:
    path = tmp_path / "h100.compiled.xml"
    case = '<testcase name="t"><properties><property name="gpumatrix_evidence" value="native"/></properties></testcase>'
    path.write_text(f"<testsuite>{case}</testsuite>")
    (found,) = read_junit(path, device="h100", evidence=Evidence.COMPILED).cells.values()
    assert found.evidence is Evidence.COMPILED


@pytest.mark.parametrize(
    "file",
    [
        "/etc/passwd",
        "../outside.py",
        "tests/../../outside.py",
        "tests\\test_a.py",
        "C:/test_a.py",
        "c:test_a.py",
        "https://example.org/test_a.py",
        "//host/share/test_a.py",
        "tests//test_a.py",
        "./test_a.py",
        "tests/&#10;test_a.py",
        "tests/&#x202e;yp.a_tset",
        "a" * 5000,
        "",
    ],
)
def test_a_place_stays_in_the_repository(tmp_path: Path, file: str) -> None:
    case = f'<testcase classname="a" name="t" file="{file}" line="3"><failure message="boom"/></testcase>'
    (found,) = read_text(tmp_path, f"<testsuite>{case}</testsuite>").cells.values()
    assert found.place is None


def test_a_metric_that_cannot_be_read_is_refused_by_the_tests_name(tmp_path: Path) -> None:
    for value in ("{}", "[" * 5000, '{"name": "m", "value": 1e999, "unit": ""}', '{"name": "m", "value": "1"}'):
        value = value.replace('"', "&quot;")
        properties = f'<properties><property name="gpumatrix_metric" value="{value}"/></properties>'
        with pytest.raises(GpuMatrixError, match=r"h100\.xml: test 't': property gpumatrix_metric cannot be read"):
            read_text(tmp_path, f'<testsuite><testcase name="t">{properties}</testcase></testsuite>')


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match="schema 2 is not known here"):
        read_text(
            tmp_path,
            '<testsuite><properties><property name="gpumatrix_schema" value="2"/></properties></testsuite>',
        )


def test_writing_fails_whole(tmp_path: Path) -> None:
    path = tmp_path / "h100.native.xml"
    path.write_text("before")
    bad = cell(Outcome.PASSED, metrics=(Metric(name="m", value=float("nan"), unit=""),))
    with pytest.raises(ValueError, match="metric 'm' is nan"):
        write_junit(column(bad), path)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["h100.native.xml"]


def test_a_suite_that_holds_less_than_it_declares_counts_as_none(tmp_path: Path) -> None:
    with pytest.raises(CutOff, match=r"h100\.xml declares 3 failures and errors, and holds 0"):
        read_text(
            tmp_path, '<testsuite errors="2" failures="1" tests="5"><testcase classname="a" name="t"/></testsuite>'
        )
