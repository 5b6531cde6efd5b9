"""What of the launched kernels can be judged by what was compiled before, and what must be compiled for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.cache import CompileCache
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.judging.figures import Figures, figures_of
from pytest_gpumatrix.portability.judging.judge import Reference, job_for, judge, why_not_loaded
from pytest_gpumatrix.portability.judging.judgement import Judgement, unknown
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Kernel
from pytest_gpumatrix.portability.tape.tape import Header

STAND_IN = ComputeCapability(9, 0)  # what a build is held against where nothing ran on a GPU


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """A kernel that was launched, and the devices to judge it for."""

    digest: str  # of the kernel
    kernel: Kernel
    devices: Iterable[str]
    ran_on: ComputeCapability | None  # None: no GPU, but Triton's interpreter


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A kernel on a device: whether it would run, and what it was judged by."""

    judgement: Judgement
    figures: Figures | None = None  # None: the compiler made nothing of it
    held_against: ComputeCapability | None = None  # the build that says what is slow


def capability_of(header: Header) -> ComputeCapability | None:
    """Of the GPU that ran; None for the interpreter. GpuMatrixError for a header that names none."""
    try:
        return ComputeCapability.parse(header.capability) if header.capability is not None else None
    except ValueError as error:
        raise GpuMatrixError(f"the tape's header: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pending:
    """A kernel, without its source, on a device for which something is not compiled yet."""

    kernel: Kernel
    ran_on: ComputeCapability | None
    device: str
    key: str
    reference: str | None
    known: Mapping[str, Compiled]  # what the cache had of both


class Plan:
    """What of the kernels is judged by what the cache knows, and what must be compiled for the rest."""

    def __init__(self, profiles: Mapping[str, Profile], cache: CompileCache) -> None:
        self._profiles, self._cache = profiles, cache
        self._known_gpus = catalogue.load().profiles
        self._distinct: dict[Judged, Judged] = {}
        self._pending: dict[tuple[str, str], _Pending] = {}
        self.judged: dict[tuple[str, str], Judged] = {}
        self.missing: set[str] = set()  # keys of jobs
        self.done = 0  # jobs that the cache knew

    @property
    def total(self) -> int:
        """Compilations, done or not."""
        return self.done + len(self.missing)

    def add(self, item: Wanted) -> None:
        """Judge a kernel for those of its devices that are new, or note what is missing."""
        new = [name for name in item.devices if not self._has((item.digest, name))]
        if not new:
            return
        reference = _reference(item)
        plans = {name: job_for(item.kernel, self._profiles[name].capability) for name in new}
        # A key is a digest of the whole kernel, so each is made once.
        keys = {name: plan.key for name, plan in plans.items() if isinstance(plan, Job)}
        jobs = {keys[name]: plan for name, plan in plans.items() if isinstance(plan, Job)}
        reference_key = reference.key if reference is not None else None
        if reference is not None and reference_key is not None:
            jobs[reference_key] = reference
        known = {key: found for key, job in jobs.items() if (found := self._cache.get(job)) is not None}
        self.done += len(known)
        self.missing |= jobs.keys() - known.keys()
        for name, plan in plans.items():
            if isinstance(plan, Judgement):
                self._judge(item.digest, name, Judged(judgement=plan))
                continue
            pending = _Pending(
                kernel=_without_source(item.kernel),
                ran_on=item.ran_on,
                device=name,
                key=keys[name],
                reference=reference_key,
                known=known,
            )
            if {keys[name], reference_key} - {None} <= known.keys():
                self._judge(item.digest, name, self._by(pending, known[keys[name]], {}))
            else:
                self._pending[item.digest, name] = pending

    def jobs(self, item: Wanted) -> Iterator[Job]:
        """All that must be compiled for a kernel, known or not."""
        pending = [name for name in item.devices if (item.digest, name) in self._pending]
        if pending and (reference := _reference(item)) is not None:
            yield reference
        for name in pending:
            if isinstance(plan := job_for(item.kernel, self._profiles[name].capability), Job):
                yield plan

    def settle(self, results: Mapping[str, Compiled], late: str) -> None:
        """Judge the rest. What has no result is unknown, and ``late`` says why."""
        missed = Judged(judgement=unknown(late))
        for (digest, name), pending in self._pending.items():
            compiled = pending.known.get(pending.key) or results.get(pending.key)
            self._judge(digest, name, self._by(pending, compiled, results) if compiled is not None else missed)

    def _has(self, place: tuple[str, str]) -> bool:
        return place in self.judged or place in self._pending

    def _judge(self, digest: str, name: str, judged: Judged) -> None:
        self.judged[digest, name] = self._distinct.setdefault(judged, judged)

    def _by(self, pending: _Pending, compiled: Compiled, results: Mapping[str, Compiled]) -> Judged:
        key = pending.reference
        reference = (pending.known.get(key) or results.get(key)) if key is not None else None
        held, native = None, pending.ran_on
        if reference is not None:
            held = Reference(capability=native or STAND_IN, compiled=reference, native=native is not None)
        return Judged(
            judgement=judge(pending.kernel, compiled, self._profiles[pending.device], self._known_gpus, held),
            figures=figures_of(pending.kernel, compiled),
            held_against=held.capability if held is not None and held.compiled.status is Status.COMPILED else None,
        )


def _reference(item: Wanted) -> Job | None:
    """What to compile in order to say what is slow elsewhere; None for code that does not load there."""
    capability, kernel = item.ran_on or STAND_IN, item.kernel
    plan = job_for(kernel, capability)
    if isinstance(plan, Judgement):
        return None
    return plan if why_not_loaded(kernel, capability) is None else None


def _without_source(kernel: Kernel) -> Kernel:
    if isinstance(kernel, CudaProgram):
        return msgspec.structs.replace(kernel, source="")
    return msgspec.structs.replace(kernel, function=msgspec.structs.replace(kernel.function, text=None))
