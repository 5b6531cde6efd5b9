"""How soon the HTML report answers: 10,000 tests on 8 devices in Chromium, beside one HTML table of the same cells.

Both pages set a mark when they can be used: ours when its first rows, filters and keys are there, the table when the
browser has laid it out. Rounds are interleaved, each in a fresh context; the figures are milliseconds since navigation
began, medians, and the ratio within each pair.

    python -m benchmarks.report_page [--tests 10000] [--devices 8] [--rounds 7] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.render.html.page import render_html
from pytest_gpumatrix.render.marks import UNICODE
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.html import chromium
from tests.render.html.large import large

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_READY = "performance.getEntriesByName('interactive')[0]?.startTime ?? 0"


def main() -> int:
    """Measure, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved pairs (default 7)")
    parser.add_argument("--output", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    if reason := chromium.why_not():
        sys.exit(reason)
    verdict = large(arguments.tests, arguments.devices)
    begun = time.perf_counter()
    page = render_html(verdict)
    figures: dict[str, object] = {
        "tests": arguments.tests,
        "devices": arguments.devices,
        "bytes": len(page.encode()),
        "render_seconds": round(time.perf_counter() - begun, 3),
    }
    with tempfile.TemporaryDirectory() as folder, chromium.opened() as browser:
        pages = {"page": Path(folder) / "page.html", "table": Path(folder) / "table.html"}
        pages["page"].write_text(page, encoding="utf-8")
        pages["table"].write_text(plain_table(verdict), encoding="utf-8")
        rounds = [{name: opened(browser, path) for name, path in pages.items()} for _ in range(arguments.rounds + 1)]
    figures |= summary(rounds[1:])  # the first warms up
    print(json.dumps(figures, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def plain_table(verdict: Verdict) -> str:
    """All cells as one table: what a report without a script is."""
    names = [item.device.name for item in verdict.devices]
    rows = []
    for test, row in verdict.matrix.cells.items():
        cells = "".join(f"<td>{UNICODE.of(row[name].cell)}</td>" for name in names if name in row)
        rows.append(f"<tr><th>{escape(test)}</th>{cells}</tr>")
    ready = "<script>document.body.offsetHeight; performance.mark('interactive')</script>"
    return f"<!doctype html><meta charset=utf-8><body><table>{''.join(rows)}</table>{ready}"


def opened(browser: Browser, path: Path) -> float:
    """Milliseconds from the start of navigation to the mark."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    found = float(page.evaluate(_READY))
    context.close()
    return found


def summary(rounds: list[dict[str, float]]) -> dict[str, object]:
    """Medians, and the ratio of each pair."""
    ratios = [pair["page"] / pair["table"] for pair in rounds]
    return {
        "page_ms": round(statistics.median(pair["page"] for pair in rounds)),
        "table_ms": round(statistics.median(pair["table"] for pair in rounds)),
        "ratio": round(statistics.median(ratios), 3),
        "worst_page_ms": round(max(pair["page"] for pair in rounds)),
    }


if __name__ == "__main__":
    sys.exit(main())
