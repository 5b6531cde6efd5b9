"""A kernel and what the compiler made of it, against a device -> would it run there."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.judging.block_limits import judge_cuda, judge_triton
from pytest_gpumatrix.portability.judging.judgement import FITS, Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Kernel, Launch


def job_for(kernel: Kernel, profile: Profile) -> Job | Judgement:
    """What to compile in order to judge a kernel for a device; a Judgement where nothing can be compiled."""
    if kernel.obstacle is not None:
        return Judgement(fit=Fit.UNKNOWN, reason=kernel.obstacle)
    if not isinstance(kernel, CudaProgram):
        return Job(kernel=kernel, arch=profile.capability.sm)
    if kernel.target_type not in ("cubin", "ptx"):
        return Judgement(fit=Fit.UNKNOWN, reason=f"{kernel.target_type} code is linked later, and not judged")
    if kernel.follows_device:
        return Job(kernel=kernel, arch=profile.capability.sm)
    try:
        binary = _binary_of(kernel)
        loads = binary.refusal(profile.capability) is None
    except ValueError as error:
        return Judgement(fit=Fit.UNKNOWN, reason=str(error))
    return Job(kernel=kernel, arch=binary.sm if loads else profile.capability.sm)


def judge(kernel: Kernel, compiled: Compiled, profile: Profile, known: Sequence[Profile]) -> Judgement:
    """Hold what the compiler made of ``job_for(kernel, profile)`` against the device.

    ``known`` are the profiles among which to look for a GPU that has more, for the message.
    """
    if isinstance(kernel, CudaProgram) and not kernel.follows_device:
        refusal = _binary_of(kernel).refusal(profile.capability)
        if refusal is not None:
            return Judgement(fit=Fit.FAILS, reason=f"{refusal}; {_if_rebuilt(compiled, profile)}")
    if compiled.status is Status.UNKNOWN:
        return Judgement(fit=Fit.UNKNOWN, reason=compiled.message)
    if compiled.status is not Status.COMPILED:
        survives = compiled.status is Status.REFUSED and compiled.tuner_survives
        return Judgement(fit=Fit.FAILS, reason=compiled.message, tuner_survives=survives)
    if not isinstance(kernel, CudaProgram):
        return judge_triton(compiled, profile, known)
    return FITS if kernel.launch is None else judge_cuda(kernel.launch, compiled.kernels, profile, known)


def judge_launches(launches: Sequence[tuple[Launch, Judgement]]) -> list[tuple[Launch, Judgement]]:
    """One judgement per launch that happens: the configurations of an autotuned one are judged together.

    Each group stands in the place of its first member.
    """
    groups: dict[str, list[tuple[Launch, Judgement]]] = {}
    for number, (launch, judgement) in enumerate(launches):
        name = launch.alternative.group if launch.alternative is not None else f"{number}"
        groups.setdefault(name, []).append((launch, judgement))
    return [(members[0][0], _judge_group(members)) for members in groups.values()]


def _judge_group(members: Sequence[tuple[Launch, Judgement]]) -> Judgement:
    """Tuning tries each configuration that its pruning keeps: it needs one that fits, and none that ends it."""
    if len(members) == 1:
        return members[0][1]
    kept = [found for launch, found in members if launch.alternative is not None and launch.alternative.kept]
    pruned = [found for launch, found in members if launch.alternative is not None and not launch.alternative.kept]
    failing = [found for found in kept if found.fit is Fit.FAILS]
    fatal = next((found for found in failing if not found.tuner_survives), None)
    if fatal is not None:
        return Judgement(fit=Fit.FAILS, reason=f"a configuration ends the tuning: {fatal.reason}")
    unknown = next((found for found in kept if found.fit is Fit.UNKNOWN), None)
    if unknown is not None:  # it might end the tuning
        return unknown
    if len(failing) < len(kept):
        return FITS
    if not failing or any(found.fit is not Fit.FAILS for found in pruned):
        return Judgement(
            fit=Fit.UNKNOWN,
            reason=f"none of the {len(kept)} configurations that were kept here fits; pruning may keep others there",
        )
    return Judgement(fit=Fit.FAILS, reason=f"no configuration of {len(members)} fits: {failing[0].reason}")


def _if_rebuilt(compiled: Compiled, profile: Profile) -> str:
    sm = profile.capability.sm
    match compiled.status:
        case Status.COMPILED:
            return f"it would build for {sm}"
        case Status.REFUSED | Status.CRASHED:
            return f"rebuilding for {sm} fails too: {compiled.message}"
        case Status.UNKNOWN:
            return f"whether it would build for {sm} is not known: {compiled.message}"


def _binary_of(program: CudaProgram) -> Binary:
    return Binary.parse(program.arch, ptx=program.target_type == "ptx")
