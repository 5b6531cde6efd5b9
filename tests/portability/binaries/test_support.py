from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.binaries.candidates import NotRead
from pytest_gpumatrix.portability.binaries.environment import Origin
from pytest_gpumatrix.portability.binaries.support import Carried, Coverage, Library, Way
from tests.portability.binaries.samples import counted


def library(code: str, name: str = "a.so") -> Library:
    return Library(path=Path(name), code=counted(code))


@pytest.mark.parametrize(
    ("code", "ways"),
    [
        ("sm_80", "7.5 - 8.0 machine 8.6 machine 8.9 machine 9.0 - 12.0 -"),
        ("sm_80 compute_90", "7.5 - 8.6 machine 9.0 ptx 12.0 ptx"),
        ("sm_90a", "8.9 - 9.0 machine 10.0 - 12.0 -"),
        ("compute_90a", "8.9 - 9.0 ptx 10.0 -"),
        ("sm_90 compute_75", "7.5 ptx 8.6 ptx 9.0 machine"),
        ("sm_100f", "9.0 - 10.0 machine 10.3 machine 12.0 -"),
    ],
)
def test_how_a_device_runs_a_library(code: str, ways: str) -> None:
    words = ways.split()
    names = {"machine": Way.MACHINE_CODE, "ptx": Way.PTX, "-": Way.LEFT_OUT}
    for device, way in zip(words[::2], words[1::2], strict=True):
        assert library(code).way(ComputeCapability.parse(device)) is names[way], device


@pytest.mark.parametrize(
    ("device", "pieces"), [("8.0", (3, 3)), ("8.6", (3, 3)), ("9.0", (1, 3)), ("12.0", (0, 3)), ("7.5", (0, 3))]
)
def test_how_many_pieces_of_code_load(device: str, pieces: tuple[int, int]) -> None:
    assert library("sm_80 sm_80 sm_80 sm_86 sm_90a").pieces(ComputeCapability.parse(device)) == pieces


@pytest.mark.parametrize(
    ("codes", "unread", "left_out", "exit_code"),
    [
        (["sm_86 sm_90"], 0, (), 0),
        (["sm_86 sm_90"], 1, (), 3),
        (["sm_90"], 0, ("rtx-3090",), 1),
        (["sm_90"], 1, ("rtx-3090",), 1),
        (["sm_90", "sm_86 sm_90"], 0, ("rtx-3090",), 1),
        (["compute_80"], 0, (), 0),
        ([], 0, (), 0),
        ([], 1, (), 3),
    ],
)
def test_the_exit_code(codes: list[str], unread: int, left_out: tuple[str, ...], exit_code: int) -> None:
    coverage = Coverage(
        environment="here",
        tool=None,
        devices={name: catalogue.load().resolve(name) for name in ("rtx-3090", "h100-sxm")},
        carried=[Carried(origin=Origin(name="p"), libraries=tuple(map(library, codes)))] if codes else [],
        not_read=[NotRead(path=Path("b.so"), reason="it is cut off")] * unread,
        files=len(codes) + unread,
    )
    assert (coverage.left_out, coverage.exit_code) == (left_out, exit_code)
