"""What a reader of the page does and sees, for its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]  # the fixture ``show``
FLASH = "test_forward[1x128x4x64-causal]"
RED = ".cell[data-red]"
PHONE = {"width": 360, "height": 760}


def focused(page: Page) -> str:
    """What has the focus, as a screen reader would say it."""
    found = page.evaluate(
        "(() => { const at = document.activeElement; return at.getAttribute('aria-label') ?? at.textContent; })()"
    )
    return " ".join(str(found).split())


def lines(page: Page) -> list[str]:
    """The names of the tests in sight and around it."""
    return page.locator(".line:not(.file) .name .label").all_text_contents()
