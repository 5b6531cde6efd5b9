"""The inputs of the three actions. They come as GPUMATRIX_* variables, so that no shell ever reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError

_WORDS = {"true": True, "false": False}


def read(environ: Mapping[str, str], name: str) -> str:
    """The input ``name``, "" where it is left out; ``pytest-args`` is GPUMATRIX_PYTEST_ARGS."""
    return environ.get(f"GPUMATRIX_{name.upper().replace('-', '_')}", "")


def required(environ: Mapping[str, str], name: str) -> str:
    """The same for an input that must be given; a composite action's ``required: true`` refuses nothing."""
    value = read(environ, name).strip()
    if not value:
        raise GpuMatrixError(f"the input {name!r} is empty; give it under `with:`")
    return value


def flag(environ: Mapping[str, str], name: str) -> bool:
    """An input that is "true" or "false"."""
    value = required(environ, name)
    if value not in _WORDS:
        raise GpuMatrixError(f"the input {name!r} is {value!r}; write true or false")
    return _WORDS[value]


def plan_arguments(environ: Mapping[str, str]) -> list[str]:
    """The command that plan/action.yml stands for."""
    return ["plan", "--format=github", f"--config={_config(environ)}"]


def report_arguments(environ: Mapping[str, str]) -> list[str]:
    """The command that report/action.yml stands for. A folder that is not there holds no device's results."""
    head = Path(required(environ, "results"))
    head.mkdir(parents=True, exist_ok=True)  # what download-artifact leaves where no device uploaded anything
    arguments = ["report", "--format=github", f"--config={_config(environ)}"]
    if base := read(environ, "base").strip():
        arguments.append(f"--base={base}")
    if history := read(environ, "history").strip():
        arguments += [f"--history={history}", *_branch(environ)]
    return [*arguments, "--", str(head)]


def _branch(environ: Mapping[str, str]) -> list[str]:
    """Whose history counts: the branch's, or that of the one a pull request would go to, which it must not change.

    The results of a ``workflow_run`` are of the workflow that it followed, which may be that of a pull request.
    """
    if base := environ.get("GITHUB_BASE_REF"):  # set in the runs of pull requests alone
        return [f"--history-branch={base}", "--history-read-only"]
    branch = environ.get("GITHUB_REF_NAME")
    shown = [f"--history-branch={branch}"] if branch else []
    return [*shown, "--history-read-only"] if environ.get("GITHUB_EVENT_NAME") == "workflow_run" else shown


def _config(environ: Mapping[str, str]) -> str:
    """The file that says which devices to expect: without it none could be missing, so it must be there."""
    name = required(environ, "config")
    if not Path(name).is_file():
        raise GpuMatrixError(
            f"{name}: no such file in {Path.cwd()}; check the repository out in a step before this one, "
            "or name the file by the input 'config'"
        )
    return name
