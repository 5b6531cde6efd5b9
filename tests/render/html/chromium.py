"""A real Chromium, driven by Playwright: Debian's, or one that is already installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def why_not() -> str | None:
    """Why no page can be opened here, or None."""
    try:
        import playwright  # noqa: F401 - whether it is here is the question
    except ImportError:
        return "playwright is not installed (pip install -e '.[dev]')"
    return None if executable() else "no Chromium found (apt-get install chromium, or name one in GPUMATRIX_CHROMIUM)"


def executable() -> str | None:
    """The browser's path."""
    named = os.environ.get("GPUMATRIX_CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def opened() -> Iterator[Browser]:
    """The browser, closed in the end. Its sandbox does not work for root, who runs tests in a container."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()
