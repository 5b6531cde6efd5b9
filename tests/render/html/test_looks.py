"""How the page looks: narrow and wide, light and dark, in print, with few tests and with ten thousand."""

from __future__ import annotations

import pytest

from tests.render.html.large import large
from tests.render.html.reader import PHONE, RED, Open, focused, lines
from tests.verdict.runs import plan, run, verdict


@pytest.mark.parametrize(
    "view",
    [
        "",
        "#view=all",
        "#view=red&test=tests%2Fattention%2Ftest_flash.py%3A%3Atest_forward%5B1x128x4x64-causal%5D&on=a100",
    ],
)
def test_on_a_phone_nothing_scrolls_sideways(show: Open, view: str) -> None:
    page = show(hash=view, viewport=PHONE, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    names = page.locator(".head .device")
    assert all(names.nth(n).bounding_box()["height"] > 15 for n in range(names.count()))  # type: ignore[index]
    cells = [page.locator(".cell").nth(n).bounding_box() for n in range(6)]
    assert all(box is not None and box["width"] >= 24 and box["x"] + box["width"] <= 360 for box in cells)


def test_on_a_phone_the_panel_is_a_sheet_below_its_cell(show: Open) -> None:
    page = show(viewport=PHONE, is_mobile=True, has_touch=True)
    page.locator(RED).first.tap()
    sheet, opened = page.locator("#panel").bounding_box(), page.locator(".cell.is-open").bounding_box()
    assert sheet is not None
    assert opened is not None
    assert (sheet["x"], sheet["width"]) == (0, 360)
    assert 0 < opened["y"] < sheet["y"]


def test_many_devices_scroll_within_the_matrix_alone(show: Open) -> None:
    names = [f"device-{n}" for n in range(40)]
    many = verdict(plan(), run({name: {"t.py::a": "failed", "t.py::b": "passed"} for name in names}))
    page = show(many)
    width = "[document.documentElement.scrollWidth <= innerWidth, byId('scroller').scrollWidth > innerWidth]"
    assert page.evaluate(width.replace("byId", "document.getElementById.bind(document)")) == [True, True]
    page.keyboard.press("n")
    page.keyboard.press("End")
    assert focused(page).startswith("device-9")  # the last by name
    page.wait_for_function("document.getElementById('heads').scrollLeft > 0")


CONTRAST = """() => {
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => rgb.slice(0, 3).map((c) => linear(c / 255))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const numbers = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith("color(srgb") ? [...found.slice(0, 3).map((part) => part * 255), ...found.slice(3)] : found;
  };
  const grounds = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor, backgroundImage } = getComputedStyle(at);
      const stops = [...backgroundImage.matchAll(/rgb\\([^)]*\\)/g)].map(([stop]) => numbers(stop));
      if (stops.length) return stops;
      const ground = numbers(backgroundColor);
      if (ground.length < 4 || ground[3] === 1) return [ground];
    }
    return [[255, 255, 255]];
  };
  const found = {};
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("script, style, noscript")) continue;
    const text = luminance(numbers(getComputedStyle(element).color));
    for (const ground of grounds(element)) {
      const [high, low] = [text, luminance(ground)].sort((one, other) => other - one);
      const contrast = (high + 0.05) / (low + 0.05);
      if (contrast < 4.5) found[`${element.outerHTML.slice(0, 60)}: ${element.textContent.slice(0, 20)}`] = contrast;
    }
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_of_aa(show: Open, scheme: str) -> None:
    page = show(hash="#view=all", color_scheme=scheme)
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)  # the panel comes in
    assert page.evaluate(CONTRAST) == {}
    page.get_by_role("button", name="Numeric drift").click()
    page.evaluate("document.getElementById('matrix').scrollIntoView()")
    page.wait_for_timeout(100)
    assert page.evaluate(CONTRAST) == {}


def test_light_and_dark_follow_the_system_and_the_button(show: Open) -> None:
    page = show(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.locator("#theme").click()
    light = page.evaluate(ground)
    assert dark != light
    page.locator("#theme").click()
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_motion_is_reduced_where_asked_for(show: Open) -> None:
    page = show(reduced_motion="reduce")
    page.locator(RED).first.click()
    assert page.evaluate("getComputedStyle(document.getElementById('panel')).animationName") == "none"


def test_in_print_the_lines_are_there(show: Open) -> None:
    page = show(large(2_000, 3), hash="#view=all")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#bar").is_hidden()
    assert page.locator(".line").count() >= 400
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".line").count() < 100


def test_ten_thousand_tests_keep_few_elements(show: Open) -> None:
    page = show(large(10_000, 8), hash="#view=all")
    assert page.inner_text("#shown") == "10,000 tests"
    for place in (0.0, 0.3, 0.99, 0.5):
        page.evaluate(f"scrollTo(0, {place} * document.documentElement.scrollHeight)")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert 0 < page.locator(".line").count() < 80
        assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    assert page.evaluate("performance.getEntriesByName('interactive').length") == 1


def test_the_strip_shows_all_tests_and_leads_to_them(show: Open) -> None:
    page = show(large(3_000, 4), hash="#view=all")
    page.evaluate("document.getElementById('matrix').scrollIntoView()")
    page.wait_for_timeout(200)
    box = page.locator("#strip-canvas").bounding_box()
    assert box is not None
    ink = """() => { const c = document.getElementById("strip-canvas");
      const seen = new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer));
      return seen.size; }"""
    assert page.evaluate(ink) > 3
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
    page.wait_for_timeout(200)
    names = lines(page)
    assert any(f"test_case_{n}[" in name for name in names for n in range(2_600, 2_800))


def test_few_tests_need_no_strip(show: Open) -> None:
    page = show(verdict(plan("h100"), run({"h100": {"t.py::a": "passed"}})))
    assert page.locator("#strip").is_hidden()
    assert page.inner_text("#answer") == "No: no test newly fails on h100."


def test_many_kinds_of_red_fold_and_long_names_do_not_overlap(show: Open) -> None:
    names = [f"device-{n}-of-a-long-name" for n in range(30)]
    head = {
        name: {f"t.py::{n}": "failed" if name == other else "passed" for n, other in enumerate(names)} for name in names
    }
    base = {name: {f"t.py::{n}": "passed" for n in range(30)} for name in names}
    page = show(verdict(plan(), run(head), run(base)), viewport=PHONE, is_mobile=True, has_touch=True)
    assert page.locator("#red .block:visible").count() == 6
    page.get_by_text("and 14 more kinds").tap()
    assert page.locator("#red .block:visible").count() == 20
    assert page.get_by_text("10 more kinds not listed").is_visible()
    widths = [page.locator(".head .device").nth(n).bounding_box()["width"] for n in range(8)]  # type: ignore[index]
    assert max(widths) < 28


def test_a_failure_without_a_baseline_is_not_drawn_as_new(show: Open) -> None:
    page = show(verdict(plan("h100"), run({"h100": {"t.py::a": "failed"}})))
    assert (
        page.locator('.cell[data-change="failing"]').evaluate("e => getComputedStyle(e, '::after').content") == "none"
    )
    assert "newly bad" not in page.inner_text("#legend")


def test_a_file_known_by_emulation_alone_has_no_green_dot(show: Open) -> None:
    page = show(verdict(plan("h100"), run({"h100": {"t.py::a": "passed"}, "rtx3090:emulated": {"t.py::a": "passed"}})))
    colour = "e => getComputedStyle(e, '::before').backgroundColor"
    native, posed = (page.locator(".sum").nth(n) for n in range(2))
    assert native.evaluate(colour) != posed.evaluate(colour)
    assert posed.get_attribute("aria-label") == "rtx3090: passed, but not natively"


def test_without_tests_no_filter_is_blamed(show: Open) -> None:
    assert show(verdict(plan("h100"), run({}))).inner_text("#empty") == "No test has been run."
