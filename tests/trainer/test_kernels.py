"""Every registered kernel against the float32 reference, forward and backward, by being registered."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
import torch

from pytest_gpumatrix.session.fixtures import GpuMetric, GpuUnderTest
from tests.trainer.kernel_cases import MATRIX, SHAPES, TOLERANCE, Case, cases, errors, inputs, parameters, run
from trainer.data import Sampler
from trainer.devices import CARDS, default_dtype
from trainer.kernels import mlp_tiles
from trainer.kernels.mlp_tiles import TILES
from trainer.kernels.operators import OPS, choose, load
from trainer.kernels.registry import Request
from trainer.model import GPT, Shape
from trainer.optimizer import make_optimizers


def _each_in_the_matrix(**needs: Any) -> list[Any]:
    return [
        pytest.param(c, marks=pytest.mark.gpu("=={}.{}".format(*c), **needs), id="sm_{}{}".format(*c)) for c in MATRIX
    ]


@pytest.fixture
def portable_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut products as for an unknown card: what is launched here must then fit every card that the mark names."""
    monkeypatch.setattr(mlp_tiles, "TILES", MappingProxyType({}))


def _is_fused(case: Case) -> bool:
    return case.op.name == "cross_entropy" and case.kernel.name != "reference" and case.dtype == "float32"


@pytest.mark.usefixtures("portable_tiles")
@pytest.mark.parametrize("case", parameters())
def test_agrees_with_the_reference(case: Case, gpu: GpuUnderTest, gpu_metric: GpuMetric) -> None:
    kernel, reference = case.kernel.load(), case.op.kernels[-1].load()
    worst = 0.0
    for shape in SHAPES[case.op.name]:
        tensors, rest = inputs(case.op.name, shape, case.dtype, gpu.torch_device)
        exact = tuple(tensor.detach().float().requires_grad_() for tensor in tensors)
        found = errors(run(kernel, tensors, rest), run(reference, exact, rest))
        assert max(found.values()) <= TOLERANCE[case.dtype], f"{shape}: {found}"
        worst = max(worst, *found.values())
    gpu_metric("relative_error", worst, "1")


def test_every_operator_has_a_case_and_shapes() -> None:
    tested = {(case.op.name, case.kernel.name) for case in cases()}
    assert tested == {(op.name, kernel.name) for op in OPS for kernel in op.kernels}
    assert set(SHAPES) == {op.name for op in OPS}


@pytest.mark.parametrize("case", parameters(lambda c: c.op.name == "cross_entropy" and c.dtype == "float32"))
def test_cross_entropy_passes_on_the_gradient_from_above(case: Case, gpu: GpuUnderTest) -> None:
    tensors, rest = inputs("cross_entropy", (7, 256), case.dtype, gpu.torch_device)
    kernel = case.kernel.load()
    once, thrice = run(kernel, tensors, rest), run(kernel, tensors, rest, weight=3.0)
    assert errors(thrice, {"gradient 0": 3 * once["gradient 0"]})["gradient 0"] < 1e-6


@pytest.mark.parametrize("case", parameters(_is_fused))
def test_fused_cross_entropy_says_what_it_cannot_do(case: Case, gpu: GpuUnderTest) -> None:
    (logits,), (targets, softcap, scale) = inputs("cross_entropy", (4, 256), case.dtype, gpu.torch_device)
    kernel = case.kernel.load()
    targets[1] = 256
    assert torch.isnan(kernel(logits, targets, softcap, scale))
    with pytest.raises(ValueError, match="at most 40"):
        kernel(logits, targets, 41.0, scale)
    with pytest.raises(ValueError, match=r"want \(rows, vocabulary\)"):
        kernel(logits, targets[:3], softcap, scale)
    loss = kernel(logits, targets.clamp(max=255), softcap, scale)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="backward ran twice"):
        loss.backward()


@pytest.mark.parametrize("case", parameters(_is_fused))
def test_cross_entropy_takes_no_rows_and_strided_logits(case: Case, gpu: GpuUnderTest) -> None:
    (logits,), (targets, softcap, scale) = inputs("cross_entropy", (6, 512), case.dtype, gpu.torch_device)
    kernel, reference = case.kernel.load(), case.op.kernels[-1].load()
    assert kernel(logits[:0], targets[:0], softcap, scale).item() == 0
    part = logits.detach()[::2, 1:257]  # begins at no multiple of 16 bytes
    found, expected = (f(part, targets[::2] % 256, softcap, scale).item() for f in (kernel, reference))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("capability", _each_in_the_matrix(modules=["triton"], interpret=True))
