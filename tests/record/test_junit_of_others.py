"""JUnit of other tools: ids, outcomes, attempts, places and causes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.junit_cause import Triage
from pytest_gpumatrix.record.junit_read import JunitFile, read_junit, read_junit_file
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.triage.cause import Category, Cause
from tests.record.foreign_file import GENUINE

FP8 = "AssertionError: fp8e4nv data type is not supported on CUDA arch < 89"
DATA = Path(__file__).parents[1] / "data" / "junit"
SCALE = "tests/test_scale.py"
ESCAPED = r"<\xe9>|`@org/team`"
PYTEST = {
    **{f"{SCALE}::TestScale::test_matches[{case}]": "passed" for case in ("bf16", "a::b", r"a\nb", ESCAPED)},
    f"{SCALE}::test_asserts": "failed",
    f"{SCALE}::test_raises": "failed",
    f"{SCALE}::test_errs": "error",
    f"{SCALE}::test_errs_in_teardown": "error",
    f"{SCALE}::test_fails_twice": "failed",
    f"{SCALE}::test_skips": "skipped",
    f"{SCALE}::test_xfails": "xfailed",
    f"{SCALE}::test_xpasses": "passed",
    f"{SCALE}::test_xpasses_strictly": "xpassed",
    f"{SCALE}::test_flaky": "failed",
    f"{SCALE}::test_subtests": "failed",
    f"{SCALE}::TestCase::test_sub": "failed",
}
BROKEN = {"tests/test_broken.py": "error"}
JAVA = "org.example.kernels.ScaleTest"
GO = "example.org/kernels/scale"
FILES = {
    "pytest-xunit2": PYTEST | BROKEN,
    "pytest-xunit1": PYTEST | BROKEN,
    "pytest-xdist": PYTEST
    | BROKEN
    | {"tests/test_crash.py::test_dies": "crashed", "tests/test_slow.py::test_hangs": "timeout"},
    "pytest-rerunfailures": PYTEST | {f"{SCALE}::test_flaky": "passed"},
    "unittest-xml-reporting": {
        f"{SCALE}::Scale::test_passes": "passed",
        f"{SCALE}::Scale::test_fails": "failed",
        f"{SCALE}::Scale::test_errs": "error",
        f"{SCALE}::Scale::test_skips": "skipped",
        f"{SCALE}::Scale::test_xfails": "xfailed",
        f"{SCALE}::Scale::test_xpasses": "xpassed",
        f"{SCALE}::Scale::test_sub (number=1)": "failed",
        "setUpClass (tests.test_scale.Broken)": "error",
    },
    "maven-surefire": {
        f"{JAVA}::passes": "passed",
        f"{JAVA}::fails": "failed",
        f"{JAVA}::errs": "error",
        f"{JAVA}::skips": "skipped",
        f"{JAVA}::flaky": "passed",
        f"{JAVA}::failsAgain": "failed",
        f"{JAVA}::sizes(int)[1]": "passed",
        f"{JAVA}$Nested::fits": "passed",
    },
    "googletest": {
        "Scale::Passes": "passed",
        "Scale::Fails": "failed",
        "Scale::Skips": "skipped",
        "Scale::DISABLED_Later": "skipped",
        "Scale::Throws": "failed",
        "Typed/0::Works": "passed",
        "Broken::Never": "skipped",
        "Head/Sizes::Fit/0": "passed",
        "Head/Sizes::Fit/1": "failed",
    },
    "ctest": {
        "passes": "passed",
        "fails": "failed",
        "times_out": "failed",
        "crashes": "failed",
        "missing": "not-run",
        "skipped": "skipped",
        "disabled": "skipped",
        "xfails": "passed",
    },
    "go-junit-report": {
        f"{GO}::TestPasses": "passed",
        f"{GO}::TestTable": "failed",
        f"{GO}::TestTable/bf16": "passed",
        f"{GO}::TestTable/fp8": "failed",
        f"{GO}::TestSkips": "skipped",
        "example.org/kernels/broken::[build failed]": "error",
    },
    "jest-junit": {
        "Scale passes": "passed",
        "Scale fails": "failed",
        "Scale skips": "skipped",
        "Scale later": "passed",
    },
    "playwright": {
        f"pw/scale.spec.js::Scale \u203a {name}": outcome
        for name, outcome in {"passes": "passed", "fails": "failed", "skips": "skipped", "flaky": "passed"}.items()
    },
}


def read(tool: str) -> JunitFile:
    return read_junit_file(DATA / f"{tool}.xml", device="h100", evidence=Evidence.NATIVE)


def cell(tool: str, ending: str) -> Cell:
    (found,) = (cell for test, cell in read(tool).column.cells.items() if test.endswith(ending))
    return found


def test_every_file_is_tested() -> None:
    assert {path.stem for path in DATA.glob("*.xml")} == FILES.keys()


@pytest.mark.parametrize("tool", FILES)
def test_ids_and_outcomes(tool: str) -> None:
    found = read(tool)
    assert {test: cell.outcome.value for test, cell in found.column.cells.items()} == FILES[tool]
    assert found.repeated == {}


@pytest.mark.parametrize(
    ("tool", "ending", "reruns"),
    [
        ("pytest-rerunfailures", "::test_flaky", 2),
        ("pytest-rerunfailures", "::test_raises", 2),
        ("pytest-rerunfailures", "::test_errs", 2),
        ("pytest-rerunfailures", "::test_fails_twice", 2),
        ("pytest-rerunfailures", "[bf16]", 0),
        ("pytest-xunit2", "::test_fails_twice", 0),  # in its call and in its teardown
        ("maven-surefire", "::flaky", 2),
        ("maven-surefire", "::failsAgain", 2),
        ("maven-surefire", "::fails", 0),
    ],
)
def test_attempts_are_counted(tool: str, ending: str, reruns: int) -> None:
    assert cell(tool, ending).reruns == reruns


@pytest.mark.parametrize(
    ("tool", "ending", "place"),
    [
        ("pytest-xunit1", "::test_asserts", Place(file=SCALE, line=15)),  # pytest itself counts from 0
        ("pytest-xunit1", "test_broken.py", Place(file="tests/test_broken.py")),
        ("pytest-xunit1", "[bf16]", None),
        ("pytest-xunit2", "::test_asserts", None),
        ("unittest-xml-reporting", "::test_fails", Place(file=SCALE, line=9)),
        ("googletest", "::Fails", Place(file="t.cc", line=4)),
    ],
)
def test_places(tool: str, ending: str, place: Place | None) -> None:
    assert cell(tool, ending).place == place


@pytest.mark.parametrize(
    ("tool", "ending", "category"),
    [
        ("pytest-xunit2", "::test_raises", Category.NO_KERNEL_IMAGE),
        ("pytest-xunit2", "::test_asserts", Category.GENUINE_FAILURE),  # an assertion may quote anything
        ("pytest-xunit2", "test_broken.py", Category.NO_KERNEL_IMAGE),
        ("unittest-xml-reporting", "::test_errs", Category.NO_KERNEL_IMAGE),
        ("unittest-xml-reporting", "::test_fails", Category.GENUINE_FAILURE),
        ("maven-surefire", "::errs", Category.NO_KERNEL_IMAGE),
        ("googletest", "::Throws", Category.NO_KERNEL_IMAGE),
        ("go-junit-report", "TestTable/fp8", Category.NO_KERNEL_IMAGE),
        ("ctest", "fails", Category.NO_KERNEL_IMAGE),  # by its output: CTest itself says nothing
    ],
)
def test_what_nobody_judged_is_triaged(tool: str, ending: str, category: Category) -> None:
    found = read(tool).column.cells["fails"] if tool == "ctest" else cell(tool, ending)
    assert found.cause is not None
    assert found.cause.category is category


def test_only_what_is_bad_has_a_cause() -> None:
    for tool in FILES:
        for found in read(tool).column.cells.values():
            assert (found.cause is not None) == (found.outcome.value in ("failed", "error", "crashed", "timeout"))


def test_all_that_a_case_says_is_kept() -> None:
    found = cell("googletest", "::Fails")
    assert found.message.endswith("first")
    assert found.details.endswith("second")
    # Where a tool gives no message, its text has one.
    assert cell("jest-junit", "Scale fails").message == "Error: expect(received).toBe(expected) // Object.is equality"
    assert read("ctest").column.cells["fails"].message.startswith("CUDA error")


def test_a_suites_own_failure_is_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    path.write_text('<testsuite name="Scale"><failure message="no driver"/><testcase name="a"/></testsuite>')
    cells = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells
    assert {test: cell.outcome.value for test, cell in cells.items()} == {"Scale": "failed", "a": "passed"}


@pytest.mark.parametrize(
    ("attributes", "outcome"),
    [
        ('status="run" result="completed"', "passed"),
        ('status="run"', "passed"),
        ('status="fail"', "failed"),
        ('status="error"', "error"),
        ('status="notrun"', "not-run"),
        ('status="run" result="skipped"', "skipped"),
    ],
)
def test_attributes_speak_where_no_element_does(tmp_path: Path, attributes: str, outcome: str) -> None:
    path = tmp_path / "h100.xml"
    path.write_text(f'<testsuite><testcase classname="A" name="t" {attributes}/></testsuite>')
    (found,) = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells.values()
    assert found.outcome.value == outcome


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """The texts that triage is asked about."""
    texts_asked: list[tuple[object, ...]] = []

    def classified(*texts: object, quotable: bool) -> Cause:
        texts_asked.append(texts)
        return GENUINE

    monkeypatch.setattr("pytest_gpumatrix.record.junit_cause._classified", classified)
    return texts_asked


def test_equal_failures_are_triaged_once(tmp_path: Path, asked: list[tuple[object, ...]]) -> None:
    path = tmp_path / "h100.xml"
    cases = "".join(f'<testcase name="t{n}"><error message="boom">trace</error></testcase>' for n in range(1000))
    path.write_text(f"<testsuite>{cases}</testsuite>")
    cells = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells
    assert (len(cells), len(asked)) == (1000, 1)
    assert len({id(cell.details) for cell in cells.values()}) == 1  # and kept once


def test_a_million_different_failures_do_not_cost_a_million(tmp_path: Path, asked: list[tuple[object, ...]]) -> None:
    path = tmp_path / "h100.xml"
    cases = "".join(f'<testcase name="t{n}"><error message="boom {n}">trace</error></testcase>' for n in range(6_000))
    path.write_text(f"<testsuite>{cases}</testsuite>")
    cells = list(read_junit(path, device="h100", evidence=Evidence.NATIVE).cells.values())
    assert (len(asked), sum("trace" in texts for texts in asked)) == (5_000, 500)
    notes = [cell.cause.note if cell.cause else "none" for cell in cells]
    assert notes[:500] == [""] * 500  # what was not read for a cause, says so
    assert all("by the message alone" in note for note in notes[500:5_000])
    assert all("not triaged" in note for note in notes[5_000:])


SCARY = """Traceback (most recent call last):
  File "/app/a.py", line 3, in f
