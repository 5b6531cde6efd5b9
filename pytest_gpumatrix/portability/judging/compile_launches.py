"""Compiles what was launched for other devices, and judges it: in parallel, cached, within a budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.cache import CompileCache
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job
from pytest_gpumatrix.portability.compiling.compiling_process import (
    CompilingProcess,
    compiling_environment,
    refuse_to_nest,
)
from pytest_gpumatrix.portability.compiling.pool import run_jobs
from pytest_gpumatrix.portability.judging.plan import Judged, Plan, Wanted
from pytest_gpumatrix.portability.tape.tape import Header


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiling:
    """How to compile."""

    jobs: int  # processes at a time
    budget_seconds: float  # what it does not reach is unknown
    cache_dir: Path  # where what was compiled is kept
    environ: Mapping[str, str]
    progress: Callable[[int, int], None]  # told how many of all compilations are done
    note: Callable[[str], None]  # told, once, that nothing can be kept


def budget_seconds(text: str) -> float:
    """A budget as a person writes it. ValueError for what is no finite number of seconds from 0 on."""
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"no number of seconds: {text!r}")
    return seconds


def compile_launches(
    wanted: Callable[[], Iterable[Wanted]], profiles: Mapping[str, Profile], header: Header, compiling: Compiling
) -> dict[tuple[str, str], Judged]:
    """Judge kernels, each for its devices, by (digest of the kernel, device).

    ``wanted`` is gone through twice, first for what the cache knows, then for what must be compiled, so that no more
    kernels are held at a time than there are processes. ``header`` is the tape's, and says where the kernels are found.
    GpuMatrixError in a compiling process: see ``refuse_to_nest``.
    """
    refuse_to_nest(compiling.environ)
    environment = compiling_environment(compiling.environ)
    cache = CompileCache(compiling.cache_dir / "compiled", environment)
    plan = Plan(profiles, cache)
    for item in wanted():
        plan.add(item)
    compiling.progress(plan.done, plan.total)
    if plan.missing:
        results = _compile(_left(wanted(), plan), plan, header, cache, environment, compiling)
        plan.settle(results, late=f"not compiled within the budget of {compiling.budget_seconds:g} s")
    return plan.judged


def _left(wanted: Iterable[Wanted], plan: Plan) -> Iterator[Job]:
    """Each missing job once, in the order of the kernels: what one kernel takes is judged together."""
    left = set(plan.missing)
    for item in wanted:
        if not left:
            return
        for job in plan.jobs(item):
            if job.key in left:
                left.discard(job.key)
                yield job


def _compile(
    jobs: Iterable[Job],
    plan: Plan,
    header: Header,
    cache: CompileCache,
    environment: Mapping[str, str],
    compiling: Compiling,
) -> dict[str, Compiled]:
    """The results of the jobs by key, as far as the budget reaches."""
    results: dict[str, Compiled] = {}
    # Triton compiles past its own cache, and nothing without one that can be written.
    with tempfile.TemporaryDirectory(prefix="gpumatrix-", ignore_cleanup_errors=True) as triton_cache:

        def start() -> CompilingProcess:
            # What Triton hands to its assembler is a file of its own, which stays if the process is ended.
            own = {**environment, "TRITON_CACHE_DIR": triton_cache, "TMPDIR": triton_cache}
            return CompilingProcess(Path(header.rootdir), header.sys_path, own)

        processes = min(compiling.jobs, len(plan.missing))
        done = run_jobs(jobs, processes=processes, start=start, budget_seconds=compiling.budget_seconds)
        with closing(done):  # an interrupt may come here, too
            for job, compiled in done:
                cache.put(job, compiled)
                results[job.key] = compiled
                compiling.progress(plan.done + len(results), plan.total)
    if cache.failure is not None:
        compiling.note(
            f"what was compiled is not kept for the next run: {compiling.cache_dir} cannot be written: "
            f"{cache.failure.strerror or cache.failure}"
        )
    return results
