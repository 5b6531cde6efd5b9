"""Families of texts and their look-alikes."""

from __future__ import annotations

import re
import sys
import unittest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.triage.classify import FailureText, Source, classify, exception_texts
from pytest_gpumatrix.triage.failure_text import is_test_file

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
        "arch_gate",
        "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9",
    ),
    ("arch_gate", "RuntimeError: FlashAttention only supports Ampere GPUs or newer."),
    ("arch_gate", "sparse_semi_structured_mad_op : Supported only on GPUs with compute capability 8.x"),
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
    ("sticky_crash", "Failed to initialize the TMA descriptor 700"),
    ("host_memory", "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device"),
    ("host_memory", "DefaultCPUAllocator: failed allocation of 2147483649 bytes"),
    ("host_memory", "bus error, out of shared memory in /dev/shm"),
    ("toolchain_unknown_arch", "ptxas fatal   : Value 'sm_89' is not defined for option 'gpu-name'"),
    ("sticky_crash", "RuntimeError: CUDA error: an illegal memory access was encountered"),
    # Whose memory it was, the text does not say.
    ("unknown", "RuntimeError: CUDA error: out of memory"),
    ("unknown", "RuntimeError: Internal: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
]

LOOK_ALIKES = [
    "Failed to initialize the TMA descriptor 1",
    "Failed to initialize the TMA descriptor 8012",
    "RuntimeError: FlashAttention only support fp16 and bf16 data type",
    "RuntimeError: NCCL is only supported on CUDA devices",
    "mma -> mma layout conversion is only supported on Ampere",
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


class Unreadable(Exception):  # noqa: N818 - named for what is wrong with it
    """Hostile in every way that a chain is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __len__(self) -> int:
        return 0

    __hash__ = None  # type: ignore[assignment]


def test_an_exception_that_cannot_be_read_ends_nothing() -> None:
    outer = _raised(ValueError("a"), _raised(Unreadable(), Unreadable()))
    texts = [text.text.partition(": ")[2] for text in exception_texts(outer)]
    assert texts == ["its text cannot be had: RuntimeError"] * 2 + ["a"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no groups of exceptions")
def test_a_group_is_read_through() -> None:
    inner = RuntimeError("CUDA error: no kernel image is available for execution on the device")
    group = _raised(ExceptionGroup("teardown", [ValueError("a"), inner, ValueError("b")]))  # type: ignore[name-defined,unused-ignore]  # noqa: F821
    texts = [text.text.rpartition(": ")[2][:9] for text in exception_texts(group)]
    assert texts == ["a", "no kernel", "b", "teardown "]
    assert classify(exception_texts(group)).category is Category.NO_KERNEL_IMAGE


def test_of_a_chain_without_end_both_ends_are_read() -> None:
    error: BaseException = ValueError("0")
    for number in range(1, 1_000):
        error = _raised(ValueError(str(number)), error)
    texts = [text.text.rpartition(": ")[2] for text in exception_texts(error)]
    assert (len(texts), texts[0], texts[-1]) == (100, "0", "999")


def test_unittests_own_assertions_only_quote() -> None:
    """They are raised in a file of the standard library."""
    with pytest.raises(AssertionError) as caught:
        unittest.TestCase().fail("uncorrectable ECC error encountered")
    assert classify(exception_texts(caught.value)).category is Category.GENUINE_FAILURE


@pytest.mark.parametrize("quotable", [True, False], ids=["a test's", "a helper's"])
def test_what_was_printed_does_not_explain_an_assertion(quotable: bool) -> None:
    output = FailureText(text="CUDA error: uncorrectable ECC error encountered", source=Source.OUTPUT)
    failed = FailureText(text="AssertionError: 3 layers, 4 wanted", quotable=quotable)
    assert classify([failed, output]).category is Category.GENUINE_FAILURE
    # Of a process that another assertion is about it may.
    follows = FailureText(text="AssertionError: assert 1 == 0\n +  where 1 = run().returncode", quotable=True)
    assert classify([follows, output]).category is Category.DEVICE_STATE


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


@pytest.mark.parametrize(
    ("path", "of_tests"),
    [
        ("/app/tests/ops/helpers.py", True),
        ("/app/test_kernels.py", True),
        ("kernels_test.py", True),
        ("C:\\app\\tests\\ops.py", True),
        ("/app/conftest.py", True),
        ("/app/src/kernels.py", False),
        ("/app/latest/kernels.py", False),
        ("/venv/lib/python3.11/site-packages/torch/testing/_comparison.py", True),
        ("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", False),
        ("/venv/lib/python3.11/site-packages/triton/tests/helpers.py", False),
        ("/usr/lib/python3.12/unittest/mock.py", True),
        ("/usr/lib/python3.12/asyncio/runners.py", False),
        ("/venv/lib/python3.11/site-packages/_pytest/outcomes.py", True),
    ],
)
def test_whose_file_it_is(path: str, of_tests: bool) -> None:
    assert is_test_file(path) is of_tests


def test_a_numeric_assertion_of_the_test_itself_counts() -> None:
    error = _raised(
        AssertionError("Tensor-likes are not close!\nGreatest absolute difference: 0.012 (up to 0.01 allowed)")
    )
    assert classify(exception_texts(error)).category is Category.NUMERIC_MISMATCH


def test_output_and_warnings_are_read_after_the_exceptions() -> None:
    raised = FailureText(text="RuntimeError: worker said nothing")
    output = FailureText(text="CUDA error: misaligned address\nWARNING: CUDA out of memory.", source=Source.OUTPUT)
    assert classify([raised, output]).category is Category.STICKY_CRASH
    assert classify([output, raised]).category is Category.STICKY_CRASH
    assert classify([FailureText(text="TypeError: f() takes 1"), output]).category is Category.GENUINE_FAILURE
