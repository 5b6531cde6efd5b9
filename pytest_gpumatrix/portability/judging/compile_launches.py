"""Compiles what was launched for other devices, and judges it: in parallel, cached, within a budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.cache import FORMAT, CompileCache
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job
from pytest_gpumatrix.portability.compiling.pool import (
    CompilingProcess,
    compiling_environment,
    refuse_to_nest,
    run_jobs,
)
from pytest_gpumatrix.portability.judging.judge import job_for, judge
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import Kernel, Launch, digest
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


def compile_launches(
    launches: Iterable[tuple[Launch, str]], profiles: Mapping[str, Profile], header: Header, compiling: Compiling
) -> Mapping[tuple[str, str], Judgement]:
    """Judge launches, each for the named device, by (digest of the kernel, device).

    ``header`` is the tape's, and says where the kernels are found. GpuMatrixError in a compiling process: see
    ``refuse_to_nest``.
    """
    refuse_to_nest(compiling.environ)
    wanted: dict[tuple[str, str], tuple[Kernel, Profile]] = {
        (digest(launch.kernel), device): (launch.kernel, profiles[device]) for launch, device in launches
    }
    planned = {place: job_for(kernel, profile) for place, (kernel, profile) in wanted.items()}
    results = _compile({job.key: job for job in planned.values() if isinstance(job, Job)}, header, compiling)
    late = Judgement(fit=Fit.UNKNOWN, reason=f"not compiled within the budget of {compiling.budget_seconds:g} s")
    known = catalogue.load().profiles
    judgements = {}
    for place, plan in planned.items():
        kernel, profile = wanted[place]
        if isinstance(plan, Judgement):
            judgements[place] = plan
        elif (compiled := results.get(plan.key)) is None:
            judgements[place] = late
        else:
            judgements[place] = judge(kernel, compiled, profile, known)
    return judgements


def _compile(to_do: Mapping[str, Job], header: Header, compiling: Compiling) -> dict[str, Compiled]:
    """The results of the jobs by key, as far as the budget reaches; what is in the cache costs nothing."""
    environment = compiling_environment(compiling.environ)
    cache = CompileCache(compiling.cache_dir / "compiled", environment)
    results = {key: found for key, job in to_do.items() if (found := cache.get(job)) is not None}
    missing: Sequence[Job] = [job for key, job in to_do.items() if key not in results]
    compiling.progress(len(results), len(to_do))
    if not missing:
        return results
    with _tritons_cache(compiling) as triton_cache:

        def start() -> CompilingProcess:
            own = {**environment, "TRITON_CACHE_DIR": str(triton_cache)}
            return CompilingProcess(Path(header.rootdir), header.sys_path, own)

        for job, compiled in run_jobs(
            missing, processes=compiling.jobs, start=start, budget_seconds=compiling.budget_seconds
        ):
            cache.put(job, compiled)
            results[job.key] = compiled
            compiling.progress(len(results), len(to_do))
    if cache.failure is not None:
        compiling.note(
            f"what was compiled is not kept for the next run: {compiling.cache_dir} cannot be written: "
            f"{cache.failure.strerror or cache.failure}"
        )
    return results


@contextmanager
def _tritons_cache(compiling: Compiling) -> Iterator[Path]:
    """A folder for Triton's own cache: it compiles nothing without one that can be written."""
    folder = compiling.cache_dir / f"triton-{FORMAT}"  # it does not know how we drive the compiler
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        with tempfile.TemporaryDirectory(prefix="gpumatrix-") as elsewhere:
            yield Path(elsewhere)
    else:
        yield folder
