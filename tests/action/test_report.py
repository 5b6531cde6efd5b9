"""The report's step: summary, outputs and exit code, from files that may be hostile."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.github.inputs import report_arguments
from pytest_gpumatrix.render.markdown import LARGEST
from tests.action.runner import Step

MATRIX = """\
version: 1
devices:
  h100:    {profile: h100-sxm, runs-on: gpu}
  rtx3090: {profile: rtx-3090, runs-on: gpu}
"""
INPUTS = {"results": "results", "base": "", "config": "gpumatrix.yml", "history": ""}
DEVICES = ("h100", "rtx3090")


def results(folder: Path, device: str, *, failing: tuple[str, ...] = (), names: tuple[str, ...] = ("test_a",)) -> None:
    """What a leg uploaded: a folder per artifact."""
    cases = ""
    for name in (*names, *failing):
        body = f'<failure message="{html.escape(name)}">no</failure>' if name in failing else ""
        cases += f'<testcase classname="tests.test_it" name="{html.escape(name)}" time="1">{body}</testcase>'
    artifact = folder / f"gpumatrix-{device}"
    artifact.mkdir(parents=True)
    (artifact / f"{device}.native.xml").write_text(
        f'<testsuites><testsuite name="pytest">{cases}</testsuite></testsuites>'
    )


@pytest.fixture
def report(step: Step) -> Step:
    """A checked-out gpumatrix.yml and no results yet."""
    (step.folder / "gpumatrix.yml").write_text(MATRIX)
    step.inputs = dict(INPUTS)
    return step


def test_ok(report: Step) -> None:
    for device in DEVICES:
        results(report.folder / "results", device)
    done = report.run("report")
    assert done.returncode == 0, done.stdout
    assert report.outputs["verdict"] == "ok"
    assert report.outputs["headline"].startswith("ok: ")
    assert report.summary.startswith("## ")
    assert report.outputs["headline"] in report.summary
    assert report.outputs["headline"] in done.stdout


def test_a_regression_against_the_base(report: Step) -> None:
    for device in DEVICES:
        results(report.folder / "base", device, names=("test_a", "test_b"))
    results(report.folder / "results", "h100", failing=("test_b",))
    results(report.folder / "results", "rtx3090", names=("test_a", "test_b"))
    done = report.run("report", base="base")
    assert done.returncode == 1, done.stdout
    assert report.outputs["verdict"] == "regression"
    shown = json.loads(Path(report.outputs["json"]).read_text())
    (change,) = shown["changes"]
    assert (change["change"], change["scope"]) == ("new-failure", "Hopper only")
    assert change["test"].endswith("test_b")
    assert "test_b" in report.summary


def test_a_missing_device_is_a_failure(report: Step) -> None:
    results(report.folder / "results", "h100")
    done = report.run("report")
    assert done.returncode == 3
    assert report.outputs["verdict"] == "incomplete"
    assert "rtx3090 missing" in report.outputs["headline"]


def test_no_device_uploaded_anything(report: Step) -> None:
    done = report.run("report")  # download-artifact makes no folder then
    assert done.returncode == 3
    assert "h100, rtx3090 missing" in report.outputs["headline"]


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({"config": "other.yml"}, "other.yml: no such file in"),
        ({"config": ""}, "the input 'config' is empty"),
        ({"results": " "}, "the input 'results' is empty"),
        ({"base": "not-here"}, "not-here: no such folder"),
    ],
)
def test_a_wrong_input_is_named_and_sets_no_verdict(report: Step, inputs: dict[str, str], complaint: str) -> None:
    done = report.run("report", **inputs)
    assert done.returncode == 2
    assert complaint in done.stdout
    assert report.outputs == {}


def test_what_is_in_the_checkout_is_not_imported(report: Step) -> None:
    for name in ("pytest_gpumatrix.py", "json.py", "yaml.py", "msgspec.py"):
        (report.folder / name).write_text("raise SystemExit('pwned')")
    results(report.folder / "results", "h100")
    assert report.run("report").returncode == 3


def test_a_folder_is_never_an_option(tmp_path: Path) -> None:
    config = tmp_path / "gpumatrix.yml"
    config.touch()
    environ = {
        "GPUMATRIX_RESULTS": str(tmp_path / "--help"),
        "GPUMATRIX_BASE": "--version",
        "GPUMATRIX_CONFIG": str(config),
    }
    assert report_arguments(environ)[2:] == [f"--config={config}", "--base=--version", "--", str(tmp_path / "--help")]


def test_hostile_names_command_nothing(report: Step) -> None:
    hostile = (
        "test_a[\n::error::pwned]",
        "test_b[##[set-output name=verdict;]ok]",
        "test_c[verdict<<EOF\nok\nEOF]",
        "test_d[`</code><script>alert(1)</script>@everyone #1 | x]",
    )
    for device in DEVICES:
        results(report.folder / "results", device, failing=hostile)
    done = report.run("report")
    assert done.returncode == 1
    assert report.outputs.keys() == {"verdict", "headline", "json", "html", "sarif"}
    assert report.outputs["verdict"] == "regression"
    assert "\n" not in report.outputs["headline"]
    text, commands = told_to_the_runner(done.stdout)
    assert "pwned" in "\n".join(text)
    assert {line.partition(" ")[0] for line in commands} == {"::error"}
    assert len(commands) == len(hostile)
    assert not [line for line in commands if "##[" in line]
    assert "\n::error" not in report.summary


def told_to_the_runner(log: str) -> tuple[list[str], list[str]]:
    """The lines of a log that are text to the runner, and those that it obeys."""
    text: list[str] = []
    obeyed: list[str] = []
    token = None
    for line in log.splitlines():
        if token is not None:
            text.append(line)
            token = None if line == f"::{token}::" else token
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        else:
            obeyed.append(line)
    assert token is not None  # what may come after the report is text as well
    return text, obeyed


def test_failures_are_annotations_at_their_places_and_nothing_else_is_obeyed(report: Step) -> None:
    for device in DEVICES:
        results(report.folder / "results", device, failing=tuple(f"test_{number}" for number in range(14)))
    done = report.run("report")
    text, commands = told_to_the_runner(done.stdout)
    assert text[0].startswith("regression: ")
    assert [line.partition(" ")[0] for line in commands] == ["::error"] * 10 + ["::notice"]
    assert commands[-1].startswith("::notice title=4 more findings::")


def test_an_error_is_text(report: Step) -> None:
    (report.folder / "##[set-output name=verdict;]ok").mkdir()
    done = report.run("report", results="##[set-output name=verdict;]ok", base="none")
    assert done.returncode == 2
    text, commands = told_to_the_runner(done.stdout)
    assert "gpumatrix: error: --base none: no such folder" in text[-1]
    assert commands == []


def test_the_page_and_the_findings_are_files(report: Step) -> None:
    for device in DEVICES:
        results(report.folder / "results", device, failing=("test_b",))
    report.run("report")
    assert "test_b" in Path(report.outputs["html"]).read_text(encoding="utf-8")
    assert json.loads(Path(report.outputs["sarif"]).read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert len({Path(report.outputs[name]).parent for name in ("json", "html", "sarif")}) == 1


@pytest.mark.parametrize(
    ("environ", "arguments"),
    [
        ({}, []),
        ({"GITHUB_REF_NAME": "main"}, []),
        ({"GPUMATRIX_HISTORY": "h.sqlite"}, ["--history=h.sqlite"]),
        (
            {"GPUMATRIX_HISTORY": " h.sqlite ", "GITHUB_REF_NAME": "main", "GITHUB_BASE_REF": ""},
            ["--history=h.sqlite", "--history-branch=main"],
        ),
        (
            {"GPUMATRIX_HISTORY": "h.sqlite", "GITHUB_REF_NAME": "7/merge", "GITHUB_BASE_REF": "main"},
            ["--history=h.sqlite", "--history-branch=main", "--history-read-only"],
        ),
        (
            {"GPUMATRIX_HISTORY": "h.sqlite", "GITHUB_REF_NAME": "main", "GITHUB_EVENT_NAME": "workflow_run"},
            ["--history=h.sqlite", "--history-branch=main", "--history-read-only"],
        ),
    ],
)
def test_a_pull_request_reads_the_history_of_its_target(
    tmp_path: Path, environ: dict[str, str], arguments: list[str]
) -> None:
    (tmp_path / "gpumatrix.yml").touch()
    given = {"GPUMATRIX_RESULTS": str(tmp_path), "GPUMATRIX_CONFIG": str(tmp_path / "gpumatrix.yml"), **environ}
    assert report_arguments(given)[3:-2] == arguments


def test_the_summary_fits_however_much_there_is(report: Step) -> None:
    names = tuple(f"test_{number:05}[{'x' * 200}]" for number in range(6000))
    for device in DEVICES:
        results(report.folder / "results", device, failing=names, names=())
    done = report.run("report")
    assert done.returncode == 1, done.stdout
    size = len(report.summary.encode())
    assert LARGEST // 2 < size < LARGEST
    assert "Cut to fit" in report.summary
    assert len(json.loads(Path(report.outputs["json"]).read_text())["changes"]) == len(names)


def test_two_reports_of_one_job_keep_their_files(report: Step) -> None:
    results(report.folder / "results", "h100")
    report.run("report")
    one = report.outputs["json"]
    report.run("report")
    assert report.outputs["json"] != one
    assert Path(one).is_file()


def test_outside_of_a_workflow_there_is_nothing_to_write_to(tmp_path: Path) -> None:
    environ = {"GPUMATRIX_RESULTS": str(tmp_path), "GPUMATRIX_CONFIG": str(tmp_path / "gpumatrix.yml")}
    with pytest.raises(GpuMatrixError, match="no such file"):
        report_arguments(environ)
