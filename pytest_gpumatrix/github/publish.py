"""A verdict -> what a workflow shows of it: the job summary, the step's outputs and the JSON report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_gpumatrix.github.step import write_outputs, write_summary
from pytest_gpumatrix.render.markdown import LARGEST, render_markdown
from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import Verdict

_MARGIN = 1024  # bytes left free of the job summary


def publish(verdict: Verdict, environ: Mapping[str, str]) -> None:
    """Write the job summary, the JSON report and the outputs verdict, headline and json."""
    write_summary(environ, render_markdown(verdict, largest=LARGEST - _MARGIN))
    folder = Path(tempfile.mkdtemp(prefix="gpumatrix-report-", dir=environ.get("RUNNER_TEMP") or None))
    report = folder / "report.json"
    report.write_text(render_json(verdict), encoding="ascii")
    outputs = {"verdict": verdict.conclusion.value, "headline": headline(verdict), "json": str(report)}
    write_outputs(environ, outputs)
