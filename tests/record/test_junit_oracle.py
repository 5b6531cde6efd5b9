"""The reader against junitparser: on every valid file they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, Skipped, xunit2

from pytest_gpumatrix.record.junit_read import read_junit
from pytest_gpumatrix.record.outcome import Evidence
from tests.record.cells import TEXTS
from tests.record.foreign_file import no_triage  # noqa: F401 - the fixture is used by its name

DATA = Path(__file__).parents[1] / "data"
OUTCOMES = ((Error, "error"), (Failure, "failed"), (Skipped, "skipped"))  # the worst first
RESULTS = st.tuples(
    st.sampled_from(["failure", "error", "skipped", "flakyFailure", "rerunError", "system-out"]), TEXTS, TEXTS
)
CASES = st.tuples(st.lists(RESULTS, max_size=3), st.floats(0, 1e6))


@st.composite
def documents(draw: st.DrawFn) -> str:
    """JUnit with suites in suites; each name once, as a test has one result."""
    numbers = iter(range(10**6))

    def case(results: list[tuple[str, str, str]], time: float) -> str:
        inner = "".join(f"<{tag} message={quoteattr(message)}>{escape(text)}</{tag}>" for tag, message, text in results)
        return f'<testcase classname="C" name="t{next(numbers)}" time="{time!r}">\n{inner}</testcase>'

    def suite(depth: int) -> str:
        cases = "".join(case(*drawn) for drawn in draw(st.lists(CASES, max_size=3)))
        suites = "".join(suite(depth - 1) for _ in range(draw(st.integers(0, 2)))) if depth else ""
        return f"<testsuite name={quoteattr(draw(TEXTS))}><properties/>{cases}{suites}</testsuite>"

    return f"<testsuites>{suite(2)}{suite(1)}</testsuites>"


def by_junitparser(content: bytes) -> dict[str, tuple[str, str, int, float]]:
    """Each test's outcome, message, attempts and seconds."""
    root: Any = xunit2.JUnitXml.fromstring(content)
    found: dict[str, tuple[str, str, int, float]] = {}
    suites: list[Any] = list(root) if isinstance(root, xunit2.JUnitXml) else [root]
    for suite in suites:
        for case in suite:
            outcome, message = "passed", ""
            for kind, name in reversed(OUTCOMES):
                results = [result for result in case.result if isinstance(result, kind)]
                if results:
                    outcome, message = name, results[0].message or ""
            found[case.name] = (outcome, message, len(case.interim_result), case.time or 0.0)
    return found


@pytest.mark.usefixtures("no_triage")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents())
def test_reader_and_junitparser_agree(tmp_path_factory: pytest.TempPathFactory, document: str) -> None:
    path = tmp_path_factory.mktemp("junit") / "h100.xml"
    content = document.encode("utf-8")
    path.write_bytes(content)
    cells = read_junit(path, device="h100", evidence=Evidence.NATIVE).cells
    found = {
        test.rpartition("::")[2]: (cell.outcome.value, cell.message, cell.reruns, cell.duration)
        for test, cell in cells.items()
    }
    told = by_junitparser(content)
    assert {name: (told[0], told[2], told[3]) for name, told in found.items()} == {
        name: (told[0], told[2], told[3]) for name, told in told.items()
    }
    for name, (_, message, _, _) in told.items():
        assert found[name][1] == message or not message  # where there is none, the text has one


@pytest.mark.parametrize("path", sorted(DATA.glob("h200/*/*.xml")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_they_agree_on_what_a_real_gpu_left(path: Path) -> None:
    device, evidence, _ = path.name.split(".")
    cells = read_junit(path, device=device, evidence=Evidence(evidence)).cells
    root: Any = xunit2.JUnitXml.fromstring(path.read_bytes())
    told = {}
    for case in (case for suite in root for case in suite):
        properties = {item.name: item.value for item in case.properties()}
        told[properties["gpumatrix_nodeid"]] = (
            properties["gpumatrix_outcome"],
            properties.get("gpumatrix_requirement"),
        )
    assert {test: (cell.outcome.value, cell.requirement) for test, cell in cells.items()} == told
