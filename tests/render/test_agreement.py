"""All renderers say the same of one verdict."""

from __future__ import annotations

import json
import re

from hypothesis import HealthCheck, given, settings

from pytest_gpumatrix.render.answer import QUESTION, answer
from pytest_gpumatrix.render.html.data import page_data
from pytest_gpumatrix.render.html.grid import every_test
from pytest_gpumatrix.render.html.page import render_html
from pytest_gpumatrix.render.markdown import render_markdown
from pytest_gpumatrix.render.markdown_code import code
from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.render.terminal import render_report
from pytest_gpumatrix.render.text import clean, fit
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import Conclusion, Verdict
from tests.render.verdicts import verdicts

WIDE = 100_000  # columns: nothing is cut


def red_tests(verdict: Verdict) -> set[str]:
    red = {row.test for row in verdict.changes if row.red} | {row.test for row in verdict.never_run if row.red}
    return red | {row.test for row in verdict.metrics if row.red} | {row.test for row in verdict.drift if row.red}


def red_in_markdown(text: str) -> set[str]:
    """The tests of the red lines, and of those that never run, as code spans."""
    red = re.search(r"^### Red\n\n(.*?)(?=\n### |\Z)", text, re.MULTILINE | re.DOTALL)
    never = re.search(r"^### Never run\n\n(.*?)(?=\n### |\Z)", text, re.MULTILINE | re.DOTALL)
    lines = [line for part in (red, never) if part for line in part[1].splitlines() if line.startswith("- ")]
    return {line for line in lines if not line.startswith("- **stale-expectation**")}


def red_in_page(data: dict[str, object]) -> set[int]:
    """The rows that have a red cell or a red tag."""
    cells, kinds, tags = data["cells"], data["kinds"], data["tags"]
    assert isinstance(cells, list)
    assert isinstance(kinds, list)
    assert isinstance(tags, list)
    width = len(data["devices"])  # type: ignore[arg-type]
    found = {place // width for place, kind in enumerate(cells) if kinds[kind]["red"]}
    return found | {row for row, _, red in tags if red}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(verdicts())
def test_terminal_markdown_json_and_page_name_the_same_red_tests(found: Verdict) -> None:
    red = red_tests(found)
    data = page_data(found, title="x")
    assert len(data["tests"]) == len(every_test(found))
    assert len(red_in_page(data)) == len(red)

    report = json.loads(render_json(found))
    lists = ("changes", "metrics", "drift", "never_run")
    assert {row["test"] for name in lists for row in report[name] if row["red"]} == red

    markdown = red_in_markdown(render_markdown(found))
    spans = {code(test) for test in red}
    assert all(any(span in line for line in markdown) for span in spans)
    idle = [row for row in found.never_run if not row.red]
    rows = [row for part in (found.changes, found.metrics, found.drift, found.never_run) for row in part if row.red]
    assert len(markdown) <= len(rows) + len(idle)

    lines = render_report(found, width=WIDE).splitlines()
    assert all(fit(clean(test), WIDE, keep_end=True) in lines for test in red)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(verdicts())
def test_conclusion_and_answer_are_the_same_in_all(found: Verdict) -> None:
    word, said = found.conclusion.value, answer(found).word
    changes = {row.change for row in found.changes}
    if said == "No":
        assert found.conclusion is not Conclusion.INCOMPLETE
        assert not changes & {Change.NEW_FAILURE, Change.NEW_TEST_FAILING, Change.FAILING, Change.UNKNOWN}
    if said == "Yes" and found.conclusion is not Conclusion.REGRESSION:
        assert answer(found).after.endswith("which fail-on does not make red")
    assert render_report(found, width=WIDE).splitlines()[1].startswith(f"{QUESTION} {said}")
    markdown = render_markdown(found)
    assert markdown.splitlines()[0].endswith(f"gpumatrix: {word}")
    assert f"**{QUESTION}** {said}" in markdown
    page = render_html(found)
    assert f"<h1>{word}</h1>" in page
    assert f"<strong>{QUESTION}</strong> {said}" in page
    data = page_data(found, title="x")
    assert (data["conclusion"], data["headline"], data["answer"]["word"]) == (word, clean(headline(found)), said)
