"""What a step of a workflow tells its runner: outputs, the job summary, and which lines of its log are only text.

The files and commands are those of "Workflow commands for GitHub Actions" (docs.github.com).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError


def write_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Add outputs of the step. GpuMatrixError where no runner listens."""
    _append(environ, "GITHUB_OUTPUT", "".join(format_output(name, value) for name, value in outputs.items()))


def write_summary(environ: Mapping[str, str], markdown: str) -> None:
    """Add to the job summary. GpuMatrixError where no runner listens."""
    _append(environ, "GITHUB_STEP_SUMMARY", markdown)


def format_output(name: str, value: str) -> str:
    """One output. A value has any lines it likes; none of them can end it, as nobody can guess the delimiter."""
    delimiter = _delimiter()
    while delimiter in value:
        delimiter = _delimiter()
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def stop_commands() -> str:
    """From here on the step's log is text to the runner, even where a line looks like a workflow command.

    The runner goes on obeying when it reads the token that is returned; the next step begins anew.
    Both streams must be one (``2>&1``): the runner promises no order between two.
    """
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    return token


def obey_commands(token: str) -> None:
    """The runner obeys workflow commands again. For a step that prints none but its own."""
    print(f"::{token}::", flush=True)


def _delimiter() -> str:
    return f"gpumatrix-{secrets.token_hex(16)}"


def _append(environ: Mapping[str, str], variable: str, text: str) -> None:
    name = environ.get(variable)
    if not name:
        raise GpuMatrixError(f"{variable} is not set: this is for a step of a GitHub workflow, which has it")
    with Path(name).open("a", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
