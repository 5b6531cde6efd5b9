"""A report through GitHub's own CommonMark parser: hostile texts stay text, and tables keep their columns."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.render.answer import QUESTION
from pytest_gpumatrix.render.markdown import LARGEST_CHECK, LARGEST_COMMENT, render_markdown
from pytest_gpumatrix.render.markdown_code import code
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.hostile import TEXTS
from tests.render.verdicts import verdicts
from tests.verdict.runs import cell, expectation, plan, run, verdict

cmarkgfm = pytest.importorskip("cmarkgfm")
OURS = {"h2", "h3", "p", "strong", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"}
# What GitHub makes a mention, a reference, a link, an emoji or a formula of, where it is not code.
FIRES = re.compile(r"[@#]\w|\bGH-\d|\b[0-9a-f]{7,40}\b|https?:|www\.|\S@\S|:\w+:|\$|~~|\[\^|^\s*[-*] \[[ x]\]")
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


class Parsed(HTMLParser):
    """The tags of a document, its text outside of code, and its tables as counts of cells."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.plain = ""
        self.code: list[str] = []
        self.rows: list[int] = []
        self._in_code = False
        options = cmarkgfm.Options.CMARK_OPT_UNSAFE  # raw HTML would come through, so that the test sees it
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag if not attrs else f"{tag} {attrs}")
        self._in_code |= tag == "code"
        if tag == "code":
            self.code.append("")
        elif tag == "tr":
            self.rows.append(0)
        elif tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        self._in_code &= tag != "code"

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code[-1] += data
        else:
            self.plain += data

    def handle_comment(self, data: str) -> None:
        self.tags.add(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.tags.add(f"<!{decl}>")


def nothing_but_text(markdown: str) -> Parsed:
    parsed = Parsed(markdown)
    assert parsed.tags <= OURS
    assert not FIRES.search(parsed.plain), FIRES.search(parsed.plain)
    for line in markdown.splitlines():
        assert not re.match(r"\s*(::|##\[)", line), "a workflow command"
    return parsed


def hostile_verdict(text: str) -> Verdict:
    config = plan("h100", "rtx3090", expectations=(expectation(text or "x", "h100"),))
    failed = cell(f"{text}1", "failed", message=text, details=text, cause=Category.DEVICE_OOM)
    head = run(
        {
            "h100": {f"{text}1": failed, f"{text}2": cell(f"{text}2", "skipped", message=text)},
            "rtx3090": {f"{text}2": cell(f"{text}2", "skipped", message=text)},
            "lab": {f"{text}3": "passed", f"t.py::x[{text}]": "failed"},
        },
        broken={"cpu": text},
    )
    return verdict(config, head, run({"h100": {f"{text}1": "passed"}}))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_texts_stay_text(text: str) -> None:
    parsed = nothing_but_text(render_markdown(hostile_verdict(text)))
    devices = 3
    assert set(parsed.rows) == {5, devices + 1}
    assert parsed.rows.count(5) == devices + 1


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(verdicts())
def test_random_hostile_verdicts_stay_text(found: Verdict) -> None:
    parsed = nothing_but_text(render_markdown(found))
    assert set(parsed.rows) <= {5, len(found.devices) + 1}


@example("`")
@example("a`b``c")
@example("x" * 299 + "`")
@given(st.text() | st.sampled_from(TEXTS))
def test_a_code_span_is_one_code_span(text: str) -> None:
    span = code(text)
    parsed = Parsed(f"- {span} and **{span}** {span}\n\n| a | b |\n| --- | --- |\n| {span} | x |\n")
    assert len(parsed.code) == (4 if span else 0)
    assert len(set(parsed.code)) <= 1
    assert parsed.rows == [2, 2]
    assert parsed.tags <= OURS


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(verdicts(), st.sampled_from([0, LARGEST_CHECK, LARGEST_COMMENT]) | st.integers(1024, 20_000))
def test_every_size_holds_and_what_was_cut_is_said(found: Verdict, largest: int) -> None:
    whole, text = render_markdown(found), render_markdown(found, largest=largest)
    assert len(text.encode()) <= max(largest, 1024)
    assert text.startswith(f"## {whole.split()[1]} gpumatrix: {found.conclusion.value}\n\n**{QUESTION}** ")
    cut = re.search(r"^Cut to fit ([\d,]+) bytes: .+\. The JSON report has them\.$", text, re.MULTILINE)
    reds = (
        len(re.findall("^- ", whole.split("### Red")[-1].split("\n### ")[0], re.MULTILINE)) if "### Red" in whole else 0
    )
    kept = (
        len(re.findall("^- ", text.split("### Red")[-1].split("\n### ")[0], re.MULTILINE)) if "### Red" in text else 0
    )
    gone = re.search(r"([\d,]+) of [\d,]+ red lines", text)
    assert kept + (int(gone[1]) if gone else 0) == reds
    assert (cut is None) == (len(text) >= len(whole))
    nothing_but_text(text)


@pytest.mark.parametrize("largest", [1024, 4_000, LARGEST_COMMENT, LARGEST_CHECK])
@pytest.mark.parametrize("text", ["<" * 300, "漢" * 300, "\U000e0041" * 300, "`" * 300])
def test_texts_that_grow_when_they_are_shown_fit_as_well(text: str, largest: int) -> None:
    cells = {f"{text}{n}": cell("t", "failed", message=text, cause=Category.DEVICE_OOM) for n in range(300)}
    rendered = render_markdown(verdict(plan("h100"), run({"h100": cells, text: cells})), largest=largest)
    assert len(rendered.encode()) <= largest
    assert f"**{QUESTION}** " in rendered
    nothing_but_text(rendered)
