"""The page by keyboard, by filter and by address."""

from __future__ import annotations

import pytest

from tests.render.html.reader import FLASH, RED, Open, focused, lines


def test_the_keyboard_reaches_everything(show: Open) -> None:
    page = show()
    page.keyboard.press("n")
    assert focused(page) == "a100, failed, new-failure, red, arch_feature"
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "h200, passed"
    page.keyboard.press("Home")
    assert focused(page) == FLASH
    page.keyboard.press("End")
    assert focused(page).startswith("b200")
    page.keyboard.press("Control+Home")
    assert "tests/attention/test_flash.py" in focused(page)
    page.keyboard.press("ArrowUp")
    assert focused(page) == "Fold all"
    page.keyboard.press("ArrowRight")
    assert focused(page).startswith("h100")
    page.keyboard.press("Enter")
    assert focused(page) == "h100"
    assert "9.0" in page.inner_text("#panel")
    page.keyboard.press("Escape")
    assert focused(page).startswith("h100")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("PageDown")
    page.keyboard.press("Control+End")
    assert page.evaluate("document.activeElement.closest('.line').ariaRowIndex") == page.get_attribute(
        "#grid", "aria-rowcount"
    )
    page.keyboard.press("p")
    assert "red" in focused(page)


def test_enter_opens_and_escape_goes_back_to_the_cell(show: Open) -> None:
    page = show()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    assert FLASH in focused(page)
    page.keyboard.press("n")
    assert "2x512x8x64-causal" in page.inner_text("#panel-title")
    page.locator("#panel .close").focus()
    page.keyboard.press("Escape")
    assert focused(page) == "a100, failed, new-failure, red, arch_feature"


def test_the_open_panel_follows_the_arrow_keys(show: Open) -> None:
    page = show()
    page.locator(RED).first.click()
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#panel .state strong") == "h200"


def test_a_file_folds_by_key(show: Open) -> None:
    page = show()
    page.keyboard.press("n")
    page.keyboard.press("Control+Home")
    assert FLASH in lines(page)
    page.keyboard.press("Enter")
    assert FLASH not in lines(page)
    assert page.get_attribute(":focus", "aria-expanded") == "false"
    page.keyboard.press("Enter")
    assert FLASH in lines(page)


def test_help_and_filter_have_keys(show: Open) -> None:
    page = show()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()
    page.keyboard.press("/")
    page.keyboard.type("np?/")
    assert page.input_value("#text") == "np?/"
    assert page.locator("#empty").is_visible()
    page.keyboard.press("Escape")
    assert page.input_value("#text") == ""


def test_one_cell_of_the_matrix_can_be_tabbed_to(show: Open) -> None:
    page = show()
    for _ in range(3):
        assert page.locator("#grid [tabindex='0']").count() == 1
        page.keyboard.press("n")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("#view=red", 9),
        ("#view=red&cause=arch_feature", 4),
        ("#view=all&cause=arch_feature&outcome=failed", 5),
        ("#view=changed&change=flaky", 1),
        ("#view=changed&change=coverage-lost", 1),
        ("#view=all&change=metric", 2),
        ("#view=all&text=descriptor%20801", 4),
        ("#view=all&text=DESCRIPTOR+2x512", 1),
        ("#view=all&device=l40s&outcome=failed", 1),
        ("#view=all&evidence=emulated&outcome=xfailed", 0),
        ("#view=all&scope=at+least+Hopper+only", 6),
        ("#view=no-such-view", 69),
        ("#view=constructor", 69),
        ("#view=all&cause=no-such-cause&device=none", 0),
    ],
)
def test_filters_by_address(show: Open, address: str, shown: int) -> None:
    page = show(hash=address)
    assert page.inner_text("#shown") == f"{shown} test" + ("" if shown == 1 else "s")


def test_filters_by_hand_and_the_link_that_opens_the_same_view(show: Open) -> None:
    page = show()
    page.get_by_role("radio", name="Red").check(force=True)
    page.locator('[data-facet="cause"] summary').click()
    page.get_by_role("checkbox", name="numeric_mismatch").check()
    page.keyboard.press("Escape")
    page.locator('[data-facet="device"] summary').click()
    page.locator('[data-facet="device"]').get_by_role("checkbox", name="h200").check()
    page.locator("#text").fill("cuda-bfloat16-sm_90")
    page.locator(RED).first.click()
    wanted = (page.inner_text("#shown"), lines(page), page.locator(".head .device").all_inner_texts())
    assert wanted[2] == ["h200"]
    link = page.evaluate("location.hash")
    again = show(hash=link)
    shown = (again.inner_text("#shown"), lines(again), again.locator(".head .device").all_inner_texts())
    assert shown == wanted
    assert again.inner_text("#panel-title") == page.inner_text("#panel-title")
    again.locator("#clear").click()
    assert again.inner_text("#shown") == "9 tests"


def test_a_red_block_filters_the_matrix(show: Open) -> None:
    page = show()
    page.get_by_text("5 tests in the matrix").click()
    assert page.inner_text("#shown") == "5 tests"
    assert page.evaluate("document.activeElement.closest('#lines') !== null")
