"""Devices of which a file was not read: what it would have said is not known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from pytest_gpumatrix.record.result_files import device_of
from pytest_gpumatrix.record.results import Results


def unread_devices(results: Results) -> Mapping[str, str]:
    """Device -> why: a file of it is cut off, empty or refused."""
    return {**refused_devices(results), **results.broken}


def refused_devices(results: Results) -> Mapping[str, str]:
    """Device -> why a file of it was refused. A file whose name says no device belongs to none."""
    found: dict[str, str] = {}
    for file in sorted(results.refused):
        if device := device_of(file):
            found.setdefault(device, f"{PurePath(file).name} was refused: {results.refused[file]}")
    return found
