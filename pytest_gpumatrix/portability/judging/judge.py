"""A kernel and what the compiler made of it, against a device -> would it run there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.block_limits import candidates_of, judge_cuda, judge_triton
from pytest_gpumatrix.portability.judging.judgement import FITS, Fit, Judgement, fails, unknown
from pytest_gpumatrix.portability.judging.launch_limits import judge_grid
from pytest_gpumatrix.portability.judging.slowness import Slowness, slowness
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Kernel, Launch


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """The same kernel as it was built for the device that it ran on: what another device's build is held against."""

    capability: ComputeCapability
    compiled: Compiled
    native: bool  # False: nothing ran on a GPU, and this capability stands in for one


def job_for(kernel: Kernel, capability: ComputeCapability) -> Job | Judgement:
    """What to compile in order to judge a kernel for a device; a Judgement where nothing can be compiled."""
    if kernel.obstacle is not None:
        return unknown(kernel.obstacle)
    if not isinstance(kernel, CudaProgram):
        return Job(kernel=kernel, arch=capability.sm)
    if kernel.target_type not in ("cubin", "ptx"):
        return unknown(f"{kernel.target_type} code is linked later, and not judged")
    if kernel.follows_device:
        return Job(kernel=kernel, arch=capability.sm)
    try:
        binary = _binary_of(kernel)
        loads = binary.refusal(capability) is None
    except ValueError as error:
        return unknown(str(error))
    if not loads:
        return Job(kernel=kernel, arch=capability.sm)
    # PTX is translated for the device when it is loaded; for an "a" or "f" target, for that of the device.
    return Job(kernel=kernel, arch=f"{capability.sm}{binary.suffix}" if binary.ptx else binary.sm)


def why_not_loaded(kernel: Kernel, capability: ComputeCapability) -> str | None:
    """Why a device does not load a program that was built for an architecture by name; None for all that follows it."""
    if not isinstance(kernel, CudaProgram) or kernel.follows_device:
        return None
    return _binary_of(kernel).refusal(capability)


def judge(
    kernel: Kernel,
    compiled: Compiled,
    profile: Profile,
    known: Sequence[Profile],
    reference: Reference | None = None,
) -> Judgement:
    """Hold what the compiler made of ``job_for(kernel, profile.capability)`` against the device.

    ``known`` are the profiles among which to look for a GPU that has more, for the message. What fits is held
    against ``reference``: without one, whether it is slow is told by its spills alone.
    """
    refusal = why_not_loaded(kernel, profile.capability)
    if refusal is not None:
        return fails(f"{refusal}; {_if_rebuilt(compiled, profile)}")
    if compiled.status is Status.UNKNOWN:
        return unknown(compiled.message)
    if compiled.status is not Status.COMPILED:
        survives = compiled.status is Status.REFUSED and compiled.tuner_survives
        return fails(compiled.message, tuner_survives=survives)
    if not isinstance(kernel, CudaProgram):
        cooperative = bool(kernel.options.get("launch_cooperative_grid"))
        found = judge_triton(compiled, profile, known, cooperative=cooperative)
    else:
        found = FITS if kernel.launch is None else judge_cuda(kernel.launch, compiled.kernels, profile, known)
    return found if found.fit is not Fit.FITS else _judge_speed(kernel, compiled, reference)


def _judge_speed(kernel: Kernel, compiled: Compiled, reference: Reference | None) -> Judgement:
    """What fits, against the reference: the kernel that was launched, or each that it may be."""
    kernels = _of_launch(kernel, compiled)
    theirs = _of_launch(kernel, reference.compiled) if reference is not None else {}
    found = {name: slowness(figures, theirs.get(name), _against(reference)) for name, figures in kernels.items()}
    findings = _named(found, lambda one: one.findings)
    if findings:
        return Judgement(fit=Fit.SLOW, reason="; ".join(findings))
    not_known = _named(found, lambda one: one.not_known) if kernels else ["what its kernels take"]
    return Judgement(fit=Fit.FITS, reason=f"not known: {', '.join(not_known)}") if not_known else FITS


def _of_launch(kernel: Kernel, compiled: Compiled) -> dict[str, KernelFigures]:
    kernels = compiled.kernels or {}
    if not isinstance(kernel, CudaProgram) or kernel.launch is None:
        return kernels
    return candidates_of(kernel.launch, kernels)


def _against(reference: Reference | None) -> str:
    if reference is None or reference.compiled.status is Status.UNKNOWN:
        return "no other build to compare with"
    build = f"the {'native ' if reference.native else ''}build for {reference.capability}"
    return build if reference.compiled.status is Status.COMPILED else f"{build} fails"


def _named(found: Mapping[str, Slowness], part: Callable[[Slowness], Sequence[str]]) -> list[str]:
    """Of one kernel as it is, of several each with its name."""
    return [text if len(found) == 1 else f"{name}: {text}" for name, one in found.items() for text in part(one)]


def judge_launches(launches: Sequence[tuple[Launch, Judgement]]) -> list[tuple[Launch, Judgement]]:
    """One judgement per launch that happens: the configurations of an autotuned one are judged together.

    Each group stands in the place of its first member. What needs a larger grid than there is fails anywhere.
    """
    launches = [(launch, _judge_layout(launch, judgement)) for launch, judgement in launches]
    groups: dict[str, list[tuple[Launch, Judgement]]] = {}
    for number, (launch, judgement) in enumerate(launches):
        name = launch.alternative.group if launch.alternative is not None else f"{number}"
        groups.setdefault(name, []).append((launch, judgement))
    return [(members[0][0], _judge_group(members)) for members in groups.values()]


def _judge_layout(launch: Launch, judgement: Judgement) -> Judgement:
    return judgement if judgement.fit is Fit.FAILS else judge_grid(launch.grid) or judgement


def _judge_group(members: Sequence[tuple[Launch, Judgement]]) -> Judgement:
    """Tuning tries each configuration that its pruning keeps: it needs one that fits, and none that ends it."""
    others = any(launch.alternative is not None and launch.alternative.open for launch, _ in members)
    if len(members) == 1 and not others:
        return members[0][1]
    kept = [found for launch, found in members if launch.alternative is not None and launch.alternative.kept]
    pruned = [found for launch, found in members if launch.alternative is not None and not launch.alternative.kept]
    failing = [found for found in kept if found.fit is Fit.FAILS]
    fatal = next((found for found in failing if not found.tuner_survives), None)
    if fatal is not None:
        return fails(f"a configuration ends the tuning: {fatal.reason}")
    not_known = next((found for found in kept if found.fit is Fit.UNKNOWN), None)
    if not_known is not None:  # it might end the tuning
        return not_known
    fitting = [found for found in kept if found.fit is not Fit.FAILS]
    if fitting:  # tuning takes the fastest of them
        return next((found for found in fitting if found.fit is Fit.FITS), fitting[0])
    if not failing or others or any(found.fit is not Fit.FAILS for found in pruned):
        return unknown(f"none of the {len(kept)} configurations that were kept here fits; there may be others there")
    return fails(f"no configuration of {len(members)} fits: {failing[0].reason}")


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
