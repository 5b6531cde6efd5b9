"""The formats of ``gpumatrix report``, and the files that it is asked to write beside its output."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.commands.output import terminal_style

if TYPE_CHECKING:
    from pytest_gpumatrix.verdict.verdict import Verdict

FORMATS = ("terminal", "markdown", "json", "html", "annotations", "sarif")


def written(text: str) -> tuple[str, Path]:
    """ "html=report.html" -> the format and the file."""
    name, equals, file = text.partition("=")
    if name not in FORMATS or not equals or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not FORMAT=FILE; the formats are {', '.join(FORMATS)}")
    return name, Path(file)


def render(verdict: Verdict, form: str, output: Path | None, *, head: Path) -> str:
    """The report in a format; ``output`` is the file that it is for, None for the screen; ``head`` has the results."""
    match form:
        case "json":
            from pytest_gpumatrix.render.report_json import render_json

            return render_json(verdict)
        case "markdown":
            from pytest_gpumatrix.render.markdown import render_markdown

            return render_markdown(verdict)
        case "html":
            from pytest_gpumatrix.github.title import report_title
            from pytest_gpumatrix.render.html.page import render_html

            return render_html(verdict, title=report_title(os.environ, head))
        case "annotations":
            from pytest_gpumatrix.render.workflow_commands import render_workflow_commands

            return render_workflow_commands(verdict)
        case "sarif":
            from pytest_gpumatrix.render.sarif import render_sarif

            return render_sarif(verdict)
        case _:
            from pytest_gpumatrix.render.terminal import render_report

            return render_report(verdict, **terminal_style(output))
