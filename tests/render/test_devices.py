"""``gpumatrix devices``: what is here, and what is known."""

from __future__ import annotations

import json
import sys

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.detection import Detection, Gpu
from pytest_gpumatrix.render.devices import render_devices, render_devices_json
from tests.project import Project

KNOWN = catalogue.load().profiles
GPU = Gpu(
    index=0,
    name="NVIDIA GeForce RTX 3090",
    uuid="GPU-1",
    capability=ComputeCapability(8, 6),
    memory=24 * 2**30,
    sm_count=82,
    mig=False,
    profile=catalogue.load().resolve("rtx-3090"),
)


def test_nothing_here_says_why() -> None:
    text = render_devices(Detection(gpus=(), reason="no driver", driver_version=None), KNOWN)
    assert text.startswith("No GPU here: no driver\n")


def test_a_gpu_and_its_notes() -> None:
    text = render_devices(Detection(gpus=(GPU,), reason=None, driver_version="580.1", notes=("one left out",)), KNOWN)
    assert "cuda:0 = NVIDIA GeForce RTX 3090 (8.6, 24 GiB, GPU-1): profile rtx-3090" in text
    assert "Driver 580.1" in text
    assert "Note: one left out" in text


def test_every_profile_has_a_line_that_fits() -> None:
    text = render_devices(Detection(gpus=(), reason="none", driver_version=None), KNOWN)
    for profile in KNOWN:
        assert any(line.split()[:1] == [profile.id] for line in text.splitlines())
    assert all(len(line) <= 80 for line in text.splitlines())


def test_json_has_the_figures() -> None:
    report = json.loads(render_devices_json(Detection(gpus=(GPU,), reason=None, driver_version="1"), KNOWN))
    assert report["here"]["gpus"][0]["profile"] == "rtx-3090"
    shared = {profile["id"]: profile["shared_memory_per_block"] for profile in report["profiles"]}
    assert (shared["rtx-3090"], shared["h100-sxm"]) == (101_376, 232_448)


def test_the_command(project: Project) -> None:
    result = project.on("h100").pytester.run(sys.executable, "-m", "pytest_gpumatrix", "devices")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["cuda:0 = NVIDIA H100 80GB HBM3 (9.0, *"])
