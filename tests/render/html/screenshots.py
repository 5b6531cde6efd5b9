"""Remakes the pictures of docs/report-page.md: ``python -m tests.render.html.screenshots [FOLDER]``.

Fonts are those of the machine; with Inter and JetBrains Mono they look as they do in docs/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_gpumatrix.render.html.page import render_html
from tests.render.html import chromium
from tests.render.html.sample import sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DOCS = Path(__file__).parents[3] / "docs"
WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 1000}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 760},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}


def main(folder: Path) -> None:
    """Write the three pictures."""
    if reason := chromium.why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as scratch, chromium.opened() as browser:
        page = Path(scratch) / "report.html"
        page.write_text(render_html(sample(), title="example/trainer #128"), encoding="utf-8")
        take(browser, page, folder / "report-light.png", color_scheme="light", **WIDE)
        take(browser, page, folder / "report-dark.png", open_red=True, color_scheme="dark", **WIDE)
        take(browser, page, folder / "report-phone.png", open_red=True, color_scheme="light", **PHONE)


def take(browser: Browser, report: Path, picture: Path, *, open_red: bool = False, **context: Any) -> None:
    """One picture, of the first red cell opened where asked for."""
    made = browser.new_context(reduced_motion="reduce", **context)
    page = made.new_page()
    page.goto(report.as_uri())
    if open_red:
        show_red(page)
    page.wait_for_timeout(300)
    page.screenshot(path=picture)
    made.close()
    print(picture)


def show_red(page: Page) -> None:
    """As a reader would: the next red cell, opened."""
    page.keyboard.press("n")
    page.keyboard.press("Enter")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
