"""gpumatrix.yml -> jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.load import load_config
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.github.plan import MOST_JOBS, make_plan
from tests.action.runner import Step

GOOD = """\
version: 1
devices:
  h100:    {profile: h100-sxm, runs-on: [self-hosted, linux, h100]}
  rtx3090: {profile: rtx-3090, runs-on: gpu-3090, require: emulated}
  b200:    {profile: b200, runs-on: {group: big, labels: [b200]}, require: compiled}
"""
INCLUDE = [
    {"device": "h100", "runs-on": ["self-hosted", "linux", "h100"], "native": True},
    {"device": "rtx3090", "runs-on": "gpu-3090", "native": False},
    {"device": "b200", "runs-on": {"group": "big", "labels": ["b200"]}, "native": False},
]


def config(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "gpumatrix.yml"
    path.write_text(text)
    return load_config(path)


def many(number: int) -> str:
    return "version: 1\ndevices:\n" + "".join(
        f"  d{index}: {{profile: h100-sxm, runs-on: gpu}}\n" for index in range(number)
    )


def test_a_job_per_device_in_the_order_of_the_file(tmp_path: Path) -> None:
    plan = make_plan(config(tmp_path, GOOD))
    assert plan.matrix == {"include": INCLUDE}
    assert plan.devices == ("h100", "rtx3090", "b200")


def test_outputs_are_json_of_one_line(tmp_path: Path) -> None:
    outputs = make_plan(config(tmp_path, GOOD.replace("gpu-3090", '"label \\n \\u2028 x"'))).outputs()
    assert {name: len(value.splitlines()) for name, value in outputs.items()} == {"matrix": 1, "devices": 1}
    assert json.loads(outputs["matrix"])["include"][1]["runs-on"] == "label \n \u2028 x"
    assert json.loads(outputs["devices"]) == ["h100", "rtx3090", "b200"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "version: 1\ndevices: {}\n",
            "gpumatrix.yml has no devices, so there is nothing to run; write one under",
        ),
        (many(MOST_JOBS + 1), "has 257 devices, and a workflow's matrix at most 256 jobs; split it into two files"),
        (
            "version: 1\ndevices:\n  h100: {profile: h100-sxm}\n",
            "gpumatrix.yml: device 'h100' names no runner; add runs-on: [self-hosted, h100]",
        ),
    ],
    ids=["none", "too many", "no runner"],
)
def test_what_is_no_matrix_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(GpuMatrixError) as error:
        make_plan(config(tmp_path, text))
    assert complaint in str(error.value)


def test_as_many_as_a_matrix_may_have(tmp_path: Path) -> None:
    assert len(make_plan(config(tmp_path, many(MOST_JOBS))).jobs) == MOST_JOBS


def test_the_command_finds_the_file_and_prints_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config(tmp_path, GOOD)
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert main(["plan"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert shown == {"matrix": {"include": INCLUDE}, "devices": ["h100", "rtx3090", "b200"]}


def test_the_command_needs_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["plan"]) == 2
    assert "no gpumatrix.yml here or above" in capsys.readouterr().err


def test_the_step_sets_the_outputs(step: Step) -> None:
    config(step.folder, GOOD)
    done = step.run("plan", config="gpumatrix.yml")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("::stop-commands::")
    assert json.loads(step.outputs["matrix"]) == {"include": INCLUDE}
    assert json.loads(step.outputs["devices"]) == ["h100", "rtx3090", "b200"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("gpumatrix.yml", "gpumatrix.yml: no such file in"),
        ("--format=json", "--format=json: no such file in"),
        (" ", "the input 'config' is empty"),
    ],
)
def test_the_step_needs_the_file(step: Step, name: str, complaint: str) -> None:
    done = step.run("plan", config=name)
    assert done.returncode == 2
    assert complaint in done.stdout
    assert step.outputs == {}
