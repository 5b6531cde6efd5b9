"""What the kernel tests are made of: each registered kernel, the marks it needs, its inputs, how near it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from trainer.kernels.operators import OPS
from trainer.kernels.registry import Capability, Kernel, Op, Request

# The compute capabilities of gpumatrix.yml's devices. What is built for one card has a case for each of them.
MATRIX: tuple[Capability, ...] = ((8, 6), (9, 0))
DTYPES = ("float32", "float16", "bfloat16")

# The largest error allowed, as a share of the largest value of the float32 reference over the same rounded inputs.
TOLERANCE = {
    "float32": 2e-5,  # 24-bit significands; sums in another order, and exp to some units in the last place
    "float16": 4e-3,  # 11 bits: 2^-11 per rounding, of the hidden values or weights, the product and the gradient
    "bfloat16": 2e-2,  # 8 bits: 2^-8 for each of these; tanh.approx adds 2^-11
}

# Odd ones first; the last has the widths of the h200 preset (half of hidden), with fewer tokens.
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "attention": ((2, 33, 3, 24), (1, 1, 1, 8), (1, 130, 6, 64)),  # batch, sequence, heads, head_dim
    "cross_entropy": ((1, 17), (37, 1000), (5, 4099), (3, 50304), (45, 256)),  # rows, vocabulary
    "mlp": ((1, 8, 8), (37, 23, 70), (64, 384, 768)),  # tokens, dim, hidden
}
SOFTCAP = 15.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel at a dtype. ``capability`` None: any device that the kernel takes."""

    op: Op[Any]
    kernel: Kernel[Any]
    dtype: str
    capability: Capability | None

    @property
    def id(self) -> str:
        """As pytest shows it."""
        where = () if self.capability is None else ("sm_{}{}".format(*self.capability),)
        return "-".join((self.op.name, self.kernel.name, self.dtype, *where))

    @property
    def mark(self) -> pytest.MarkDecorator:
        """What the registry says that the kernel needs."""
        kernel = self.kernel
        modules: dict[str, Any] = {"modules": list(kernel.modules)} if kernel.modules else {}
        if self.capability is not None:
            return pytest.mark.gpu("=={}.{}".format(*self.capability), **modules)
        if kernel.min_capability is None:
            return pytest.mark.gpu(interpret=True, **modules)
        bounds = ">={}.{}".format(*kernel.min_capability)
        if kernel.max_capability is not None:
            bounds += ",<={}.{}".format(*kernel.max_capability)
        # The interpreter does not compute in bfloat16.
        interpret = {"interpret": True} if kernel.interpretable and self.dtype != "bfloat16" else {}
        return pytest.mark.gpu(bounds, **modules, **interpret)


def cases() -> Iterator[Case]:
    """Each kernel of the registry at each dtype it takes.

    A kernel that builds code for the very device it runs on is a case per capability of the matrix: what it made on
    one cannot run on another. Triton's launches are the same for all while their tiles are.
    """
    for op in OPS:
        for kernel in op.kernels:
            for dtype in DTYPES:
                if kernel.refuses(Request(capability=None, dtype=dtype)) is None:
                    for capability in _capabilities(kernel):
                        yield Case(op=op, kernel=kernel, dtype=dtype, capability=capability)


def _capabilities(kernel: Kernel[Any]) -> tuple[Capability | None, ...]:
    low, high = kernel.min_capability, kernel.max_capability
    if low is None or kernel.interpretable:
        return (None,)
    return tuple(c for c in MATRIX if c >= low and (high is None or c <= high))


def parameters(of: Callable[[Case], bool] = lambda _: True) -> list[Any]:
    """The cases for pytest.mark.parametrize."""
    return [pytest.param(case, marks=case.mark, id=case.id) for case in cases() if of(case)]


def inputs(op: str, shape: tuple[int, ...], dtype: str, device: str) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
    """Tensors that take a gradient, and what follows them in the call. The same on every device."""
    generator = torch.Generator().manual_seed(len(shape) + sum(shape))

    def draw(*size: int, std: float = 1.0) -> Tensor:
        values = torch.randn(*size, generator=generator) * std
        return values.to(device, getattr(torch, dtype)).requires_grad_()

    if op == "attention":
        return (draw(*shape), draw(*shape), draw(*shape)), ()
    if op == "cross_entropy":
        rows, vocabulary = shape
        targets = torch.randint(vocabulary, (rows,), generator=generator).to(device)
        return (draw(rows, vocabulary, std=10.0),), (targets, SOFTCAP, 1 / rows)  # many logits near the softcap
    tokens, dim, hidden = shape
    return (draw(tokens, dim), draw(hidden, dim, std=dim**-0.5), draw(dim, hidden, std=hidden**-0.5)), ()


def run(
    function: Callable[..., Tensor], tensors: tuple[Tensor, ...], rest: tuple[Any, ...], weight: float = 1.0
) -> dict[str, Tensor]:
    """Output and gradients by name, in float32. ``weight`` multiplies the gradient that comes from above."""
    for tensor in tensors:
        tensor.grad = None
    out = function(*tensors, *rest)
    generator = torch.Generator().manual_seed(1)
    above = torch.randn(out.shape, generator=generator).to(out) if out.ndim else torch.ones_like(out)
    (out * (above * weight)).sum().backward()  # type: ignore[no-untyped-call] # torch leaves it untyped
    results = {"output": out.detach().float()}
    for number, tensor in enumerate(tensors):
        assert tensor.grad is not None
        assert tensor.grad.dtype == tensor.dtype
        results[f"gradient {number}"] = tensor.grad.float()
    return results


def errors(found: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, float]:
    """The largest error of each, as a share of its largest expected value.

    That is taken as a hundredth of the largest of all at least: where a sequence of 1 makes the gradient of q
    exactly 0, another order of sums may make it 1e-8.
    """
    largest = {name: value.abs().max().item() for name, value in expected.items()}
    floor = max(largest.values()) / 100
    return {
        name: (found[name] - value).abs().max().item() / max(largest[name], floor) for name, value in expected.items()
    }
