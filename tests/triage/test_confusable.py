"""One sentence, several truths: each side of every row, told apart by words or by facts."""

# ruff: noqa: E501 - messages are as long as they are

from __future__ import annotations

from typing import Any

import pytest

from pytest_gpumatrix.triage.classify import DeviceFacts, classify_log

NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
INVALID_IMAGE = "RuntimeError: Triton Error [CUDA]: device kernel image is invalid"
BARE_OOM = "RuntimeError: CUDA error: out of memory"
ORDINAL = "RuntimeError: CUDA error: invalid device ordinal"
CLOSE = "AssertionError: Tensor-likes are not close!\n\nMismatched elements: {} / 1000\nGreatest absolute difference: {} at index (0,) (up to {} allowed)\n"
LISTED = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.00 GiB is free. Process 7 has {} GiB memory in use. Of the allocated memory {} GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated."

ROWS: list[tuple[str, str, dict[str, Any], str, str]] = [
    # row of the table, text, facts, category, action
    ("no kernel image", NO_IMAGE, {"capability": "12.0", "arch_list": ["sm_80", "sm_90"]}, "no_kernel_image", "environment"),
    ("no kernel image", NO_IMAGE, {"capability": "8.6", "arch_list": ["sm_80", "sm_90"]}, "no_kernel_image", "skip"),
    ("no kernel image", NO_IMAGE, {"capability": "8.6", "torch": "1.12.0+cu102", "cuda": "10.2"}, "no_kernel_image", "environment"),
    ("no kernel image", NO_IMAGE.replace("error", "error (hopper/x.h:1)"), {}, "no_kernel_image", "skip"),
    ("kernel image is invalid", INVALID_IMAGE, {}, "unknown", "environment"),
    ("kernel image is invalid", INVALID_IMAGE, {"driver": "470.82", "cuda": "12.1"}, "driver_platform", "environment"),
    ("kernel image is invalid", INVALID_IMAGE, {"hardware": "A100 with a cache from a V100"}, "broken_install", "environment"),
    ("TMA descriptor", "Error: Failed to initialize the TMA descriptor 801", {}, "arch_feature", "skip"),
    ("TMA descriptor", "Error: Failed to initialize the TMA descriptor 1", {}, "genuine_failure", "real_failure"),
    ("TMA descriptor", "Error: Failed to initialize the TMA descriptor 715", {}, "sticky_crash", "real_failure"),
    ("invalid device ordinal", ORDINAL, {"device_count": 1}, "gpu_topology", "skip"),
    ("invalid device ordinal", ORDINAL, {"mig": True}, "gpu_topology", "environment"),
    ("out of memory", BARE_OOM, {}, "unknown", "real_failure"),
    ("out of memory", BARE_OOM, {"memory_total": "24 GiB", "other_processes_memory": "20 GiB"}, "device_oom_shared", "infra_failure"),
    ("out of memory", BARE_OOM, {"memory_total": "24 GiB", "memory_free": "20 GiB"}, "host_memory", "infra_failure"),
    ("out of memory", BARE_OOM, {"memory_total": "24 GiB", "memory_free": "0.1 GiB", "reserved": "23 GiB"}, "device_oom", "needs_more_memory"),
    ("out of memory", BARE_OOM + "\n  File \"pin_memory.py\", line 1, in pin_memory", {"wsl": True}, "host_memory", "environment"),
    ("process N has", LISTED.format("22.8", "22.0"), {}, "device_oom", "needs_more_memory"),
    ("process N has", LISTED.format("22.8", "0.5"), {}, "device_oom_shared", "infra_failure"),
    ("cublas", "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate`", {}, "unknown", "real_failure"),
    ("cublas", "CUBLAS_STATUS_ALLOC_FAILED", {"memory_total": 100, "memory_free_at_start": 2}, "device_oom_shared", "infra_failure"),
    ("out of resource", "OutOfMemoryError: out of resource: k Required: 114688 Hardware limit:101376", {}, "onchip_limit", "skip"),
    ("shared memory", "bus error; /dev/shm is full, shared memory", {}, "host_memory", "infra_failure"),
    ("required > limit", "out of resource: shared memory, Required: 232448, Hardware limit: 101376", {}, "onchip_limit", "skip"),
    ("required > limit", "out of resource: shared memory, Required: 232449, Hardware limit: 101376", {}, "onchip_limit", "real_failure"),
    ("too old", "RuntimeError: the NVIDIA driver on your system is too old", {}, "driver_platform", "environment"),
    ("too old", "RuntimeError: Found Tesla K80 which is too old to be supported by the compiler", {}, "arch_gate", "skip"),
    ("too old", "ptxas too old: does not support CC 12.0", {}, "toolchain_unknown_arch", "environment"),
    ("architecture mismatch", "architecture mismatch when calling `cusparseLtInit`", {"cc": "9.0"}, "library_no_engine", "environment"),
    ("architecture mismatch", "architecture mismatch when calling `cusparseLtInit`", {"cc": "7.5"}, "library_no_engine", "skip"),
    ("no execution plans", "Error: No execution plans support the graph.", {"cc": "7.5"}, "library_no_engine", "skip"),
    ("no execution plans", "Could not load library libnvrtc.so.12\nError: No execution plans support the graph.", {}, "broken_install", "environment"),
    ("only support", "FlashAttention only supports Ampere GPUs or newer.", {"cc": "7.5"}, "arch_gate", "skip"),
    ("only support", "RuntimeError: FlashAttention only support fp16 and bf16 data type", {"cc": "7.5"}, "genuine_failure", "real_failure"),
    ("not close", CLOSE.format(2, 0.0031, 1e-05), {"cc": "8.0"}, "numeric_mismatch", "xfail"),
    ("not close", CLOSE.format(2, 0.012, 0.01), {"cc": "8.0"}, "numeric_mismatch", "real_failure"),
    ("not close", CLOSE.format(1000, 5.2, 0.01), {"cc": "8.0"}, "genuine_failure", "real_failure"),
    ("not close", CLOSE.format(2, "nan", 0.01), {"cc": "8.0"}, "genuine_failure", "real_failure"),
    ("illegal access", "RuntimeError: shape mismatch", {"earlier_sticky_error": True}, "sticky_crash", "real_failure"),
    ("launch timed out", "CUDA error: the launch timed out and was terminated", {"display": True}, "device_state", "infra_failure"),
    ("launch timed out", "CUDA error: the launch timed out and was terminated", {"kernel_timeout": False}, "genuine_failure", "real_failure"),
    ("warning at init", "UserWarning: CUDA initialization: CUDA unknown error - this may be due to", {}, "driver_platform", "infra_failure"),
    ("SDPA", "RuntimeError: No available kernel. Aborting execution.", {}, "library_no_engine", "skip"),
    ("SDPA", "UserWarning: does not support non-null attn_mask.\nRuntimeError: No available kernel. Aborting execution.", {}, "genuine_failure", "real_failure"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "text", "facts", "category", "action"), ROWS)
