"""One HTML file: the verdict's data, a style and a script, and a policy that lets nothing else load or run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from importlib import resources
from string import Template

from pytest_gpumatrix.render.answer import QUESTION, answer
from pytest_gpumatrix.render.html.data import LARGEST, page_data
from pytest_gpumatrix.render.html.details import cut
from pytest_gpumatrix.render.html.room import dump
from pytest_gpumatrix.render.html.sections import notices_of
from pytest_gpumatrix.render.moved import drift_words, metric_words
from pytest_gpumatrix.render.text import clean
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import ChangeRow, Conclusion, Verdict

_STYLES = ("colours.css", "page.css", "matrix.css", "panel.css")
# One module, in this order: each file uses what those before it define.
_SCRIPTS = (
    "model.js",
    "dom.js",
    "filters.js",
    "matrix.js",
    "heads.js",
    "keys.js",
    "strip.js",
    "figures.js",
    "panel.js",
    "bar.js",
    "summary.js",
    "legend.js",
    "main.js",
)
_MOST_PLAIN = 200  # red lines for a reader without scripts
_LONGEST = 300
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="{colour}"/></svg>'
)
_COLOURS = {Conclusion.OK: "#1a7f37", Conclusion.REGRESSION: "#cf222e", Conclusion.INCOMPLETE: "#9a6700"}


def render_html(verdict: Verdict, *, title: str = "gpumatrix", largest: int = LARGEST) -> str:
    """The page. ``title`` says whose report it is; ``largest`` bounds what grows with the results, in bytes.

    What did not fit is said at the end of the page.
    """
    style, script = _joined(_STYLES), _joined(_SCRIPTS)
    icon = _ICON.format(colour=_COLOURS[verdict.conclusion])
    return Template(_read("page.html")).substitute(
        policy=escape(_policy(style, script)),
        icon=f"data:image/svg+xml;base64,{base64.b64encode(icon.encode()).decode()}",
        title=escape(f"{verdict.conclusion.value}: {clean(title)}"),
        style=style,
        plain="\n".join(_plain(verdict)),
        data=dump(page_data(verdict, title=title, largest=largest)),
        script=script,
    )


def _joined(names: tuple[str, ...]) -> str:
    return "\n" + "\n".join(_read(name).strip() for name in names) + "\n"


def _read(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Content-Security-Policy: this style, this script, the icon; no sink that would parse text as markup."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _plain(verdict: Verdict) -> Iterator[str]:
    """The report for a reader without scripts: the answer, what is red, and what keeps it from knowing."""
    found = answer(verdict)
    sentence = f"{found.word}: {found.before}{', '.join(map(clean, found.devices))}{found.after}"
    yield f"<h1>{escape(verdict.conclusion.value)}</h1>"
    yield f"<p><strong>{QUESTION}</strong> {escape(sentence)}.</p>"
    yield f"<p>{escape(clean(headline(verdict)))}</p>"
    yield from _plain_list("Red", list(_plain_red(verdict)))
    yield from _plain_list("Not known", list(_plain_gaps(verdict)))
    yield "<p>The matrix, its filters and the details of each cell need JavaScript.</p>"


def _plain_list(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"<h2>{title}</h2>"
    yield "<ul>"
    yield from (f"<li>{escape(line)}</li>" for line in lines[:_MOST_PLAIN])
    yield "</ul>"
    if len(lines) > _MOST_PLAIN:
        yield f"<p>and {len(lines) - _MOST_PLAIN:,} more.</p>"


def _plain_red(verdict: Verdict) -> Iterator[str]:
    yield from (_plain_change(row) for row in verdict.changes if row.red)
    for moved in verdict.metrics:
        if moved.red:
            where = f"metric {_short(moved.name)} on {_short(moved.device)}"
            yield f"{_short(moved.test)}: {where}: {_short(metric_words(moved))}"
    for drift in verdict.drift:
        if drift.red:
            yield f"{_short(drift.test)}: numeric-drift {_short(drift.name)}: {_short(drift_words(drift))}"
    yield from (f"{_short(row.test)}: never run" for row in verdict.never_run if row.red)
    for stale in verdict.stale:
        if stale.red:
            yield f"{_short(stale.expectation.place)}: stale-expectation: {_short(stale.reason)}"


def _plain_gaps(verdict: Verdict) -> Iterator[str]:
    yield from (": ".join(filter(None, line)) for line in notices_of(verdict))
    yield from (_plain_change(row) for row in verdict.changes if row.change is Change.UNKNOWN and not row.red)


def _plain_change(row: ChangeRow) -> str:
    cells = [(name, part.cell) for name, part in row.devices.items() if part.cell]
    message = next((f": {_short(cell.message)}" for _, cell in cells if cell.message), "")
    return f"{_short(row.test)}: {row.change.value}, {_short(row.scope)}{message}"


def _short(text: str) -> str:
    return clean(cut(text, _LONGEST))
