"""The devices that a command is about: of gpumatrix.yml, profiles, or bare compute capabilities."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.commands.command import config_argument
from pytest_gpumatrix.errors import GpuMatrixError

if TYPE_CHECKING:
    from pytest_gpumatrix.hardware.profile import Profile


def device_arguments(parser: argparse.ArgumentParser) -> None:
    """``--devices`` and ``--config``, for ``devices_given``."""
    parser.add_argument(
        "--devices",
        help="devices of gpumatrix.yml, profiles, or compute capabilities, separated by commas "
        "(default: all devices of gpumatrix.yml)",
    )
    config_argument(parser)


def devices_given(names: str | None, path: Path | None) -> Mapping[str, Profile]:
    """The devices by name. GpuMatrixError where none is named, or a name means none."""
    from pytest_gpumatrix.config.load import FILE_NAME, config_for

    config = config_for(Path.cwd(), path)
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    if names is not None and not wanted:
        raise GpuMatrixError("--devices is empty: name devices of gpumatrix.yml, profiles (`gpumatrix devices`) or 8.6")
    if not wanted and not config.devices:
        raise GpuMatrixError(
            f"no device to look at: name some by --devices (rtx-3090,h100-sxm or 8.6,9.0), or in {FILE_NAME}"
        )
    found: dict[str, Profile] = {}
    for name in wanted:
        profile = None if config.named(name) else _by_capability(name)
        if profile is not None:
            found[profile.id] = profile
        else:
            found |= {device.name: device.profile for device in config.select([name]).devices}
    return found or {device.name: device.profile for device in config.devices}


def _by_capability(text: str) -> Profile | None:
    """What stands for any GPU of a compute capability; None for a text that is none."""
    from pytest_gpumatrix.hardware import catalogue
    from pytest_gpumatrix.hardware.capability import ComputeCapability
    from pytest_gpumatrix.hardware.profile import Profile

    try:
        capability = ComputeCapability.parse(text)
    except ValueError:  # a device's or a profile's name, then
        return None
    return Profile(
        id=str(capability),
        name=f"compute capability {capability}",
        nvml_names=(),
        memory=0,  # no verdict on a kernel asks for it
        sm_count=None,
        bandwidth=None,
        limits=catalogue.load().limits(capability),
    )
