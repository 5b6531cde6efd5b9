"""Launches one case on the GPU that is here, and says what came of it."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
import torch

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, Problem, digest
from tests.ground_truth.case import Case, CudaCase, TritonCase
from tests.ground_truth.recording import ROOT, launches_of

_ROOM = 4096  # words behind a CUDA kernel's pointer


class Ending(str, Enum):
    """How a launch ended."""

    RAN = "ran"  # to its end, and its result is right
    REFUSED = "refused"  # by the compiler, the driver or the package, before anything ran
    WRONG = "wrong"  # it ran, and its result is not right
    FAULT = "fault"  # it was launched, and failed while it ran
    HUNG = "hung"  # it was launched, or compiled, and never ended
    DIED = "died"  # it took its process with it


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a case."""

    ending: Ending
    error: str = ""  # the type of what was raised
    text: str = ""
    unseen: tuple[str, ...] = ()  # what the prediction is about and the recorder did not see ...
    seen: tuple[str, ...] = ()  # ... and what it saw instead, as JSON
    poisoned: bool = False  # the process can launch nothing after it


def run(case: Case, capability: ComputeCapability) -> Outcome:
    """Launch a case once. Nothing is raised: what was is the outcome."""
    lines: list[Launch | Problem] = []
    recorder = Recorder(lines.append, rootdir=ROOT, capability=capability)
    recorder.install()
    try:
        with recorder.during(case.id):
            outcome = _run(case)
    finally:
        recorder.uninstall()
    unseen, seen = _differences(case, lines)
    return msgspec.structs.replace(outcome, unseen=unseen, seen=seen, poisoned=_is_poisoned())


def _run(case: Case) -> Outcome:
    try:
        found, expected = _launch_cuda(case) if isinstance(case, CudaCase) else _launch_triton(case)
    except Exception as error:  # noqa: BLE001 - any error is the outcome of a case
        return _raised(Ending.REFUSED, error)
    try:
        torch.cuda.synchronize()
        right = torch.equal(found.cpu(), expected)
    except Exception as error:  # noqa: BLE001 - see above
        return _raised(Ending.FAULT, error)
    if right:
        return Outcome(ending=Ending.RAN)
    return Outcome(ending=Ending.WRONG, text=f"{found.flatten()[:4].tolist()} for {expected.flatten()[:4].tolist()}")


def _launch_triton(case: TritonCase) -> tuple[torch.Tensor, torch.Tensor]:
    import triton

    triton.set_allocator(lambda size, _alignment, _stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    work = case.work("cuda")
    case.kernel[case.grid](*work.arguments, **case.meta)
    return work.result, work.expected


def _launch_cuda(case: CudaCase) -> tuple[torch.Tensor, torch.Tensor]:
    import cuda.core as core

    core.Device(0).set_current()
    options = core.ProgramOptions(arch=case.arch, **case.options)
    code = core.Program(case.source, case.code_type, options).compile(case.target)
    kernel = code.get_kernel("kernel")
    _set_attributes(kernel, case)
    layout: dict[str, Any] = {"grid": case.grid, "block": case.block, "shmem_size": case.shared}
    if case.cluster is not None:
        layout["cluster"] = case.cluster
    out = torch.zeros(_ROOM, dtype=torch.int32, device="cuda")
    stream = core.Stream.from_handle(torch.cuda.current_stream().cuda_stream)
    config = core.LaunchConfig(**layout, is_cooperative=case.cooperative)
    core.launch(stream, config, kernel, out.data_ptr())
    return out[:1], torch.tensor([case.threads], dtype=torch.int32)


def _set_attributes(kernel: Any, case: CudaCase) -> None:
    from cuda.bindings import driver

    names = driver.CUfunction_attribute
    wanted = {names.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: 1} if case.non_portable else {}
    if case.opt_in is not None:
        wanted[names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = case.opt_in
    for name, value in wanted.items():
        [status] = driver.cuKernelSetAttribute(name, value, kernel.handle, driver.CUdevice(0))
        if status != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"cuKernelSetAttribute({name.name}, {value}): {status.name}")


def _differences(case: Case, lines: list[Launch | Problem]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the prediction is about and was not recorded, and what was recorded instead: nothing, if it is right."""
    predicted = {_text(launch) for launch in launches_of(case)}
    recorded = {_text(line) if isinstance(line, Launch) else line.message for line in lines}
    unseen = predicted - recorded
    return tuple(sorted(unseen)), tuple(sorted(recorded - predicted)) if unseen else ()


def _text(launch: Launch) -> str:
    """The kernel and what it is an alternative of: not where, nor how it ended. A source is told by its hash."""
    kernel = launch.kernel
    if isinstance(kernel, CudaProgram):
        kernel = msgspec.structs.replace(kernel, source=digest(kernel.source))
    return msgspec.json.encode((kernel, launch.alternative), order="deterministic").decode()


def _is_poisoned() -> bool:
    try:
        torch.cuda.synchronize()
        return bool(torch.ones(64, device="cuda").sum().item() != 64)
    except Exception:  # noqa: BLE001 - whatever it is, this context is lost
        return True


def _raised(ending: Ending, error: Exception) -> Outcome:
    return Outcome(ending=ending, error=type(error).__qualname__, text=" ".join(str(error).split())[:500])
