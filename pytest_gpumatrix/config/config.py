"""What a project asks of its matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_gpumatrix.config.device import Device
from pytest_gpumatrix.config.expectation import Expectation
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.config.metric_rule import MetricRule
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """gpumatrix.yml, or what stands for it where there is none: no device is expected then."""

    devices: tuple[Device, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    metrics: tuple[MetricRule, ...] = ()  # of those that match a metric the first holds
    fail_on: frozenset[FailOn] = DEFAULT_FAIL_ON
    source: str | None = None  # the file

    def named(self, name: str) -> tuple[Device, ...]:
        """The devices that a name means: the one that bears it, else all whose profile it spells."""
        exact = tuple(device for device in self.devices if device.name == name)
        return exact or self._by_profile(name)

    def select(self, names: Sequence[str]) -> Config:
        """The same with these devices only, in this order. A name of no device here may be a profile's: the
        column then bears the profile's id. GpuMatrixError for any other name.
        """
        chosen: dict[str, Device] = {}
        for name in names:
            for device in self.named(name) or (_from_profile(name, self),):
                chosen[device.name] = device
        return replace(self, devices=tuple(chosen.values()))

    def _by_profile(self, name: str) -> tuple[Device, ...]:
        try:
            wanted = catalogue.load().resolve(name).id
        except GpuMatrixError:  # not a profile's name either: then it means no device
            return ()
        return tuple(device for device in self.devices if device.profile.id == wanted)


def _from_profile(name: str, config: Config) -> Device:
    try:
        profile = catalogue.load().resolve(name)
    except GpuMatrixError as error:
        if not config.devices:
            raise
        known = ", ".join(device.name for device in config.devices)
        raise GpuMatrixError(f"no device {name!r} in {config.source or 'the matrix'} ({known}), and {error}") from error
    return Device(name=profile.id, profile=profile)
