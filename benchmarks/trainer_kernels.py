"""Time each kernel of the trainer against PyTorch's, interleaved, on a CUDA GPU.

    python -m benchmarks.trainer_kernels [--rounds 50] [--json FILE]

Prints a table, and writes JSON if asked. Exit code 3 where no CUDA GPU is.
Each round times every kernel once, in turn, so that clocks and heat touch all alike; a ratio is the median over the
rounds of (kernel / baseline of the same round). Forward and backward together, by CUDA events.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer.devices import Device, find_device
from trainer.kernels.operators import OPS
from trainer.kernels.registry import Op, Request
from trainer.log import versions

WARM_UP = 5
# The model's own sizes (a micro batch of the h200 preset), then those that kernels are usually compared on.
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "attention": ((32, 512, 6, 64), (8, 2048, 6, 128)),  # batch, sequence, heads, head_dim
    "cross_entropy": ((16_384, 256), (16_384, 50_304)),  # rows, vocabulary
    "mlp": ((16_384, 384, 1536), (49_152, 768, 3072)),  # tokens, dim, hidden
}
BASELINE = {"attention": "sdpa", "cross_entropy": "reference", "mlp": "reference"}  # eager PyTorch


def main() -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", type=Path, metavar="FILE", help="must not exist")
    options = parser.parse_args()
    if options.json is not None and options.json.exists():
        parser.error(f"{options.json} exists")
    if not torch.cuda.is_available():
        print("no CUDA GPU here: nothing was timed", file=sys.stderr)
        return 3
    device = find_device("cuda")
    rows = [row for op in OPS for shape in SHAPES[op.name] for row in measure(op, shape, device, options.rounds)]
    print(f"{device.name}, torch {torch.__version__}, bfloat16, forward and backward")
    print(f"{'operator':<14}{'shape':<22}{'kernel':<26}{'ms p20':>9}{'p50':>9}{'p80':>9}{'ratio':>8}")
    for row in rows:
        print(table_line(row))
    if options.json is not None:
        result = {"schema": 1, "device": device.name, "versions": versions(), "rounds": options.rounds, "rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def measure(op: Op[Any], shape: tuple[int, ...], device: Device, rounds: int) -> list[dict[str, Any]]:
    """One row per kernel; a kernel that does not run here has its reason instead of times."""
    request = Request(capability=device.capability, dtype="bfloat16", head_dim=shape[-1])
    refused = {kernel.name: kernel.refusal(request) for kernel in op.kernels}
    functions = {kernel.name: kernel.load() for kernel in op.kernels if refused[kernel.name] is None}
    if BASELINE[op.name] == "reference":  # what PyTorch's own compiler makes of the formula
        functions["reference, compiled"] = torch.compile(functions["reference"], dynamic=False)
    call = caller(op.name, shape, device.torch_name)
    times: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(WARM_UP + rounds):
        for name, function in functions.items():
            milliseconds = timed(call, function)
            if number >= WARM_UP:
                times[name].append(milliseconds)
    baseline = times[BASELINE[op.name]]
    rows: list[dict[str, Any]] = []
    for name in (*refused, *(name for name in functions if name not in refused)):
        row: dict[str, Any] = {"op": op.name, "shape": shape, "kernel": name}
        if name in times:
            cuts = statistics.quantiles(times[name], n=10, method="inclusive")
            row |= {"p20": cuts[1], "p50": cuts[4], "p80": cuts[7]}
            row["ratio"] = statistics.median(x / y for x, y in zip(times[name], baseline, strict=True))
        else:
            row["refused"] = refused[name]
        rows.append(row)
    return rows


def caller(op: str, shape: tuple[int, ...], device: str) -> Callable[[Callable[..., Tensor]], None]:
    """A function that runs a kernel forward and backward on tensors of this shape."""

    def draw(*size: int) -> Tensor:
        return torch.randn(*size, device=device, dtype=torch.bfloat16).requires_grad_()

    tensors: tuple[Tensor, ...]
    rest: tuple[Any, ...] = ()
    if op == "attention":
        tensors = (draw(*shape), draw(*shape), draw(*shape))
    elif op == "cross_entropy":
        tensors = (draw(*shape),)
        rest = (torch.randint(shape[1], (shape[0],), device=device), 15.0, 1 / shape[0])
    else:
        tokens, dim, hidden = shape
        tensors = (draw(tokens, dim), draw(hidden, dim), draw(dim, hidden))
    above = None if op == "cross_entropy" else torch.randn(shape if op == "attention" else shape[:2], device=device)
    above = None if above is None else above.bfloat16()

    def call(function: Callable[..., Tensor]) -> None:
        for tensor in tensors:
            tensor.grad = None
        function(*tensors, *rest).backward(above)  # type: ignore[no-untyped-call] # torch leaves it untyped

    return call


def timed(call: Callable[[Callable[..., Tensor]], None], function: Callable[..., Tensor]) -> float:
    """Milliseconds of one call on the device."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    call(function)
    end.record()
    end.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return milliseconds


def table_line(row: dict[str, Any]) -> str:
    """One line of the table."""
    start = f"{row['op']:<14}{'x'.join(map(str, row['shape'])):<22}{row['kernel']:<26}"
    if "refused" in row:
        return start + f"  {row['refused']}"
    return start + f"{row['p20']:>9.3f}{row['p50']:>9.3f}{row['p80']:>9.3f}{row['ratio']:>8.2f}"


if __name__ == "__main__":
    sys.exit(main())
