"""The hostile corpus in a real browser: it injects no element, runs no script, asks for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult, TrendPoint
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.triage.cause import Action, Category, Cause
from pytest_gpumatrix.verdict.verdict import DriftRow, MetricRow, Verdict
from tests.render.hostile import TEXTS
from tests.render.html.reader import Open
from tests.verdict.runs import cell, expectation, plan, run, verdict

# Every element that the page may have, and no attribute that runs or loads something.
INJECTED = """() => {
  const ours = new Set(`html head meta link title style body noscript div a header span svg path polyline button main
    section footer aside dialog script p h1 h2 h3 b strong ul ol li details summary table thead tbody tr th td code pre
    dl dt dd figure figcaption fieldset legend label input output canvas kbd`.split(/\\s+/));
  const found = [];
  for (const element of document.querySelectorAll("*")) {
    if (!ours.has(element.localName)) found.push(element.localName);
    for (const { name, value } of element.attributes) {
      if (/^on|^src$|^srcdoc$|^action$|^formaction$/.test(name)) found.push(`${element.localName} ${name}`);
      if (name === "href" && value !== "#matrix" && element.localName !== "link") found.push(`href ${value}`);
    }
  }
  return found;
}"""


def hostile_verdict() -> Verdict:
    """Each text in each place that a verdict has for one."""
    config = plan("h100", "rtx3090", expectations=tuple(expectation(text, "h100") for text in TEXTS if text.strip()))
    failing = {f"tests/{n}.py::{text}": hostile_cell(text) for n, text in enumerate(TEXTS)}
    alone = {text: cell(text, "failed", message=text) for text in TEXTS if text}
    head = run(
        {"h100": {**failing, **alone}, "rtx3090": dict.fromkeys([*failing, *alone], "passed"), TEXTS[4]: alone},
        broken={text: text for text in TEXTS[:20]},
    )
    found = verdict(config, head, run({"h100": dict.fromkeys([*failing, *alone], "passed")}))
    return replace(
        found,
        refused={text: text for text in TEXTS},
        base_refused={text: text for text in TEXTS},
        notes=TEXTS,
        metrics=tuple(metric(test, text) for test, text in zip(failing, TEXTS, strict=True)),
        drift=tuple(drift(test, text) for test, text in zip(failing, TEXTS, strict=True)),
        contradictions=tuple(contradiction(test, text) for test, text in zip(failing, TEXTS, strict=True)),
        history={test: {"h100": history(text)} for test, text in zip(failing, TEXTS, strict=True)},
    )


def hostile_cell(text: str) -> Cell:
    cause = Cause(
        category=Category.ARCH_FEATURE,
        action=Action.SKIP,
        advice=text,
        rule=text,
        evidence=f"{text} ",
        reason=text,
        note=text,
    )
    return Cell(
        test=text,
        outcome=Outcome.FAILED,
        evidence=Evidence.NATIVE,
        message=f"{text}!",
        details=text,
        cause=cause,
        requirement=text,
        metrics=(Metric(name=text, value=1, unit=text),),
        place=Place(file=text, line=1),
        slow=(text,),
    )


def metric(test: str, text: str) -> MetricRow:
    return MetricRow(
        test=test,
        device="h100",
        name=text,
        unit=text,
        better="lower",
        base=1,
        head=float("nan"),
        base_repeats=1,
        head_repeats=1,
        threshold=0.1,
        noise=0,
        worse=True,
        red=True,
        reproduce=("pytest",),
    )


def drift(test: str, text: str) -> DriftRow:
    return DriftRow(
        test=test,
        name=text,
        unit=text,
        values={"h100": 1, text: float("inf")},
        reference="h100",
        apart=(text,),
        tolerance=text,
        before=None,
        red=False,
    )


def contradiction(test: str, text: str) -> Contradiction:
    results = ((text, Outcome.PASSED), (text, Outcome.FAILED))
    return Contradiction(test=test, device="h100", evidence=Evidence.NATIVE, results=results)


def history(text: str) -> CellHistory:
    past = PastResult(commit=text, time=float("inf"), outcome=Outcome.FAILED)
    return CellHistory(
        results=(past,), failing_since=past, flakes=1, trends={text: (TrendPoint(commit=text, value=float("nan")),)}
    )


def test_the_corpus_everywhere_injects_nothing(show: Open) -> None:
    page = show(hostile_verdict(), hash="#view=all")
    assert page.evaluate(INJECTED) == []
    names = page.evaluate("Number(document.getElementById('grid').getAttribute('aria-rowcount'))")
    assert names > 100
    for opener in page.locator(".opener").all():
        opener.click()
        assert page.evaluate(INJECTED) == []
    page.locator("#text").fill("script")
    page.keyboard.press("Escape")
    page.locator("#text").evaluate("e => e.blur()")
    for _ in range(len(TEXTS)):  # each red cell with all that it has to tell
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        assert page.evaluate(INJECTED) == []
        assert page.locator("#panel h2").count() == 1
        page.locator("#panel").evaluate("e => e.querySelector('.close').focus()")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(INJECTED) == []
    assert page.evaluate("Object.prototype.polluted === undefined && window.name === ''")


@pytest.mark.parametrize("mode", [{"java_script_enabled": False}, {"viewport": {"width": 360, "height": 760}}])
def test_nor_without_scripts_or_on_a_phone(show: Open, mode: dict[str, object]) -> None:
    page = show(hostile_verdict(), **mode)
    assert page.evaluate(INJECTED) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "address",
    [
        "#text=<img src=x onerror=alert(1)>",
        "#test=__proto__&on=constructor",
        "#view=constructor",
        "#view=__proto__&cause=<script>",
        "#%",
        "#test=%23999999999",
        "#test=%23-1&on=h100",
        "#device=__proto__&change=toString",
    ],
)
def test_an_address_is_hostile_too(show: Open, address: str) -> None:
    page = show(hash=address)
    assert page.evaluate(INJECTED) == []
    assert page.locator("#answer").is_visible()
    assert page.evaluate("performance.getEntriesByName('interactive').length") == 1


def test_no_sink_takes_text_as_markup(show: Open, complaints: list[str]) -> None:
    """The policy would stop a mistake in the page's own script as well."""
    page = show()
    stopped = (
        """(() => { try { document.body.innerHTML = "<b>x</b>"; return "set"; } catch (e) { return e.name; } })()"""
    )
    assert page.evaluate(stopped) in ("TypeError", "EvalError")
    assert page.locator("#app").count() == 1
    assert "TrustedHTML" in complaints.pop()
