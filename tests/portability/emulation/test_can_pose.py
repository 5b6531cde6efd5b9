from __future__ import annotations

import dataclasses

import pytest

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.detection import Gpu
from pytest_gpumatrix.portability.emulation.can_pose import why_not


def card(name: str) -> Gpu:
    profile = catalogue.load().resolve(name)
    return Gpu(
        index=0,
        name=profile.nvml_names[0],
        uuid="GPU-0",
        capability=profile.capability,
        memory=profile.memory,
        sm_count=profile.sm_count,
        mig=False,
        profile=profile,
    )


def device(name: str, count: int = 1) -> gate.Device:
    profile = catalogue.load().resolve(name)
    return gate.Device(name=name, profile=profile, memory=profile.memory, count=count)


@pytest.mark.parametrize(
    ("name", "here", "reason"),
    [
        ("rtx-3090", "h200", None),
        ("t4", "h200", None),
        ("h100-sxm", "h200", None),  # the same capability, and another card
        ("a100-80gb", "h200", None),
        ("l40s", "h200", None),
        ("b200", "h200", "it is newer (10.0) than the NVIDIA H200 here (9.0)"),
        ("rtx-5090", "h200", "it is newer (12.0) than the NVIDIA H200 here (9.0)"),
        ("h200", "h100-sxm", "it has 140.4 GiB of memory; the NVIDIA H100 80GB HBM3 here has 79.65 GiB"),
    ],
)
def test_a_device_may_be_less_than_the_card_and_not_more(name: str, here: str, reason: str | None) -> None:
    assert why_not(device(name), card(here), here_count=1) == reason


def test_larger_blocks() -> None:
    small = dataclasses.replace(device("a100-80gb"), memory=1)
    reason = "its blocks may have 166,912 B of shared memory; those of the NVIDIA L40S here 101,376 B"
    assert why_not(small, card("l40s"), 1) == reason


def test_a_feature_that_the_card_lacks() -> None:
    here = card("rtx-5090")  # newer than 9.0, and without wgmma
    larger = dataclasses.replace(device("h100-sxm").profile.limits, shared_memory_per_block=1)
    hopper = dataclasses.replace(device("h100-sxm").profile, limits=larger)
    posing = gate.Device(name="h100", profile=hopper, memory=1)
    assert why_not(posing, here, 1) == "it has wgmma, which the NVIDIA GeForce RTX 5090 here (12.0) does not"


def test_more_gpus_than_are_here() -> None:
    assert why_not(device("rtx-3090", count=2), card("h200"), 2) is None
    reason = why_not(device("rtx-3090", count=2), card("h200"), 1)
    assert reason == "it is 2 GPUs, and 1 of the NVIDIA H200 can be seen here"
