"""Why the tests of the sample fail: causes, and a traceback."""

from __future__ import annotations

from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence

MISMATCH = Cause(
    category=Category.NUMERIC_MISMATCH,
    action=Action.REAL_FAILURE,
    advice="The kernel differs from its reference on this device: compare its derivative with the formula.",
    rule="tolerance-exceeded",
    evidence="AssertionError: Tensor-likes are not close! Mismatched elements: 50257 / 50257 (100.0%)",
)
NEEDS_TMA = Cause(
    category=Category.ARCH_FEATURE,
    action=Action.SKIP,
    advice='The kernel uses TMA, which starts at 9.0: mark the test with features=["tma"], or add a general kernel.',
    rule="tma-below-hopper",
    evidence="RuntimeError: Failed to initialize the TMA descriptor 801",
    note="the text demands 9.0, the device is 8.0",
)
SHARED_OOM = Cause(
    category=Category.DEVICE_OOM_SHARED,
    action=Action.INFRA_FAILURE,
    advice="Another process held most of the memory: run again on an idle card.",
    rule="oom-others-hold-memory",
    evidence="CUDA out of memory. Tried to allocate 2.00 GiB; process 4211 has 71.20 GiB in use",
    confidence=Confidence.MEDIUM,
)
TRACEBACK = """\
tests/attention/test_flash.py:88: in test_forward
    out = attention(q, k, v, causal=causal)
trainer/kernels/attention_hopper.py:41: in attention
    descriptor = make_tensor_descriptor(k, block_shape=(128, 64))
trainer/kernels/tma.py:19: RuntimeError
    status = driver.tensor_map_encode_tiled(...)
E   RuntimeError: Failed to initialize the TMA descriptor 801
E     where status = 801 (CUDA_ERROR_NOT_SUPPORTED)"""
