"""The page as a file: its policy, its parts, its size, and that data is nothing but data."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.render.html import page as page_module
from pytest_gpumatrix.render.html.data import page_data
from pytest_gpumatrix.render.html.page import render_html
from pytest_gpumatrix.render.html.room import Full, Room, Table, dump, figure
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.hostile import TEXTS
from tests.render.html.sample import sample
from tests.render.verdicts import verdicts
from tests.verdict.runs import cell, plan, run, verdict

PARTS = Path(page_module.__file__).parent / "page"
SCRIPTS = sorted(PARTS.glob("*.js"))


class Elements(HTMLParser):
    """Start tags in their order, and the text of the scripts and the style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self._within = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append("")

            self._within = True

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser calls it so
        self._within = False

    def handle_data(self, data: str) -> None:
        if self._within:
            self.raw[-1] += data


def test_every_part_is_used_and_within_reach_of_a_reader() -> None:
    used = {*page_module._STYLES, *page_module._SCRIPTS, "page.html"}
    assert used == {path.name for path in PARTS.iterdir()}
    assert all(len(path.read_text(encoding="utf-8").splitlines()) <= 250 for path in PARTS.iterdir())


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    sinks = r"(inner|outer|set|parse|Adjacent)HTML|document\.write|\beval\b|new Function|srcdoc|DOMParser"
    loads = (
        r"\bfetch\b|XMLHttpRequest|WebSocket|EventSource|sendBeacon|\bimport\b|importScripts|new Image|\bWorker\b|http"
    )
    allowed = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(sinks, allowed)
    assert not re.search(loads, allowed)
    assert "</" not in text
    assert "<!--" not in text


@pytest.mark.parametrize("path", sorted(PARTS.glob("*.css")), ids=lambda path: path.name)
def test_no_style_loads_anything(path: Path) -> None:
    assert not re.search(r"url\(|@import|@font-face|</", path.read_text(encoding="utf-8"))


def test_the_policy_allows_this_style_this_script_and_nothing_else() -> None:
    elements = Elements(render_html(sample()))
    (policy,) = (
        attributes["content"]
        for tag, attributes in elements.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    style, _, script = elements.raw
    assert policy is not None
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
    assert rules["script-src"] == f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    assert (rules["base-uri"], rules["form-action"], rules["img-src"]) == ("'none'", "'none'", "data:")
    assert "unsafe" not in policy


def embedded(text: str) -> object:
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert not re.search("[<>&\u2028\u2029]", data)
    return json.loads(data)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_texts_add_no_element(text: str) -> None:
    def page(name: str) -> str:
        failed = cell(f"t.py::{name}", "failed", message=name, details=name)
        head = run({"h100": {f"t.py::{name}": failed}}, broken={name: name})
        return render_html(verdict(plan("h100"), head), title=name)

    hostile, tame = page(text), page("x")
    hostile.encode("utf-8")
    assert [tag for tag, _ in Elements(hostile).tags] == [tag for tag, _ in Elements(tame).tags]
    assert embedded(hostile)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(verdicts())
def test_whatever_the_verdict_the_data_is_json_and_the_page_utf8(found: Verdict) -> None:
    text = render_html(found)
    text.encode("utf-8")
    data = embedded(text)
    assert isinstance(data, dict)
    assert data == json.loads(json.dumps(page_data(found, title="gpumatrix")))
    width = len(data["devices"])
    assert len(data["cells"]) == len(data["tests"]) * width == len(data["seconds"])
    assert all(0 <= kind < len(data["kinds"]) for kind in data["cells"])
    assert sum(count for _, count in data["files"]) == len(data["tests"])
    shown = html.unescape(re.sub("<[^>]*>", "", text.split("<noscript>")[1].split("</noscript>")[0]))
    assert not set(shown) & set("\u202e\u200b\x00\x1b")


@given(st.text())
def test_dumped_text_comes_back_and_ends_no_script(text: str) -> None:
    dumped = dump({"x": text})
    assert json.loads(dumped) == {"x": text}
    assert not set(dumped) & set("<>&\u2028\u2029")


def test_a_number_that_is_not_finite_is_a_word() -> None:
    assert [figure(value) for value in (float("nan"), float("-inf"), 1 / 3)] == ["nan", "-inf", 0.333333]


def test_what_does_not_fit_is_refused_whole() -> None:
    room = Room(10)
    table = Table(room)
    assert (table.index("abc"), table.index("abc"), room.left) == (0, 0, 4)
    with pytest.raises(Full):
        table.index("abcd")
    assert table.values == ["abc"]


@pytest.fixture(scope="module")
def wordy() -> Verdict:
    """300 red tests whose texts grow when they are written, and 2,000 good ones."""
    message = "<&漢\u2028" * 300
    cells = {
        f"t.py::{n}{'<' * 1_000}": cell("t", "failed", message=f"{n}{message}", details=message) for n in range(300)
    }
    return verdict(plan("h100"), run({"h100": {**cells, **{f"u.py::{n}": "passed" for n in range(2_000)}}}))


@pytest.mark.parametrize("largest", [20_000, 200_000, 2_000_000])
def test_the_size_is_bounded_and_what_was_cut_is_said(wordy: Verdict, largest: int) -> None:
    data = page_data(wordy, title="x", largest=largest)
    empty = page_data(verdict(plan("h100"), run({})), title="x", largest=largest)
    assert len(dump(data).encode()) <= largest + 2 * len(dump(empty))
    red = [name for name in data["tests"] if "<" in name]
    assert red
    assert len(red) == len(data["tests"]) or len(red) == 300  # what is alike everywhere comes last
    cut = " ".join(data["cut"])
    assert (f"{2_300 - len(data['tests']):,} tests" in cut) == (len(data["tests"]) < 2_300)
    assert len(data["details"]) + sum(int(n.replace(",", "")) for n in re.findall(r"of ([\d,]+) cells", cut)) == len(
        red
    )


def test_what_is_worth_a_look_is_kept_before_the_rest() -> None:
    cells = {f"t.py::{n:04}": "failed" if n == 3_999 else "passed" for n in range(4_000)}
    data = page_data(verdict(plan("h100"), run({"h100": cells})), title="x", largest=40_000)
    assert "3999" in data["tests"]
    assert data["ranks"] == [[data["tests"].index("3999"), 0]]