def test_mlp_with_the_tiles_of_the_capability(capability: tuple[int, int], gpu: GpuUnderTest) -> None:
    from trainer.kernels.mlp_triton import mlp

    tensors, _ = inputs("mlp", SHAPES["mlp"][-1], "float16", gpu.torch_device)
    exact = tuple(tensor.detach().float().requires_grad_() for tensor in tensors)
    found = errors(run(mlp, tensors, (TILES[capability],)), run(OPS[2].kernels[-1].load(), exact, ()))
    assert max(found.values()) <= TOLERANCE["float16"], found


@pytest.mark.parametrize("capability", _each_in_the_matrix(modules=["cuda.core"], interpret=True))
@pytest.mark.parametrize("vocabulary", [256, 50257])
def test_cross_entropy_is_compiled_for_the_device(capability: tuple[int, int], vocabulary: int) -> None:
    _compile(capability, vocabulary)


@pytest.mark.parametrize("capability", sorted({c for c in CARDS.values() if c >= (8, 0)}), ids="{0[0]}.{0[1]}".format)
def test_cross_entropy_compiles_for_every_card_it_claims(capability: tuple[int, int]) -> None:
    pytest.importorskip("cuda.core")
    _compile(capability, vocabulary=256)


def _compile(capability: tuple[int, int], vocabulary: int) -> None:
    from trainer.kernels.cross_entropy_cuda import compile_kernel

    for dtype in TOLERANCE:
        code = compile_kernel(capability, dtype=dtype, vocabulary=vocabulary)
        assert code.code.startswith(b"\x7fELF")
        assert b"softcapped_cross_entropy" in code.code


@pytest.mark.parametrize("capability", _each_in_the_matrix())
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_operator_as_dispatched(op: Any, capability: tuple[int, int], gpu: GpuUnderTest) -> None:
    dtype = default_dtype(capability)
    kernel = op.select(Request(capability=capability, dtype=dtype)).kernel.load()
    shape = SHAPES[op.name][-1]
    tensors, rest = inputs(op.name, shape, dtype, gpu.torch_device)
    exact = tuple(tensor.detach().float().requires_grad_() for tensor in tensors)
    found = errors(run(kernel, tensors, rest), run(op.kernels[-1].load(), exact, rest))
    assert max(found.values()) <= TOLERANCE[dtype], found


@pytest.mark.usefixtures("portable_tiles")
@pytest.mark.parametrize(
    "case", parameters(lambda c: c.kernel is not c.op.kernels[-1] and c.dtype in ("float32", "bfloat16"))
)
def test_losses_are_those_of_the_reference(case: Case, gpu: GpuUnderTest) -> None:
    with_kernel = list(_losses({case.op.name: case.kernel.name}, case, gpu))
    with_reference = list(_losses({}, case, gpu))
    assert with_reference[0] - with_reference[-1] > 0.05, "the loss did not move, so equality says nothing"
    assert with_kernel == pytest.approx(with_reference, abs=1e-4 if case.dtype == "float32" else 3e-2)


def _losses(kernels: dict[str, str], case: Case, gpu: GpuUnderTest) -> Iterator[float]:
    """Four steps of a tiny model in which one operator is the kernel under test and the others are references."""
    here = None if gpu.capability is None else (gpu.capability.major, gpu.capability.minor)
    request = Request(capability=here, dtype=case.dtype, head_dim=16, interpret=True)
    operators = load(choose(request, {op.name: op.kernels[-1].name for op in OPS} | kernels))
    dtype = getattr(torch, case.dtype)
    shape = Shape(layers=1, dim=32, head_dim=16, sequence=24)
    model = GPT(shape, operators, seed=3, dtype=dtype).to(gpu.torch_device)
    optimizers = make_optimizers(model, dtype=dtype)
    sampler = Sampler(torch.arange(4096, dtype=torch.uint8), shape.sequence, seed=3)  # each byte is its last plus 1
    for _ in range(4):
        tokens, targets = (x.to(gpu.torch_device) for x in sampler.sample(4))
        loss = model(tokens, targets, 1 / tokens.numel())
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        yield loss.item()
