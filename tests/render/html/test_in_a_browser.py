"""What the page says in a real browser."""

from __future__ import annotations

from tests.render.html.reader import FLASH, RED, Open
from tests.render.html.sample import sample
from tests.verdict.runs import cell, plan, run, verdict


def test_the_answer_stands_first_and_what_is_red_below_it(show: Open) -> None:
    page = show()
    assert page.inner_text("#answer") == "Yes: tests newly fail on a100, h100, h200."
    assert "b200" in page.inner_text(".notices")
    blocks = page.locator(".block").all_inner_texts()
    assert len(blocks) == 2
    assert any("Hopper only" in text and "numeric_mismatch" in text and "5 tests" in text for text in blocks)


def test_every_cell_says_outcome_evidence_and_change_in_words_and_not_by_colour_alone(show: Open) -> None:
    page = show(hash="#view=all")
    red = page.locator(RED).first
    assert red.get_attribute("aria-label") == "a100, failed, new-failure, red, arch_feature"
    assert red.inner_text() == "✗"
    posed = page.locator('.cell[data-evidence="emulated"][data-look="posed"]').first
    assert (posed.inner_text(), posed.get_attribute("aria-label")) == ("≈", "rtx3090, passed (emulated)")
    assert "repeating-linear-gradient" in posed.evaluate("e => getComputedStyle(e).backgroundImage")
    compiled = page.locator('.cell[data-look="fits"]').first
    assert compiled.inner_text().startswith("⚙")
    assert compiled.evaluate("e => getComputedStyle(e).boxShadow").startswith("rgb")


def test_a_cell_opens_its_message_cause_command_and_history(show: Open) -> None:
    page = show()
    page.locator(RED).first.click()
    text = page.inner_text("#panel")
    for part in (FLASH, "new-failure", "Failed to initialize the TMA descriptor 801", "the text demands 9.0", "skip"):
        assert part in text
    assert "Fails since" in text
    assert "tma-below-hopper" in text
    assert page.locator("#panel .command code").inner_text().startswith("pytest --gpu-matrix --gpu-devices=a100 ")
    assert page.locator("#panel svg.trend").get_attribute("aria-label").startswith("throughput: ")  # type: ignore[union-attr]
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


def test_the_command_is_copied(show: Open) -> None:
    page = show(permissions=["clipboard-read", "clipboard-write"])
    page.locator(RED).first.click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("#panel .command code")


def test_a_metric_is_shown_against_its_base(show: Open) -> None:
    page = show()
    page.get_by_role("button", name="Metrics").click()
    assert "588.2 -> 497.1 TFLOP/s, -15.5%, worse" in page.inner_text("#table")
    page.locator("#table").get_by_role("button").first.click()
    assert "-15.5% worse" in page.inner_text("#panel")


def test_without_scripts_the_answer_and_the_red_lines_are_there(show: Open) -> None:
    page = show(java_script_enabled=False)
    text = page.inner_text("noscript")
    assert "Yes: tests newly fail on a100, h100, h200." in text
    assert FLASH in text
    assert page.locator("#app").is_hidden()


def test_a_page_without_any_result_says_so(show: Open) -> None:
    page = show(verdict(plan("h100"), run({})))
    assert page.inner_text("#answer").startswith("Not known")
    assert page.locator("#empty").is_visible()


def test_a_test_that_is_gone_and_one_that_never_ran_have_their_rows(show: Open) -> None:
    head = run({"h100": {"t.py::idle": cell("t.py::idle", "skipped", message="no reason"), "t.py::ok": "passed"}})
    page = show(verdict(plan("h100"), head, run({"h100": {"t.py::gone": "passed"}})))
    text = page.inner_text("#lines")
    assert "gone" in text
    assert "never-run" in text
    assert page.locator('.cell[data-change="removed"]').count() == 1


def test_the_sample_is_what_the_pictures_show() -> None:
    assert sample().exit_code == 1
