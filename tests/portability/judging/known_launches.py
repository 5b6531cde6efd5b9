"""What of the known kernels is launched, and the devices that it is built for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.specialise import refer_to
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Kernel, TritonKernel
from tests.portability.judging import known_programs

ROOT = Path(__file__).parents[3]
NATIVE = ComputeCapability(9, 0)
BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}
DESCRIPTORS = {"a": "tensordesc<bf16[128, 64]>", "b": "tensordesc<bf16[256, 64]>", "c": "tensordesc<bf16[128, 256]>"}
POINTERS = dict.fromkeys("abc", "*bf16")
STRIDES = dict.fromkeys(("M", "N", "K", "am", "bk", "cm"), "i32")


def triton_kernel(name: str, types: Mapping[str, str], constants: Mapping[str, Any], **options: Any) -> TritonKernel:
    """A launch of a kernel of ``known_kernels``, whose pointers and whole numbers are all multiples of 16."""
    from tests.portability.judging import known_kernels

    function = getattr(known_kernels, name)
    places = {parameter: (place,) for place, parameter in enumerate(function.arg_names)}
    hints = [[["tt.divisibility", 16]] if not kind.startswith("tensordesc") else [] for kind in types.values()]
    return TritonKernel(
        function=refer_to(function, ROOT),
        signature={parameter: types.get(parameter, "constexpr") for parameter in places},
        constants=tuple((places[parameter], value) for parameter, value in constants.items()),
        attributes=tuple((places[parameter], hint) for parameter, hint in zip(types, hints, strict=True)),
        options=options,
    )


def program(source: str, arch: str | None = None, *, target: str = "cubin", **launch: Any) -> CudaProgram:
    """``arch`` None: built for each device. ``launch``: fields of a CudaLaunch, where there is one."""
    shape = {"kernel": "kernel", "block": (128, 1, 1), "grid": (8, 1, 1), "dynamic_shared_memory": 0, **launch}
    return CudaProgram(
        name="kernel",
        source=source,
        code_type="c++",
        target_type=target,
        arch=arch or NATIVE.sm,
        follows_device=arch is None,
        options={},
        launch=CudaLaunch(**shape) if launch else None,
    )


def kernels() -> dict[str, tuple[Kernel, str]]:
    """Name -> kernel, and the devices it is built for."""
    unit_strides = {"ak": 1, "bn": 1, "cn": 1}
    product = {**POINTERS, **STRIDES}
    tiles = {"a": "*bf16", "c": "*bf16", "M": "i32", "K": "i32"}
    eight: dict[str, Any] = {"num_warps": 8, "num_stages": 4}
    xf = {"x": "*fp32"}
    return {
        "matmul": (triton_kernel("matmul", product, {**unit_strides, **BLOCKS}, **eight), "8.0 8.6 8.9 9.0 10.0 12.0"),
        "relu_squared": (
            triton_kernel("relu_squared", {**DESCRIPTORS, "K": "i32"}, BLOCKS, **eight),
            "8.6 9.0 12.0",
        ),
        "gram 128x128x64": (
            triton_kernel("gram", tiles, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, **eight),
            "8.6 9.0",
        ),
        "gram 64x128x128": (
            triton_kernel("gram", tiles, {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 128}, **eight),
            "8.6 9.0",
        ),
        "fp8": (triton_kernel("to_fp8", {"x": "*fp32", "out": "*u8"}, {"BLOCK": 128}), "8.6 8.9 9.0"),
        "e5m2": (triton_kernel("to_e5m2", {"x": "*fp32", "out": "*i32"}, {"BLOCK": 128}), "8.6 8.9 9.0"),
        "bf16 atomics": (triton_kernel("add_to", {"x": "*bf16", "n": "i32"}, {"BLOCK": 1024}), "8.6 9.0"),
        "bf16 atomics, one a thread": (
            triton_kernel("add_to", {"x": "*bf16", "n": "i32"}, {"BLOCK": 128}),
            "8.6 9.0",
        ),
        "fp32 atomics": (triton_kernel("add_to", {"x": "*fp32", "n": "i32"}, {"BLOCK": 1024}), "8.6 9.0"),
        "3 warps": (triton_kernel("store_one", xf, {"BLOCK": 128}, num_warps=3), "8.6 9.0"),
        "32 warps": (triton_kernel("store_one", xf, {"BLOCK": 1024}, num_warps=32), "8.6 9.0"),
        "64 warps": (triton_kernel("store_one", xf, {"BLOCK": 2048}, num_warps=64), "8.6 9.0"),
        "2 blocks a cluster": (triton_kernel("store_one", xf, {"BLOCK": 128}, num_ctas=2), "8.6 9.0 12.0"),
        "16 blocks a cluster": (triton_kernel("store_one", xf, {"BLOCK": 2048}, num_ctas=16), "9.0 12.0"),
        "C++ e5m2": (program(known_programs.E5M2), "8.6 8.9 9.0"),
        "C++ setmaxnreg, 9.0": (program(known_programs.SETMAXNREG, "sm_90"), "9.0"),
        "C++ setmaxnreg, 9.0a": (program(known_programs.SETMAXNREG, "sm_90a"), "8.6 9.0"),
        "C++ setmaxnreg, 10.0f": (program(known_programs.SETMAXNREG, "sm_100f"), "9.0 10.0"),
        "C++ setmaxnreg, 12.0a": (program(known_programs.SETMAXNREG, "sm_120a"), "12.0"),
        "C++ PTX of 8.0": (program(known_programs.PLAIN, "compute_80", target="ptx"), "8.6 9.0"),
        "C++ PTX of 9.0a": (program(known_programs.SETMAXNREG, "compute_90a", target="ptx"), "8.6 9.0 10.0"),
        "C++ bf16 pairs": (program(known_programs.ADD_PAIR), "8.6 9.0"),
        "C++ bf16, one": (program(known_programs.ADD_ONE), "8.6 9.0"),
        "C++ cluster": (program(known_programs.CLUSTER), "8.6 9.0"),
        "C++ cluster of 2 for 4": (program(known_programs.CLUSTER, cluster=(2, 1, 1)), "9.0"),
        "C++ cluster of 4 for 4": (program(known_programs.CLUSTER, cluster=(4, 1, 1)), "9.0"),
        "C++ 512 threads": (program(known_programs.BOUNDED, block=(512, 1, 1)), "8.6"),
        "C++ 513 threads": (program(known_programs.BOUNDED, block=(513, 1, 1)), "8.6"),
        "C++ 1,024 threads": (program(known_programs.PLAIN, block=(1024, 1, 1)), "8.6"),
        "C++ 1,025 threads": (program(known_programs.PLAIN, block=(1025, 1, 1)), "8.6"),
    }
