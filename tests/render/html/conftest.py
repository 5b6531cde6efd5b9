"""A page opened in Chromium, which must stay silent: no error, no dialog, no request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpumatrix.render.html.page import render_html
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.html import chromium
from tests.render.html.reader import Open
from tests.render.html.sample import sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if reason := chromium.why_not():
        pytest.skip(reason)
    with chromium.opened() as found:
        yield found


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """Errors, dialogs and requests of the pages; what is left in it at the end fails the test."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
def show(browser: Browser, tmp_path: Path, complaints: list[str]) -> Iterator[Open]:
    """``show(verdict, hash="", **context)``: the page of a verdict."""
    contexts = []
    file = tmp_path / "report.html"
    own = file.as_uri()

    def listen(page: Page) -> None:
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("popup", lambda popup: complaints.append(f"popup: {popup.url}"))
        page.on("request", lambda request: complaints.append(f"request: {request.url}") if request.url != own else None)

    def open_page(verdict: Verdict | None = None, *, hash: str = "", **context: Any) -> Page:  # noqa: A002 - as in JS
        file.write_text(render_html(verdict or sample(), title="example/project"), encoding="utf-8")
        made = browser.new_context(viewport=context.pop("viewport", {"width": 1280, "height": 800}), **context)
        made.set_default_timeout(10_000)
        contexts.append(made)
        page = made.new_page()
        listen(page)
        page.goto(own + hash)
        return page

    yield open_page
    for made in contexts:
        made.close()
