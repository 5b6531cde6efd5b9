from __future__ import annotations

import pytest

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.capability import ComputeCapability


@pytest.mark.parametrize(
    ("arch", "ptx", "runs_on", "refused_by"),
    [
        ("sm_80", False, "8.0 8.6 8.9", "7.5 8.7 9.0 12.0"),
        ("sm_86", False, "8.6 8.9", "8.0 8.7 9.0"),
        ("sm_87", False, "8.7", "8.6 8.9"),
        ("sm_90", False, "9.0", "8.9 10.0"),
        ("sm_90a", False, "9.0", "8.9 10.0"),
        ("sm_100f", False, "10.0 10.3", "9.0 11.0 12.0"),
        ("sm_100a", False, "10.0", "10.3"),
        ("sm_120", False, "12.0 12.1", "10.0"),
        ("sm_121", False, "12.1", "12.0"),
        ("compute_80", True, "8.0 8.6 8.7 9.0 12.0", "7.5"),
        ("compute_90a", True, "9.0", "8.9 10.0 12.0"),
        ("sm_90", True, "9.0 10.0 12.0", "8.9"),
    ],
)
def test_who_runs_what(arch: str, ptx: bool, runs_on: str, refused_by: str) -> None:
    binary = Binary.parse(arch, ptx=ptx)
    for device in runs_on.split():
        assert binary.refusal(ComputeCapability.parse(device)) is None, device
    for device in refused_by.split():
        assert binary.refusal(ComputeCapability.parse(device)) is not None, device


@pytest.mark.parametrize(
    ("arch", "ptx", "reason"),
    [
        ("sm_90a", False, "no kernel image for 8.6: built for sm_90a only"),
        ("compute_90", True, "no kernel image for 8.6: PTX of compute_90 only"),
    ],
)
def test_the_reason(arch: str, ptx: bool, reason: str) -> None:
    assert Binary.parse(arch, ptx=ptx).refusal(ComputeCapability(8, 6)) == reason


@pytest.mark.parametrize("arch", ["", "90", "sm90", "sm_90x", "sm_", "lto_90"])
def test_what_is_no_architecture(arch: str) -> None:
    with pytest.raises(ValueError, match="not an architecture"):
        Binary.parse(arch, ptx=False)
