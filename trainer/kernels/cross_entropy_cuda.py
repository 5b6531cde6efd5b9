"""Softcapped cross-entropy in CUDA C++: compiled by cuda-core for the running device, launched on torch's stream."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer.kernels.cross_entropy_fused import Launches, fused_cross_entropy
from trainer.kernels.registry import Capability

SOURCE = Path(__file__).with_suffix(".cu")
_MACROS = {
    "float32": "LOGIT_FLOAT32",
    "float16": "LOGIT_FLOAT16",
    "bfloat16": "LOGIT_BFLOAT16",
}
_SCALE_THREADS = 256
_SCALE_BLOCKS = 1024  # its loop strides over the rest


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How a vocabulary is spread: ``threads`` share a row, a block holds ``rows`` of them."""

    threads: int
    rows: int


def layout_for(vocabulary: int) -> Layout:
    """A warp per row up to 1,024 logits, 32 a thread; then a block, as large as keeps its threads busy."""
    if vocabulary <= 1024:
        return Layout(threads=32, rows=8)
    return Layout(threads=256 if vocabulary <= 16384 else 1024, rows=1)


def compile_kernel(capability: Capability, *, dtype: str = "bfloat16", vocabulary: int = 256) -> Any:
    """Compile both kernels to a cubin for one compute capability; needs no GPU and no driver.

    Returns cuda.core's ObjectCode. A cubin runs on its own major version alone, which is why the capability is
    always the running device's and nowhere a constant.
    """
    from cuda.core import Program, ProgramOptions

    layout = layout_for(vocabulary)
    options = ProgramOptions(
        arch=f"sm_{capability[0]}{capability[1]}",
        std="c++17",
        define_macro=[
            (_MACROS[dtype], "1"),
            ("VOCABULARY", str(vocabulary)),
            ("THREADS", str(layout.threads)),
            ("ROWS", str(layout.rows)),
        ],
    )
    return Program(SOURCE.read_text(encoding="utf-8"), "c++", options).compile("cubin")


@lru_cache(maxsize=64)
def _loaded(index: int, dtype: str, vocabulary: int) -> tuple[Any, Any]:
    """The two kernels for device number ``index``, compiled once."""
    from cuda.core import Device

    Device(index).set_current()
    code = compile_kernel(torch.cuda.get_device_capability(index), dtype=dtype, vocabulary=vocabulary)
    return code.get_kernel("softcapped_cross_entropy"), code.get_kernel("scale_in_place")


def _launch(kernel: Any, device: torch.device, grid: int, block: int, *arguments: Any) -> None:
    from cuda.core import Device, LaunchConfig, Stream, launch

    Device(device.index).set_current()  # autograd runs backward on a thread of its own
    stream = Stream.from_handle(torch.cuda.current_stream(device).cuda_stream)
    launch(stream, LaunchConfig(grid=grid, block=block), kernel, *arguments)


def _forward(
    logits: Tensor, targets: Tensor, losses: Tensor, gradient: Tensor | None, softcap: float, scale: float
) -> None:
    rows, vocabulary = logits.shape
    if rows == 0:
        return
    if logits.data_ptr() % 16:  # a slice may begin anywhere, and we read 16 bytes at a time
        logits = logits.clone()
    kernel, _ = _loaded(logits.device.index, _dtype_name(logits), vocabulary)
    layout = layout_for(vocabulary)
    _launch(
        kernel,
        logits.device,
        -(-rows // layout.rows),
        layout.threads * layout.rows,
        logits.data_ptr(),
        targets.data_ptr(),
        losses.data_ptr(),
        0 if gradient is None else gradient.data_ptr(),
        ctypes.c_int64(rows),
        ctypes.c_float(softcap),
        ctypes.c_float(scale),
    )


def _scale_in_place(gradient: Tensor, factor: Tensor) -> None:
    count = gradient.numel()
    if count == 0:
        return
    _, kernel = _loaded(gradient.device.index, _dtype_name(gradient), gradient.shape[1])
    blocks = min(_SCALE_BLOCKS, -(-count // _SCALE_THREADS))
    _launch(
        kernel,
        gradient.device,
        blocks,
        _SCALE_THREADS,
        gradient.data_ptr(),
        factor.data_ptr(),
        ctypes.c_int64(count),
    )


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


_LAUNCHES = Launches(forward=_forward, scale_in_place=_scale_in_place)


def cross_entropy(logits: Tensor, targets: Tensor, softcap: float, scale: float) -> Tensor:
    """See kernels/cross_entropy.py. Raises ValueError where the logits are on no CUDA device."""
    if not logits.is_cuda:
        raise ValueError(f"logits are on {logits.device}: this kernel needs a CUDA device")
    return fused_cross_entropy(logits, targets, softcap, scale, _LAUNCHES)
