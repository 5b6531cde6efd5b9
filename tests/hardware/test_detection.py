"""Detection over a stand-in for ``pynvml`` that fails as the real one does, with its own error classes."""
# ruff: noqa: N802 - the names are NVML's

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import pynvml
import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.detection import Detection, detect
from tests.hardware.nvml_stand_in import NvmlStandIn

GIB = 2**30


@dataclass
class FakePart:
    uuid: str
    name: str
    memory: int = 10 * GIB
    sm_count: int = 14
    gpu_instance: int = 7
    compute_instance: int = 0


@dataclass
class FakeGpu:
    uuid: str = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
    name: str = "NVIDIA H200"
    capability: tuple[int, int] = (9, 0)
    memory: int = 143_771 * 2**20
    bus: str = "00000000:01:00.0"
    mig: bool | None = None  # None: a card without MIG
    parts: dict[int, FakePart] = field(default_factory=dict)
    lost: bool = False


H200 = FakeGpu()
T4 = FakeGpu(
    uuid="GPU-74000000-d72c-4106-c12f-20bd9faed9f6",
    name="Tesla T4",
    capability=(7, 5),
    memory=15_360 * 2**20,
    bus="00000000:02:00.0",
)


class FakeNvml(NvmlStandIn):
    """As much of pynvml as detection may use. It counts openings and closings, and can be told to fail."""

    NVML_DEVICE_MIG_ENABLE = 1

    def __init__(self, *gpus: FakeGpu, fail: dict[str, Exception] | None = None) -> None:
        super().__init__(fail or {})
        self._gpus = gpus

    def nvmlSystemGetDriverVersion(self) -> str:
        self._may_fail("nvmlSystemGetDriverVersion")
        return "580.159.04"

    def nvmlDeviceGetCount(self) -> int:
        self._may_fail("nvmlDeviceGetCount")
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        if self._gpus[index].lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return self._gpus[index]

    def nvmlDeviceGetUUID(self, handle: FakeGpu | FakePart) -> str:
        return handle.uuid

    def nvmlDeviceGetName(self, handle: FakeGpu | FakePart) -> str:
        return handle.name

    def nvmlDeviceGetPciInfo(self, handle: FakeGpu) -> SimpleNamespace:
        return SimpleNamespace(busId=handle.bus)

    def nvmlDeviceGetCudaComputeCapability(self, handle: FakeGpu) -> list[int]:
        self._may_fail("nvmlDeviceGetCudaComputeCapability")
        return list(handle.capability)

    def nvmlDeviceGetMemoryInfo(self, handle: FakeGpu | FakePart) -> SimpleNamespace:
        return SimpleNamespace(total=handle.memory)

    def nvmlDeviceGetMigMode(self, handle: FakeGpu) -> list[int]:
        self._may_fail("nvmlDeviceGetMigMode")
        if handle.mig is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return [int(handle.mig), int(handle.mig)]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: FakeGpu) -> int:
        assert handle.mig
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: FakeGpu, index: int) -> FakePart:
        if index not in handle.parts:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return handle.parts[index]

    def nvmlDeviceGetAttributes(self, handle: FakePart) -> SimpleNamespace:
        return SimpleNamespace(multiprocessorCount=handle.sm_count)

    def nvmlDeviceGetGpuInstanceId(self, handle: FakePart) -> int:
        return handle.gpu_instance

    def nvmlDeviceGetComputeInstanceId(self, handle: FakePart) -> int:
        return handle.compute_instance


def _detect(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml, **environ: str) -> Detection:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    detection = detect(environ)
    assert nvml.open == 0  # let go of, whatever came up
    return detection


def test_a_known_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml(H200))
    (gpu,) = detection.gpus
    assert (gpu.index, gpu.name, gpu.uuid) == (0, "NVIDIA H200", H200.uuid)
    assert (gpu.capability, gpu.memory, gpu.sm_count) == (ComputeCapability(9, 0), 143_771 * 2**20, 132)
    assert (gpu.profile.id, gpu.mig) == ("h200", False)
    assert detection == Detection(gpus=(gpu,), reason=None, driver_version="580.159.04")


def test_an_unknown_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeGpu(name="NVIDIA L4", capability=(8, 9), memory=23_034 * 2**20)
    detection = _detect(monkeypatch, FakeNvml(card, card))
    assert [gpu.profile.id for gpu in detection.gpus] == ["nvidia-l4", "nvidia-l4"]
    assert detection.gpus[0].profile.memory == 23_034 * 2**20
    assert detection.gpus[0].sm_count is None
    assert detection.notes == (detection.gpus[0].profile.note,)  # once


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    detection = detect({})
    assert detection.gpus == ()
    assert detection.reason is not None
    assert "NVML cannot be asked" in detection.reason


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("nvmlInit", pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "no NVIDIA driver answers: NVML Shared Library Not Found"),
        ("nvmlInit", pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "no NVIDIA driver answers: Driver Not Loaded"),
        ("nvmlInit", pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "NVML/RM version mismatch"),
        ("nvmlInit", pynvml.NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"),
        ("nvmlSystemGetDriverVersion", pynvml.NVML_ERROR_UNKNOWN, "NVML does not list the GPUs: Unknown Error"),
        ("nvmlDeviceGetCount", pynvml.NVML_ERROR_UNKNOWN, "NVML does not list the GPUs: Unknown Error"),
    ],
)
def test_a_broken_driver_is_no_gpu_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, call: str, code: int, words: str
) -> None:
    detection = _detect(monkeypatch, FakeNvml(H200, fail={call: pynvml.NVMLError(code)}))
    assert detection.gpus == ()
    assert detection.reason is not None
    assert words in detection.reason


