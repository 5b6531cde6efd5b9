"""The launches that a case stands for, made without a GPU: what a recorder must see when it is launched."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from pytest_gpumatrix.portability.recording.specialise import Specialiser, make_specialiser
from pytest_gpumatrix.portability.tape.launch import Alternative, CudaLaunch, CudaProgram, Launch, TritonKernel, digest
from tests.ground_truth.case import Case, CudaCase, TritonCase, in_three

ROOT = Path(__file__).parents[2]
_NO_OPT_IN = 48 * 1024
_OWN = ("sm_90", "compute_90")  # how a program would write the architecture of the GPU that is asked about


def launches_of(case: Case) -> list[Launch]:
    """One, or one for each configuration of an autotuned kernel."""
    return [_cuda_launch(case)] if isinstance(case, CudaCase) else _triton_launches(case)


def _triton_launches(case: TritonCase) -> list[Launch]:
    arguments = case.work("cpu").arguments
    configurations = [config.all_kwargs() for config in getattr(case.kernel, "configs", ())]
    function = _jit_function(case.kernel)
    if not configurations:
        return [_triton_launch(case, _specialised(function, arguments, case.meta))]
    kernels = [_specialised(function, arguments, {**case.meta, **chosen}) for chosen in configurations]
    group = digest(sorted(digest(kernel) for kernel in kernels))
    return [_triton_launch(case, kernel, Alternative(group=group, kept=True)) for kernel in kernels]


def _triton_launch(case: TritonCase, kernel: TritonKernel, alternative: Alternative | None = None) -> Launch:
    return Launch(test=case.id, kernel=kernel, grid=case.grid, alternative=alternative)


def _specialised(function: Any, arguments: tuple[Any, ...], meta: Any) -> TritonKernel:
    specialise: Specialiser = _specialiser(function)
    return specialise(arguments, meta)


@functools.cache
def _specialiser(function: Any) -> Specialiser:
    return make_specialiser(function, ROOT)


def _jit_function(kernel: Any) -> Any:
    while hasattr(kernel, "configs"):
        kernel = kernel.fn
    return kernel


def _cuda_launch(case: CudaCase) -> Launch:
    launch = CudaLaunch(
        kernel="kernel",
        block=in_three(case.block),
        grid=case.blocks,
        dynamic_shared_memory=case.shared,
        cluster=in_three(case.cluster) if case.cluster is not None else None,
        cooperative=case.cooperative,
        shared_memory_opt_in=_room(case),
        non_portable_clusters=case.non_portable,
    )
    program = CudaProgram(
        name="kernel",
        source=case.source,
        code_type=case.code_type,
        target_type=case.target,
        arch=case.arch,
        follows_device=case.arch in _OWN,
        options=dict(case.options),
        launch=launch,
    )
    return Launch(test=case.id, kernel=program, grid=case.blocks)


def _room(case: CudaCase) -> int | None:
    """What the driver lets the kernel have of dynamic shared memory; asked for only where a launch has any."""
    if not case.shared:
        return None
    return _NO_OPT_IN - case.static if case.opt_in is None else case.opt_in
