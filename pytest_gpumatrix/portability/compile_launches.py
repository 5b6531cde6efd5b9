"""Compiles what was launched for other devices, and judges it: in parallel, cached, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.cache import CompileCache
from pytest_gpumatrix.portability.compile_job import Compiled, Job
from pytest_gpumatrix.portability.judge import Fit, Judgement, job_for, judge
from pytest_gpumatrix.portability.launch import Kernel, Launch, digest
from pytest_gpumatrix.portability.pool import CompilingProcess, compiling_environment, refuse_to_nest, run_jobs
from pytest_gpumatrix.portability.tape import Header


def compile_launches(
    launches: Iterable[tuple[Launch, str]],
    profiles: Mapping[str, Profile],
    header: Header,
    *,
    jobs: int,
    budget_seconds: float,
    cache_dir: Path,
    progress: Callable[[int, int], None],
    environ: Mapping[str, str],
) -> Mapping[tuple[str, str], Judgement]:
    """Judge launches, each for the named device, by (digest of the kernel, device).

    ``header`` is the tape's, and says where the kernels are found. At most ``jobs`` processes compile at a time;
    ``progress`` is told how many of all compilations are done. What the budget does not reach is unknown.
    GpuMatrixError in a compiling process: see ``refuse_to_nest``.
    """
    refuse_to_nest(environ)
    wanted: dict[tuple[str, str], tuple[Kernel, Profile]] = {
        (digest(launch.kernel), device): (launch.kernel, profiles[device]) for launch, device in launches
    }
    planned = {place: job_for(kernel, profile) for place, (kernel, profile) in wanted.items()}
    to_do = {job.key: job for job in planned.values() if isinstance(job, Job)}
    results = _compile(
        to_do, header, jobs=jobs, budget_seconds=budget_seconds, cache_dir=cache_dir, progress=progress, environ=environ
    )
    late = Judgement(fit=Fit.UNKNOWN, reason=f"not compiled within the budget of {budget_seconds:g} s")
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


def _compile(
    to_do: Mapping[str, Job],
    header: Header,
    *,
    jobs: int,
    budget_seconds: float,
    cache_dir: Path,
    progress: Callable[[int, int], None],
    environ: Mapping[str, str],
) -> dict[str, Compiled]:
    """The results of the jobs by key, as far as the budget reaches; what is in the cache costs nothing."""
    environment = compiling_environment(environ, cache_dir / "triton")
    cache = CompileCache(cache_dir / "compiled", environment)
    results = {key: found for key, job in to_do.items() if (found := cache.get(job)) is not None}
    missing: Sequence[Job] = [job for key, job in to_do.items() if key not in results]
    progress(len(results), len(to_do))
    rootdir = Path(header.rootdir)

    def start() -> CompilingProcess:
        return CompilingProcess(rootdir, header.sys_path, environment)

    for job, compiled in run_jobs(missing, processes=jobs, start=start, budget_seconds=budget_seconds):
        cache.put(job, compiled)
        results[job.key] = compiled
        progress(len(results), len(to_do))
    return results
