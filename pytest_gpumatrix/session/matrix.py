"""The devices of this run's matrix, from gpumatrix.yml and --gpu-devices."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.device import Device
from pytest_gpumatrix.config.load import config_for
from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware import catalogue


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """What gpumatrix.yml says, and the devices that this run chose of it."""

    config: Config  # the whole file, or an empty one
    chosen: Config  # the same with the chosen devices only

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices that this run is about."""
        return self.chosen.devices

    def check_name(self, name: str) -> None:
        """GpuMatrixError unless a name means a device of the file, or a profile."""
        if not self.config.named(name):
            catalogue.load().resolve(name)

    def is_device(self, name: str, device: gate.Device) -> bool:
        """Whether a name means a device: by its name in the matrix, or by its profile."""
        if named := self.config.named(name):
            return any(other.name == device.name or other.profile.id == device.profile.id for other in named)
        return catalogue.load().resolve(name).id == device.profile.id


_MATRIX = pytest.StashKey[Matrix]()


def matrix_of(config: pytest.Config) -> Matrix:
    """The matrix of this run; reads gpumatrix.yml the first time."""
    matrix = config.stash.get(_MATRIX, None)
    if matrix is None:
        whole = config_for(config.rootpath)
        early = getattr(config.known_args_namespace, "gpu_devices", None)  # before the first conftest is imported
        given = str(early or config.getoption("--gpu-devices", None) or "")
        names = [name.strip() for name in given.split(",") if name.strip()]
        chosen = whole.select(names) if names else whole
        matrix = config.stash[_MATRIX] = Matrix(config=whole, chosen=chosen)
    return matrix
