"""Triton's driver, with the two classes of ``triton.backends.nvidia.driver`` on a machine that has no GPU."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.emulation.posing import posing

pytest.importorskip("triton")

from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver as nvidia
from triton.language import target_info

RTX_3090 = catalogue.load().resolve("rtx-3090")
REAL = {"max_shared_mem": 232_448, "max_num_regs": 65_536, "multiprocessor_count": 132, "warpSize": 32}
TOLD = {"max_shared_mem": 101_376, "max_num_regs": 65_536, "multiprocessor_count": 82, "warpSize": 32}


class FakeUtils(nvidia.CudaUtils):  # type: ignore[misc] # Triton publishes no types
    """Without the C that asks the driver."""


def _real_properties(_: int) -> dict[str, int]:
    return dict(REAL)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The active driver of a machine with an H200."""

    def __init__(utils: Any) -> None:  # noqa: N807
        utils.get_device_properties = _real_properties

    monkeypatch.setattr(nvidia.CudaUtils, "__init__", __init__)
    monkeypatch.delattr(nvidia.CudaUtils, "instance", raising=False)
    monkeypatch.setattr(nvidia.CudaDriver, "get_current_target", lambda _: GPUTarget("cuda", 90, 32))
    active = object.__new__(nvidia.CudaDriver)
    active.utils = nvidia.CudaUtils()
    runtime = target_info.driver
    monkeypatch.setattr(runtime, "_active", active)
    yield active
    monkeypatch.delattr(nvidia.CudaUtils, "instance", raising=False)


def asked_by(module: str, driver: Any) -> Any:
    asking = types.ModuleType(module)
    exec("def ask(driver):\n    return driver.get_current_target()\n", vars(asking))  # noqa: S102
    return asking.ask(driver)


def test_code_and_kernels_see_the_device_and_the_compiler_the_card(driver: Any) -> None:
    with posing(RTX_3090):
        assert driver.get_current_target() == GPUTarget("cuda", 86, 32)
        assert target_info.current_target() == GPUTarget("cuda", 86, 32)
        assert not target_info.cuda_capability_geq(9, 0)
        assert target_info.cuda_capability_geq(8, 0)
        assert asked_by("triton.runtime.jit", driver).arch == 90
        assert asked_by("triton.compiler.compiler", driver).arch == 90
        assert asked_by("torch._inductor.runtime.hints", driver).arch == 90
    assert target_info.cuda_capability_geq(9, 0)
    assert driver.get_current_target().arch == 90


def test_the_properties_and_those_of_a_driver_that_is_made_later(driver: Any) -> None:
    with posing(RTX_3090):
        assert driver.utils.get_device_properties(0) == TOLD
        assert nvidia.CudaUtils().get_device_properties(0) == TOLD
    assert driver.utils.get_device_properties is _real_properties
    assert driver.utils.get_device_properties(0) == REAL


def test_nothing_is_left_of_it(driver: Any, tmp_path: Path) -> None:
    before = dict(vars(nvidia.CudaDriver)), dict(vars(nvidia.CudaUtils))
    with posing(RTX_3090):
        assert vars(nvidia.CudaDriver)["get_current_target"] is not before[0]["get_current_target"]
    assert (dict(vars(nvidia.CudaDriver)), dict(vars(nvidia.CudaUtils))) == before
