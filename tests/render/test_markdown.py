"""A report as Markdown: what it says, its size, and that nothing in it is more than text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.render.markdown import render_markdown
from pytest_gpumatrix.render.markdown_code import code
from pytest_gpumatrix.triage.cause import Category
from tests.verdict.runs import cell, expectation, plan, run, verdict

HOSTILE = [
    "a|b",
    "``` `x",
    "`",
    "<script>alert(1)</script>",
    "<!-- x",
    "@org/team and @user",
    "#1 and org/repo#2",
    "a\n\n# title\r\n",
    "\u202egnp.exe",
    "[x](javascript:alert(1)) ![y](http://a/b.png)",
    "\\",
    "a\\",
    "&lt;b&gt;",
    "::error::x",
    "www.example.com http://example.com a@example.com",
    "$x$ :tada: **b** __c__ ~~d~~",
    "x" * 100_000,
]


def spans_removed(text: str) -> str:
    """The Markdown without its code spans, as CommonMark finds them: a run of backticks to the next of its length."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def neutral(text: str) -> None:
    for line in text.splitlines():
        left = spans_removed(line)
        assert not re.search(r"[`<@#\\]|https?:|www\.", left.removeprefix("###").removeprefix("##")), line
    assert not re.search(r"[@#<][^\s\u2060#]", text.replace("##", "")), "fires for a reader without code spans"
    categories = {unicodedata.category(char) for char in set(text) - {"\n", "\u2060"}}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


@example("`")
@example("a`b``c")
@given(st.text())
def test_a_code_span_holds_whatever_it_is_given(text: str) -> None:
    span = code(text)
    assert "\n" not in span
    assert "|" not in span
    assert spans_removed(span) == ""
    assert not re.search(r"[@#<](?!\u2060)", span)
    span.encode("utf-8")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_messages_devices_and_reasons_stay_text(name: str) -> None:
    config = plan("h100", "rtx3090", expectations=(expectation(name, "h100"),))
    head = run(
        {
            "h100": {
                f"{name}1": cell(f"{name}1", "failed", message=name, cause=Category.DEVICE_OOM),
                f"{name}2": cell(f"{name}2", "skipped", message=name),
            },
            "rtx3090": {f"{name}2": cell(f"{name}2", "skipped", message=name)},
            "lab": {f"{name}3": "passed"},
        },
        broken={"cpu": name},
    )
    neutral(render_markdown(verdict(config, head)))
    base = run({"h100": {f"{name}1": "failed"}})
    neutral(render_markdown(verdict(plan("h100"), head, base)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4, unique=True), st.text(max_size=100))
def test_random_names_stay_text(tests: list[str], message: str) -> None:
    cells = {test: cell(test, "failed" if n else "unknown", message=message) for n, test in enumerate(tests)}
    neutral(render_markdown(verdict(plan("h100", "rtx3090"), run({"h100": cells}))))


def test_every_row_of_a_table_has_its_columns() -> None:
    cells = {f"{name}{n}": "failed" for n, name in enumerate(HOSTILE)}
    text = render_markdown(verdict(plan("h100", "rtx3090"), run({"h100": cells, "rtx3090": cells})))
    counts = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert counts == [6] * 4 + [4] * (2 + len(HOSTILE))


def test_a_whole_report() -> None:
    base = run({"h100": {"t.py::a": "passed"}, "rtx3090": {"t.py::a": "passed"}})
    failed = cell("t.py::a", "failed", message="off by 3", cause=Category.GENUINE_FAILURE)
    found = verdict(plan("h100", "rtx3090"), run({"h100": {"t.py::a": failed}, "rtx3090": {"t.py::a": "passed"}}), base)
    assert (
        render_markdown(found)
        == """\
## ❌ gpumatrix: regression

**Did this change break a device?** Yes: tests newly fail on `h100`.

`regression: 1 new-failure (Hopper only)`

| device | capability | evidence | required | results |
| --- | --- | --- | --- | --- |
| `h100` | 9.0 | native | native | ✗ 1 failed |
| `rtx3090` | 8.6 | native | native | ✓ 1 passed |

### Red

- **new-failure** `Hopper only`: `t.py::a`
  - `h100`: failed (native) `off by 3`
    - genuine_failure → skip (confidence high): `do this`
    - decided by `the line`
  - `pytest --gpu-matrix --gpu-devices=h100 t.py::a`

### Tests that differ, fail or changed

0 more differ, fail or changed; 0 are alike on every device.

✓ passed, ✗ failed

| test | `h100` | `rtx3090` |
| --- | --- | --- |
| `t.py::a` | ✗ | ✓ |
"""
    )


def test_what_is_slow_is_marked_and_told() -> None:
    spills = "scale`|: spills 8 B"
    head = run(
        {
            "h100": {"a": "passed"},
            "rtx3090:compiled": {"a": cell("a", "compiled", "compiled", slow=(spills,))},
            "l40s:compiled": {"a": cell("a", "compiled", "compiled", slow=(spills,)), "b": "not-run"},
        }
    )
    text = render_markdown(verdict(plan("h100", "rtx3090", "l40s"), head))
    assert "| `a` | ✓ | ⚙↓ | ⚙↓ |" in text
    assert "✓ passed, ⚙ compiled, ↓ slow there, · not run" in text
    told = "- ``scale`\N{DIVIDES}: spills 8 B`` on `rtx3090` (tests: 1), `l40s` (tests: 1), in `a`\n"
    assert f"### Slow\n\n{told}" in text
    neutral(text)


@pytest.mark.parametrize("largest", [1024, 5_000, 65_535, 1024 * 1024])
def test_it_stays_within_its_size_and_says_what_it_cut(largest: int) -> None:
    cells = {f"tests/test_{n}.py::test[é{'x' * 200}]": cell("t", "failed", message="m" * 400) for n in range(3000)}
    text = render_markdown(verdict(plan("h100"), run({"h100": cells})), largest=largest)
    assert len(text.encode()) <= largest
    assert text.startswith("## ❌ gpumatrix: regression\n")
    cut = re.search(r"Cut to fit [\d,]+ bytes: .*?([\d,]+) of 3,000 red lines", text)
    assert cut
    assert int(cut[1].replace(",", "")) + text.count("- **failing**") == 3000


def test_alike_is_not_said_of_a_device_without_a_cell() -> None:
    head = run({"h100": {"a": "passed", "b": "passed", "c": "failed"}, "rtx3090": {"a": "passed"}})
    text = render_markdown(verdict(plan("h100", "rtx3090"), head))
    assert "; 1 are alike on every device. 1 are alike where they have a result: some device has none.\n" in text
