"""cuda-core's device, with what it asks the driver for in its place: there is none here."""

from __future__ import annotations

import types
from typing import Any

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.emulation.posing import posing

core = pytest.importorskip("cuda.core")

RTX_3090 = catalogue.load().resolve("rtx-3090")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An H200."""
    capability = types.SimpleNamespace(
        multiprocessor_count=132, max_shared_memory_per_block_optin=232_448, warp_size=32
    )
    monkeypatch.setattr(core.Device, "compute_capability", property(lambda _: Pair(9, 0)))
    monkeypatch.setattr(core.Device, "name", property(lambda _: "NVIDIA H200"))
    monkeypatch.setattr(core.Device, "properties", property(lambda _: capability))
    return object.__new__(core.Device)


class Pair(tuple[int, int]):
    """As cuda-core's named tuple: made of two numbers."""

    def __new__(cls, major: int, minor: int) -> Pair:
        return super().__new__(cls, (major, minor))


def test_code_sees_the_device_and_afterwards_the_card(device: Any) -> None:
    before = dict(vars(core.Device))
    with posing(RTX_3090):
        assert device.compute_capability == (8, 6)
        assert device.name == "NVIDIA GeForce RTX 3090"
        assert device.properties.multiprocessor_count == 82
        assert device.properties.max_shared_memory_per_block_optin == 101_376
        assert device.properties.warp_size == 32
    assert device.compute_capability == (9, 0)
    assert device.properties.multiprocessor_count == 132
    assert dict(vars(core.Device)) == before
