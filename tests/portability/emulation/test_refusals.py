from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.emulation import refusals
from pytest_gpumatrix.portability.emulation.refusals import Backend, Call

SCALED_MM = "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+"
GROUPED = (
    "torch._scaled_grouped_mm is only supported on CUDA devices with compute capability = [9.0, 10.0], or ROCm MI300+"
)
DEEPSEEK = "DeepSeek style (1x128, 128x128) scaling only supported in CUDA for SM90"
MXFP4 = "MXFP4 scaling only supported in CUDA for B200/B300"
FLASH = "FlashAttention only supports Ampere GPUs or newer."
SPARSE = "sparse_semi_structured_mad_op : Supported only on GPUs with compute capability 8.x"
BLOCKS = Call(recipes=frozenset({4, 5}))
FP4 = Call(recipes=frozenset({3}), dtype="float4_e2m1fn_x2")


@pytest.mark.parametrize(
    ("operator", "call", "words"),
    [
        ("_scaled_mm", Call(), {"7.5": SCALED_MM, "8.0": SCALED_MM, "8.9": None, "9.0": None, "12.0": None}),
        ("_scaled_mm.out", Call(), {"8.6": SCALED_MM, "8.9": None}),
        ("_scaled_mm_v2", Call(), {"8.6": SCALED_MM, "8.9": None, "10.0": None}),
        ("_scaled_mm_v2", BLOCKS, {"8.6": SCALED_MM, "8.9": DEEPSEEK, "9.0": None, "10.0": DEEPSEEK}),
        ("_scaled_mm_v2", FP4, {"9.0": MXFP4, "10.0": None, "10.3": None, "12.0": MXFP4}),
        ("_scaled_grouped_mm", Call(), {"8.9": GROUPED, "9.0": None, "10.0": None, "12.0": GROUPED}),
        ("_grouped_mm", Call(), {"7.5": None, "8.6": None}),  # it takes another way there
        ("_flash_attention_forward", Call(), {"7.5": FLASH, "8.0": None}),
        ("_sparse_semi_structured_mm", Call(), {"7.5": SPARSE, "8.6": None, "9.0": SPARSE}),
        ("mm", Call(), {"7.5": None}),
    ],
)  # fmt: skip
def test_what_a_device_refuses_and_in_which_words(operator: str, call: Call, words: dict[str, str | None]) -> None:
    table = refusals.load()
    for text, sentence in words.items():
        found = table.of(operator, call, ComputeCapability.parse(text))
        assert (found.sentence if found is not None else None) == sentence, text


@pytest.mark.parametrize(
    ("backend", "call", "serves"),
    [
        (Backend.FLASH, Call(dtype="bfloat16", head_dim=64), {"7.5": False, "8.0": True, "8.6": True, "12.0": True}),
        (Backend.FLASH, Call(head_dim=224, training=True), {"8.0": True, "8.6": False, "9.0": True, "12.0": False}),
        (Backend.FLASH, Call(head_dim=224), {"8.6": True, "12.0": True}),
        (Backend.FLASH, Call(head_dim=192, training=True), {"8.6": True}),
        (Backend.FLASH, Call(head_dim=256, training=True), {"8.6": True}),
        (Backend.FLASH, Call(head_dim=256, training=True, dropout=True), {"8.0": True, "8.6": False, "12.1": False}),
        (Backend.EFFICIENT, Call(dtype="bfloat16"), {"7.5": False, "8.0": True}),
        (Backend.EFFICIENT, Call(dtype="float16"), {"7.5": True}),
        (Backend.CUDNN, Call(head_dim=128), {"7.5": False, "8.6": True, "9.0": True}),
        (Backend.CUDNN, Call(head_dim=256), {"8.6": False, "9.0": True, "10.0": True, "12.0": False}),
    ],
)  # fmt: skip
def test_which_backends_of_attention_serve(backend: Backend, call: Call, serves: dict[str, bool]) -> None:
    table = refusals.load()
    assert {text: table.serves(backend, call, ComputeCapability.parse(text)) for text in serves} == serves


def test_only_what_a_device_may_refuse_is_watched() -> None:
    assert "_scaled_mm" not in set(refusals.load().operators(ComputeCapability(9, 0)))
    assert set(refusals.load().operators(ComputeCapability(8, 0))) >= {"_scaled_mm", "_scaled_mm.out"}


def test_every_source_is_at_a_commit_and_every_operator_is_in_the_docs() -> None:
    table = refusals.load()
    page = (Path(__file__).parents[3] / "docs" / "emulation.md").read_text(encoding="utf-8")
    for refusal in table.refusals:
        assert refusal.source.startswith("https://github.com/pytorch/pytorch/blob/")
        assert len(refusal.source.split("/")[6]) == 40
        assert refusal.sentence in page
        assert all(f"`{operator.partition('.')[0]}`" in page for operator in refusal.operators)
    assert table.attention.sentence in page
