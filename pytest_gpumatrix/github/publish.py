"""A verdict -> what a workflow shows of it: the job summary, the step's outputs, and the report as files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_gpumatrix.github.step import write_outputs, write_summary
from pytest_gpumatrix.github.title import report_title
from pytest_gpumatrix.render.html.page import render_html
from pytest_gpumatrix.render.markdown import LARGEST, render_markdown
from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.render.sarif import render_sarif
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import Verdict

_MARGIN = 1024  # bytes left free of the job summary


def publish(verdict: Verdict, environ: Mapping[str, str]) -> None:
    """Write the job summary, the report as JSON, HTML and SARIF, and the outputs that action.yml names."""
    write_summary(environ, render_markdown(verdict, largest=LARGEST - _MARGIN))
    folder = Path(tempfile.mkdtemp(prefix="gpumatrix-report-", dir=environ.get("RUNNER_TEMP") or None))
    files = {
        "json": render_json(verdict),
        "html": render_html(verdict, title=report_title(environ)),
        "sarif": render_sarif(verdict),
    }
    outputs = {"verdict": verdict.conclusion.value, "headline": headline(verdict)}
    for name, text in files.items():
        path = folder / f"report.{name}"
        path.write_text(text, encoding="utf-8", errors="replace")
        outputs[name] = str(path)
    write_outputs(environ, outputs)
