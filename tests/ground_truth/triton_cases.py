"""The Triton launches of the ground truth."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import triton.language as tl

from tests.ground_truth import triton_kernels as kernels
from tests.ground_truth.case import TritonCase, Work


def cases() -> Iterator[TritonCase]:
    """All of them."""
    yield from _products()
    yield from _rooms()
    yield from _descriptors()
    yield from _options()
    yield from _types()
    yield from _assembly()
    yield from _tuned()
    yield from _refused_anywhere()


def _products() -> Iterator[TritonCase]:
    # 232,448 B is the limit. Bytes of one stage: 49,152 | 32,768 | 8,192.
    for (m, n, k), stages in [((128, 256, 64), range(1, 8)), ((128, 128, 64), (7, 8)), ((64, 64, 32), (27, 28, 29))]:
        for count in stages:
            yield _product(f"product-{m}x{n}x{k}-stages{count}", m, n, k, num_stages=count, num_warps=8)
    for name, dtype, result, precision in [
        ("bf16", torch.bfloat16, torch.float32, "tf32"),
        ("tf32", torch.float32, torch.float32, "tf32"),
        ("tf32x3", torch.float32, torch.float32, "tf32x3"),
        ("fp32", torch.float32, torch.float32, "ieee"),
        ("fp64", torch.float64, torch.float64, "ieee"),
        ("int8", torch.int8, torch.int32, "tf32"),
        ("e4m3", torch.float8_e4m3fn, torch.float32, "tf32"),
        ("e5m2", torch.float8_e5m2, torch.float32, "tf32"),
    ]:
        kinds: dict[str, Any] = {"dtype": dtype, "result": result, "precision": precision}
        yield _product(f"product-64x64x64-{name}", 64, 64, 64, num_stages=3, num_warps=4, **kinds)
        yield _product(f"product-128x128x64-{name}-stages8", 128, 128, 64, num_stages=8, num_warps=8, **kinds)


def _rooms() -> Iterator[TritonCase]:
    for sizes in [(8192, 4096), (32768, 16384, 8192, 512, 256), (32768, 16384, 8192, 512, 256, 64)]:
        name, work = f"rooms-{4 * sum(sizes)}", functools.partial(_elementwise_work, 64)
        yield TritonCase(id=name, kernel=kernels.fill_rooms, work=work, meta={"SIZES": sizes, "num_warps": 4})


def _descriptors() -> Iterator[TritonCase]:
    for count in (1, 2, 3, 4):
        yield _by_descriptors(f"host-descriptors-stages{count}", (128, 256, 64), num_stages=count, num_warps=8)
        yield TritonCase(
            id=f"device-descriptors-stages{count}",
            kernel=kernels.product_making_descriptors,
            work=functools.partial(_product_work, 128, 256, 64, torch.float16, torch.float32),
            meta={"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_stages": count, "num_warps": 8},
        )
    for warps in (4, 8):
        yield _by_descriptors(f"warp-specialized-{warps}", (128, 128, 64), specialize=True, num_warps=warps)
    yield _by_descriptors("host-descriptors-block-of-512", (512, 16, 16), num_stages=1, num_warps=8)


def _options() -> Iterator[TritonCase]:
    for warps in (1, 2, 3, 4, 8, 16, 32, 64):
        yield _elementwise(f"warps-{warps}", num_warps=warps)
    for blocks in (1, 2, 3, 4, 8, 16, 32):
        yield _elementwise(f"ctas-{blocks}", num_ctas=blocks)
    yield _product("product-of-two-ctas", 128, 128, 64, num_ctas=2, num_warps=4)
    for registers in (8, 16, 24, 32, 128, 255, 256):
        yield _elementwise(f"maxnreg-{registers}", maxnreg=registers)
    for registers, warps in ((32, 4), (255, 4), (255, 8), (128, 32)):
        yield TritonCase(
            id=f"sort-maxnreg-{registers}-warps-{warps}",
            kernel=kernels.sort_and_add_one,
            work=functools.partial(_elementwise_work, 2048),
            meta={"BLOCK": 2048, "maxnreg": registers, "num_warps": warps},
        )
    yield _elementwise("misspelt-option", num_wraps=4)
    yield _elementwise("block-of-65536", size=65_536)
    yield _elementwise("block-of-2097152", size=2_097_152)
    yield _elementwise("block-of-96", size=96)


def _types() -> Iterator[TritonCase]:
    for dtype in (tl.bfloat16, tl.float8e4nv, tl.float8e5, tl.float8e4b15, tl.float8e4b8, tl.float8e5b16):
        yield _elementwise(f"through-{dtype}", kernels.through_type, TYPE=dtype)
    for kind, dtype in [
        (tl.float16, torch.float16),
        (tl.bfloat16, torch.bfloat16),
        (tl.float32, torch.float32),
        (tl.float64, torch.float64),
        (tl.int64, torch.int64),
        (tl.int16, torch.int16),
    ]:
        work = functools.partial(_atomic_work, dtype)
        meta = {"TYPE": kind, "BLOCK": 128}
        yield TritonCase(id=f"atomic-{kind}", kernel=kernels.sum_atomically, work=work, meta=meta, grid=(4,))
    yield TritonCase(
        id="scaled-dot", kernel=kernels.scaled_dot, work=_scaled_work, meta={"M": 64, "N": 64, "K": 64}, grid=(1,)
    )


def _assembly() -> Iterator[TritonCase]:
    for name, instruction in [
        ("8.9-e5m2", "{ .reg .b16 r; cvt.rn.satfinite.e5m2x2.f32 r, $1, $1; mov.f32 $0, $1; }"),
        ("9.0-griddepcontrol", "griddepcontrol.wait; mov.f32 $0, $1;"),
        ("9.0a-wgmma", "wgmma.fence.sync.aligned; mov.f32 $0, $1;"),
        ("10.0-e2m1", "{ .reg .b8 r; cvt.rn.satfinite.e2m1x2.f32 r, $1, $1; mov.f32 $0, $1; }"),
        ("10.0-redux", "{ .reg .f32 r; redux.sync.max.f32 r, $1, 0xffffffff; mov.f32 $0, $1; }"),
        ("10.0-tcgen05", "tcgen05.fence::before_thread_sync; mov.f32 $0, $1;"),
        ("10.0-add-f32x2", "{ .reg .b64 r; mov.b64 r, {$1, $1}; add.rn.f32x2 r, r, r; mov.f32 $0, $1; }"),
        ("no-instruction", "no.such.thing $0, $1;"),
    ]:
        yield _elementwise(f"assembly-{name}", kernels.assemble_one_input, INSTRUCTION=instruction)


def _tuned() -> Iterator[TritonCase]:
    for name, kernel in [("all-too-large", kernels.tuned_too_large), ("one-left", kernels.tuned_one_left)]:
        work = functools.partial(_product_work, 128, 256, 64, torch.float16, torch.float32, with_rows=False)
        yield TritonCase(id=f"tuned-{name}", kernel=kernel, work=work)
    for name, kernel in [
        ("too-many-warps", kernels.tuned_too_many_warps),
        ("ended-by-three-warps", kernels.tuned_until_it_ends),
    ]:
        yield TritonCase(id=f"tuned-{name}", kernel=kernel, work=functools.partial(_elementwise_work, 64), grid=(2,))


def _refused_anywhere() -> Iterator[TritonCase]:
    yield _elementwise("assertion-held", kernels.add_one_to_small, size=64)
    yield _elementwise("assertion-broken", kernels.add_one_to_small, size=128)
    for shape in [(16, 16, 16, 16), (16, 16, 32, 16), (16, 8, 8, 16), (8, 16, 16, 8), (1, 16, 16, 16), (16, 16, 16, 8)]:
        meta = dict(zip(("M", "K", "OTHER_K", "N"), shape, strict=True))
        yield TritonCase(
            id="dot-{}x{}-by-{}x{}".format(*shape),
            kernel=kernels.dot_of_shapes,
            work=functools.partial(_ones_work, shape[0] * shape[3]),
            meta=meta,
        )


def _product(
    name: str,
    m: int,
    n: int,
    k: int,
    *,
    dtype: torch.dtype = torch.float16,
    result: torch.dtype = torch.float32,
    precision: str = "tf32",
    **options: int,
) -> TritonCase:
    kind = {torch.float32: tl.float32, torch.float64: tl.float64, torch.int32: tl.int32}[result]
    meta = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SUM": kind, "PRECISION": precision, **options}
    work = functools.partial(_product_work, m, n, k, dtype, result)
    return TritonCase(id=name, kernel=kernels.product, work=work, meta=meta)


def _by_descriptors(name: str, block: tuple[int, int, int], *, specialize: bool = False, **options: int) -> TritonCase:
    m, n, k = block
    return TritonCase(
        id=name,
        kernel=kernels.product_of_descriptors,
        work=functools.partial(_described_work, m, n, k),
        meta={"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SPECIALIZE": specialize, **options},
    )


def _elementwise(name: str, kernel: Any = kernels.add_one, *, size: int = 128, **meta: Any) -> TritonCase:
    work = functools.partial(_elementwise_work, size)
    return TritonCase(id=name, kernel=kernel, work=work, meta={"BLOCK": size, **meta})


def _small_integers(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """-1, 0 and 1: every type has them, and their products' sums are exact."""
    generator = torch.Generator().manual_seed(rows * columns)
    return torch.randint(-1, 2, (rows, columns), generator=generator).to(dtype)


