from __future__ import annotations

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.running_gpu import RunningGpu

HOPPER, AMPERE = ComputeCapability(9, 0), ComputeCapability(8, 6)


@pytest.mark.parametrize(
    ("gpu", "arch", "named", "loads"),
    [
        (RunningGpu(capability=HOPPER), "sm_90", True, "sm_90"),
        (RunningGpu(capability=HOPPER), "compute_90", True, "compute_90"),
        (RunningGpu(capability=HOPPER), "sm_90a", False, "sm_90a"),
        (RunningGpu(capability=HOPPER), "sm_86", False, "sm_86"),  # not posing: it fails, as it should
        (RunningGpu(capability=HOPPER), "sm90", False, "sm90"),
        (RunningGpu(capability=None), "sm_90", False, "sm_90"),
        (RunningGpu(capability=HOPPER, posed=AMPERE), "sm_86", True, "sm_90"),
        (RunningGpu(capability=HOPPER, posed=AMPERE), "compute_86", True, "compute_90"),
        (RunningGpu(capability=HOPPER, posed=AMPERE), "sm_80", False, "sm_90"),  # the posed GPU would run it
        (RunningGpu(capability=HOPPER, posed=AMPERE), "sm_90", False, "sm_90"),  # the posed GPU would refuse it
        (RunningGpu(capability=HOPPER, posed=AMPERE), "sm_75", False, "sm_75"),  # and this
        (RunningGpu(capability=HOPPER, posed=AMPERE), "sm90", False, "sm90"),
        (RunningGpu(capability=HOPPER, posed=HOPPER), "sm_90", True, "sm_90"),
        (RunningGpu(capability=HOPPER, posed=HOPPER), "sm_90a", False, "sm_90a"),
    ],
)
def test_which_gpu_an_architecture_names(gpu: RunningGpu, arch: str, named: bool, loads: str) -> None:
    assert (gpu.is_named_by(arch), gpu.arch_to_load(arch)) == (named, loads)