def test_each_side(row: str, text: str, facts: dict[str, Any], category: str, action: str) -> None:
    cause = classify_log(text, DeviceFacts.parse(facts))
    assert (cause.category.value, cause.action.value) == (category, action)


def test_a_build_without_the_device_is_the_machines_fault() -> None:
    cause = classify_log(NO_IMAGE, DeviceFacts.parse({"capability": "12.0", "arch_list": "sm_80 sm_90"}))
    assert cause.reason == "build_gap"
    assert cause.infra
    assert not classify_log(NO_IMAGE, DeviceFacts.parse({"capability": "9.0", "arch_list": "sm_80 sm_90"})).infra


@pytest.mark.parametrize(
    ("text", "capability", "note"),
    [
        ("FlashAttention only supports Ampere GPUs or newer.", "8.6", "the text demands 8.0 or newer, the device is 8.6"),
        ("ptxas error : Feature '.bf16' requires .target sm_80 or higher", "9.0", "the text demands 8.0 or newer, the device is 9.0"),
        ("Error: Failed to initialize the TMA descriptor 801", "9.0", "the text demands >=9.0, the device is 9.0"),
        ("bf16 needs compute capability 8.0. Your Tesla T4 GPU has compute capability 7.5.", "7.0", "the text says the device is 7.5, the facts say 7.0"),
    ],
)  # fmt: skip
def test_a_contradiction_is_said(text: str, capability: str, note: str) -> None:
    cause = classify_log(text, DeviceFacts.parse({"capability": capability}))
    assert cause.note == note
    assert cause.confidence.value == "low"
    assert cause.category.value in ("arch_gate", "arch_feature")
    assert cause.action.value in ("environment", "skip")


def test_support_is_a_set() -> None:
    text = (
        "FA3 is only supported on devices with compute capability >= 8 excluding 8.6 and 8.9 and Blackwell archs (>=10)"
    )
    actions = {
        cc: classify_log(text, DeviceFacts.parse({"cc": cc})).action.value
        for cc in ("7.5", "8.0", "8.6", "8.9", "9.0", "12.0")
    }
    assert actions == {
        "7.5": "skip", "8.0": "environment", "8.6": "skip", "8.9": "skip", "9.0": "environment", "12.0": "skip",
    }  # fmt: skip


def test_a_passed_test_is_not_reported() -> None:
    text = "THCTensorRandom.cuh:185: void f(): Assertion `val >= 0` failed."
    assert classify_log(text, DeviceFacts.parse({"outcome": "passed"})).action.value == "no_report"


def test_what_follows_a_broken_context_is_a_cascade() -> None:
    cause = classify_log("RuntimeError: CUDA error: out of memory", DeviceFacts(earlier_sticky=True))
    assert (cause.category.value, cause.reason) == ("sticky_crash", "cascade")
    assert cause.note == "its own text reads as unknown"


@pytest.mark.parametrize("facts", [{"exit_signal": 11}, {"exit_code": -6}, {"exit_code": 139}, {"worker_lost": True}])
def test_a_process_that_died_without_a_word_is_unknown(facts: dict[str, Any]) -> None:
    assert classify_log("collected 3 items", DeviceFacts.parse(facts)).category.value == "unknown"


def test_nothing_to_read_is_unknown() -> None:
    assert classify_log(" \n").rule == "no-text"