def _operands(m: int, n: int, k: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    depth = 4 * k
    a, b = _small_integers(m, depth, dtype), _small_integers(depth, n, dtype)
    return a, b, a.double() @ b.double()


def _product_work(
    m: int, n: int, k: int, dtype: torch.dtype, result: torch.dtype, device: str, *, with_rows: bool = True
) -> Work:
    a, b, exact = _operands(m, n, k, dtype)
    c = torch.zeros(m, n, dtype=result, device=device)
    sizes = (m, n, a.shape[1]) if with_rows else (n, a.shape[1])
    return Work(arguments=(a.to(device), b.to(device), c, *sizes), result=c, expected=exact.to(result))


def _described_work(m: int, n: int, k: int, device: str) -> Work:
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, b, exact = _operands(m, n, k, torch.float16)
    c = torch.zeros(m, n, dtype=torch.float32, device=device)
    blocks = zip((a.to(device), b.to(device), c), ([m, k], [k, n], [m, n]), strict=True)
    descriptors = tuple(TensorDescriptor.from_tensor(tensor, block) for tensor, block in blocks)
    return Work(arguments=(*descriptors, a.shape[1]), result=c, expected=exact.float())


def _elementwise_work(size: int, device: str) -> Work:
    x = torch.tensor([0.0, 0.5, 1.0, 1.5]).repeat_interleave(-(-size // 4))[:size]  # in order, and in every narrow type
    out = torch.zeros(size, device=device)
    return Work(arguments=(x.to(device), out, size), result=out, expected=x + 1.0)


def _ones_work(size: int, device: str) -> Work:
    out = torch.zeros(size, device=device)
    return Work(arguments=(out, out, size), result=out, expected=torch.ones(size))


def _atomic_work(dtype: torch.dtype, device: str) -> Work:
    x, out = torch.ones(128, device=device), torch.zeros(128, dtype=dtype, device=device)
    return Work(arguments=(x, out, 128), result=out, expected=torch.full((128,), 4, dtype=dtype))


def _scaled_work(device: str) -> Work:
    a = _small_integers(64, 64, torch.float8_e4m3fn)
    one = torch.full((64, 2), 127, dtype=torch.uint8, device=device)  # 2 ** (127 - 127)
    out = torch.zeros(64, 64, device=device)
    return Work(arguments=(a.to(device), one, out), result=out, expected=a.float() @ a.float().T)