def test_a_driver_without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml())
    assert detection.reason == "driver 580.159.04 has no NVIDIA GPU to show"
    assert detection.driver_version == "580.159.04"


def test_a_failing_farewell_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fail: dict[str, Exception] = {"nvmlShutdown": pynvml.NVMLError(pynvml.NVML_ERROR_UNINITIALIZED)}
    assert len(_detect(monkeypatch, FakeNvml(H200, fail=fail)).gpus) == 1


def test_nvml_is_let_go_of_when_something_else_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(H200, fail={"nvmlDeviceGetCount": RuntimeError("not NVML's")})
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with pytest.raises(RuntimeError, match="not NVML's"):  # a fault of ours keeps its traceback
        detect({})
    assert nvml.open == 0


def test_a_lost_gpu_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml(FakeGpu(lost=True), T4), CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert [(gpu.index, gpu.profile.id) for gpu in detection.gpus] == [(1, "t4")]
    assert detection.notes == ("the GPU that NVML counts as 0 left out: GPU is lost",)


def test_the_only_gpu_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml(FakeGpu(lost=True)))
    assert detection.gpus == ()
    assert detection.reason == "the GPU that NVML counts as 0 left out: GPU is lost"


@pytest.mark.parametrize("call", ["nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetMigMode"])
def test_a_call_that_fails_for_a_gpu_names_it(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    fail: dict[str, Exception] = {call: pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)}
    detection = _detect(monkeypatch, FakeNvml(H200, fail=fail))
    assert detection.reason == f"{H200.uuid} left out: Timeout"


def test_a_driver_that_does_not_know_mig(monkeypatch: pytest.MonkeyPatch) -> None:
    fail: dict[str, Exception] = {"nvmlDeviceGetMigMode": pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)}
    assert len(_detect(monkeypatch, FakeNvml(H200, fail=fail)).gpus) == 1


def test_hidden_gpus_are_no_gpu_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml(H200), CUDA_VISIBLE_DEVICES="")
    assert detection.gpus == ()
    assert detection.reason == "CUDA_VISIBLE_DEVICES is empty, which hides every GPU"
    assert detection.driver_version == "580.159.04"


def test_gpus_are_counted_as_cuda_does(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml(H200, T4), CUDA_VISIBLE_DEVICES=f"{T4.uuid},GPU-8932,GPU-f")
    assert [(gpu.index, gpu.profile.id) for gpu in detection.gpus] == [(0, "t4"), (1, "h200")]
    assert len(detection.notes) == 1
    assert "'GPU-f'" in detection.notes[0]


def test_indices_follow_the_bus_whatever_nvmls_order(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"}
    for nvml in (FakeNvml(H200, T4), FakeNvml(T4, H200)):
        detection = _detect(monkeypatch, nvml, **environ)
        assert [gpu.profile.id for gpu in detection.gpus] == ["h200"]


@pytest.mark.parametrize(
    ("environ", "ambiguous"),
    [
        ({}, True),
        ({"CUDA_VISIBLE_DEVICES": "0"}, True),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, True),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, False),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, False),
        ({"CUDA_VISIBLE_DEVICES": T4.uuid}, False),
        ({"CUDA_VISIBLE_DEVICES": ""}, False),
    ],
)
def test_with_different_cards_an_index_may_mean_any(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], ambiguous: bool
) -> None:
    detection = _detect(monkeypatch, FakeNvml(T4, H200), **environ)
    assert (detection.ambiguity is not None) is ambiguous
    if detection.ambiguity is not None:
        assert "NVIDIA H200, Tesla T4" in detection.ambiguity
        assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in detection.ambiguity


def test_equal_cards_are_not_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _detect(monkeypatch, FakeNvml(H200, H200), CUDA_VISIBLE_DEVICES="1").ambiguity is None


def test_a_mig_instance_is_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    part = FakePart(uuid="MIG-11111111-aaaa-bbbb-cccc-000000000001", name="NVIDIA H200 MIG 1g.18gb", sm_count=16)
    other = FakePart(uuid="MIG-22222222-aaaa-bbbb-cccc-000000000002", name="NVIDIA H200 MIG 2g.35gb", sm_count=32)
    card = FakeGpu(mig=True, parts={0: part, 3: other})  # NVML leaves gaps
    (first,) = _detect(monkeypatch, FakeNvml(card)).gpus
    assert (first.uuid, first.mig, first.memory, first.sm_count) == (part.uuid, True, 10 * GIB, 16)
    named = _detect(monkeypatch, FakeNvml(card), CUDA_VISIBLE_DEVICES=other.uuid)
    (second,) = named.gpus
    assert (second.uuid, second.sm_count, second.capability) == (other.uuid, 32, ComputeCapability(9, 0))
    # It has a part of the memory and of the SMs, so it is not the card of that name.
    assert second.profile.id == "nvidia-h200-mig-2g-35gb"
    assert named.notes == (second.profile.note,)


def test_mig_mode_without_instances_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    detection = _detect(monkeypatch, FakeNvml(FakeGpu(mig=True)))
    assert detection.reason == f"{H200.uuid} is in MIG mode and has no instance, so CUDA does not show it"


def test_mig_mode_off_is_a_whole_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    (gpu,) = _detect(monkeypatch, FakeNvml(FakeGpu(mig=False))).gpus
    assert (gpu.profile.id, gpu.mig) == ("h200", False)


def test_detecting_loads_no_torch() -> None:
    code = (
        "import sys, os\nfrom pytest_gpumatrix.hardware.detection import detect\n"
        "detect(os.environ)\n"
        "print([m for m in ('torch', 'triton', 'numpy', 'cuda') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