RuntimeError: CUDA error: uncorrectable ECC error"""
REPORT = """def test_sum():
>       assert total == 3
E       {error}

{file}:3: AssertionError"""


@pytest.mark.parametrize(
    ("message", "details", "output", "category"),
    [
        # What a test printed does not explain its assertion, be it a traceback.
        ("assert 4 == 3", REPORT.format(error="assert 4 == 3", file="tests/test_a.py"), SCARY, "genuine_failure"),
        ("ValueError: 3", "Traceback (most recent call last):\nValueError: 3", SCARY, "device_state"),
        ("KeyError: 3", "Traceback (most recent call last):\nKeyError: 3", SCARY, "genuine_failure"),
        # An assertion quotes, unless a library raised it.
        (FP8, REPORT.format(error=FP8, file="tests/test_a.py"), "", "genuine_failure"),
        (FP8, REPORT.format(error=FP8, file="/venv/site-packages/triton/language/semantic.py"), "", "arch_feature"),
        # A report is read as such: source code and a warning before the true cause are neither.
        (
            "RuntimeError: no plan",
            ">       x()  # CUDA out of memory. Tried\nE       RuntimeError: no plan\n\nsrc/a.py:3: RuntimeError",
            "",
            "genuine_failure",
        ),
        ("CUDA error: misaligned address", "", "", "sticky_crash"),
    ],
)
def test_a_case_is_read_as_a_report(message: str, details: str, output: str, category: str) -> None:
    found = Triage().cause(message=message, details=details, output=output, kind="")
    assert found.category.value == category
