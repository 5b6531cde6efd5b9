"""Families of texts and their look-alikes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.triage.classify import FailureText, classify, exception_texts, load_rules

HITS = [
    ("no_kernel_image", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    (
        "no_kernel_image",
        "CUDA error (hopper/flash_fwd.h:188): no kernel image is available for execution on the device",
    ),
    ("no_kernel_image", "no kernel image for 8.6: built for sm_90 only"),
    ("no_kernel_image", "No compiled cutlass_scaled_mm for CUDA device capability: 120"),
    ("no_kernel_image", "RuntimeError: CUDA error: a PTX JIT compilation failed"),
    (
        "arch_feature",
        "ptxas x.ptx, line 774; error : Feature 'cvt.bf16.f32' requires .target sm_80 or higher",
    ),
    ("arch_feature", "Instruction 'wgmma.fence' not supported on .target 'sm_90'"),
    ("arch_feature", "AssertionError: fp8e4nv data type is not supported on CUDA arch < 89"),
    (
        "arch_feature",
        "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e5',)",
    ),
    ("arch_feature", "Error: Failed to initialize the TMA descriptor 801"),
    (
        "arch_feature",
        "ERROR : Arch conditional MMA instruction used without targeting appropriate compute capability.",
    ),
    (
        "arch_feature",
        "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9",
    ),
    ("arch_feature", "RuntimeError: FlashAttention only supports Ampere GPUs or newer."),
    ("arch_feature", "sparse_semi_structured_mad_op : Supported only on GPUs with compute capability 8.x"),
    ("arch_feature", "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.wait.st"),
    (
        "onchip_limit",
        "out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes",
    ),
    ("onchip_limit", "OutOfResources: out of resource: shared memoryRequired: 110592Hardware limit: 101376"),
    (
        "onchip_limit",
        "OutOfMemoryError: out of resource: triton_flex_backward_1 Required: 114688 Hardware limit:101376",
    ),
    ("onchip_limit", "matmul needs 147,456 B of shared memory per block, RTX 3090 has 101,376 B"),
    ("onchip_limit", "RuntimeError: CUDA error: too many resources requested for launch"),
    ("onchip_limit", "cuda failed with too many blocks in cooperative launch"),
    (
        "device_oom",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 46.00 MiB (GPU 0; 11.92 GiB total)",
    ),
    ("device_oom", "enqueue.cc:1085 NCCL WARN Cuda failure 'out of memory'"),
]

LOOK_ALIKES = [
    "Failed to initialize the TMA descriptor 1",
    "Failed to initialize the TMA descriptor 8012",
    "Failed to initialize the TMA descriptor 700",
    "RuntimeError: CUDA error: out of memory",  # whose memory it was, the text does not say
    "RuntimeError: Internal: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
    "DefaultCPUAllocator: failed allocation of 2147483649 bytes",
    "ptxas fatal   : Value 'sm_89' is not defined for option 'gpu-name'",
    "RuntimeError: FlashAttention only support fp16 and bf16 data type",
    "RuntimeError: NCCL is only supported on CUDA devices",
    "mma -> mma layout conversion is only supported on Ampere",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "bus error, out of shared memory in /dev/shm",
    "ImportError: no kernel images folder",
    "the feature requires a target audience",
]


@pytest.mark.parametrize(("category", "text"), HITS)
def test_a_family_gets_its_category(category: str, text: str) -> None:
    cause = classify([FailureText(text=text)])
    assert cause.category.value == category
    assert cause.evidence in text
    assert cause.evidence
    assert cause.action


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_a_look_alike_is_not_called_hardware(text: str) -> None:
    assert classify([FailureText(text=text)]).category is Category.GENUINE_FAILURE


def test_every_rule_is_hit_by_an_example() -> None:
    hit = {classify([FailureText(text=text)]).rule for _, text in HITS}
    untested = {rule.rule for rule in load_rules()} - hit - {"triton-clusters", "ptxas-shared-memory"}
    assert untested == set()
    assert classify([FailureText(text="ValueError: num_ctas > 1 not supported for this GPU")]).rule == "triton-clusters"
    assert classify([FailureText(text="ptxas error: Entry function 'f' uses too much shared data")]).rule == (
        "ptxas-shared-memory"
    )


def _raised(make: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise make from cause
    except BaseException as error:  # noqa: BLE001 - any exception is what is under test
        return error


def test_the_innermost_exception_decides() -> None:
    inner = RuntimeError("CUDA error: no kernel image is available for execution on the device")
    outer = _raised(RuntimeError("out of resource: smem Required: 2 Hardware limit: 1"), inner)
    assert classify(exception_texts(outer)).category is Category.NO_KERNEL_IMAGE


def test_a_suppressed_context_is_not_read() -> None:
    with pytest.raises(ValueError, match="wrong shape") as caught:
        _raise_without_context()
    assert classify(exception_texts(caught.value)).category is Category.GENUINE_FAILURE


def _raise_without_context() -> None:
    try:
        raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB")
    except RuntimeError:
        raise ValueError("wrong shape") from None


def test_an_assertion_of_the_test_itself_only_quotes() -> None:
    error = _raised(AssertionError("expected 'no kernel image is available for execution on the device'"))
    assert classify(exception_texts(error)).category is Category.GENUINE_FAILURE


def test_pytest_fail_only_quotes() -> None:
    error = _raised(pytest.fail.Exception("CUDA out of memory. Tried to allocate 1 GiB"))
    assert classify(exception_texts(error)).category is Category.GENUINE_FAILURE


def test_an_assertion_raised_by_a_library_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    library = tmp_path_factory.mktemp("env") / "site-packages" / "kernels.py"
    library.parent.mkdir()
    source = "def launch():\n    assert False, 'fp8e4nv data type is not supported on CUDA arch < 89'\n"
    namespace: dict[str, object] = {}
    exec(compile(source, str(library), "exec"), namespace)  # noqa: S102 - stands for an installed library
    launch = namespace["launch"]
    assert callable(launch)
    with pytest.raises(AssertionError) as caught:
        launch()
    assert classify(exception_texts(caught.value)).category is Category.ARCH_FEATURE


def test_a_chain_that_loops_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert len(exception_texts(first)) == 2


@given(st.text(max_size=3000))
def test_any_text_is_classified(text: str) -> None:
    cause = classify([FailureText(text=text)])
    assert "\n" not in cause.evidence
    assert len(cause.evidence) <= 300


def test_a_huge_text_is_searched_at_both_ends() -> None:
    text = "x" * 1_000_000 + "\nCUDA error: no kernel image is available for execution on the device"
    cause = classify([FailureText(text=text)])
    assert cause.category is Category.NO_KERNEL_IMAGE
    assert re.match(r"^CUDA error", cause.evidence)
