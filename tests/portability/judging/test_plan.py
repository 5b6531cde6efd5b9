from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.compiling.cache import CompileCache
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.judging.judgement import Fit
from pytest_gpumatrix.portability.judging.plan import Plan, Wanted, capability_of
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, Kernel, digest
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header
from tests.portability.judging.builders import KERNEL, of_triton, program

SMALL, LARGE = (catalogue.load().resolve(name) for name in ("rtx-3090", "h100-sxm"))
PROFILES = {"small": SMALL, "large": LARGE}
SPILLING = of_triton({"spill_stores": 64})
A100 = ComputeCapability(8, 0)


def wanted(kernel: Kernel = KERNEL, *devices: str, ran_on: ComputeCapability | None = None) -> Wanted:
    return Wanted(digest=digest(kernel), kernel=kernel, devices=devices or ("small",), ran_on=ran_on)


def archs(plan: Plan, item: Wanted) -> list[str]:
    plan.add(item)
    return [job.arch for job in plan.jobs(item)]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (wanted(), ["sm_90", "sm_86"]),  # nothing ran on a GPU: 9.0 stands in for one
        (wanted(KERNEL, "small", "large"), ["sm_90", "sm_86", "sm_90"]),
        (wanted(ran_on=A100), ["sm_80", "sm_86"]),
        (wanted(program(follows_device=True), ran_on=A100), ["sm_80", "sm_86"]),
        (wanted(program(arch="sm_86"), ran_on=A100), ["sm_86"]),  # it does not load on 8.0
        (wanted(program(arch="sm_80"), ran_on=A100), ["sm_80", "sm_80"]),
        (wanted(msgspec.structs.replace(KERNEL, obstacle="defined inside a function")), []),
        (wanted(program(target_type="ltoir")), []),
    ],
)
def test_what_is_compiled_for_the_device_and_to_compare_with(tmp_path: Path, item: Wanted, expected: list[str]) -> None:
    assert archs(Plan(PROFILES, CompileCache(tmp_path, {})), item) == expected


def test_what_the_cache_knows_is_judged_at_once(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path, {})
    cache.put(Job(kernel=KERNEL, arch="sm_86"), SPILLING)
    plan = Plan(PROFILES, cache)
    assert archs(plan, wanted()) == ["sm_90", "sm_86"]
    assert (plan.judged, plan.done, plan.total) == ({}, 1, 2)
    cache.put(Job(kernel=KERNEL, arch="sm_90"), of_triton())
    plan = Plan(PROFILES, cache)
    assert archs(plan, wanted()) == []
    assert (plan.missing, plan.done, plan.total) == (set(), 2, 2)
    [judged] = plan.judged.values()
    assert judged.judgement.fit is Fit.SLOW
    assert judged.held_against == ComputeCapability(9, 0)


@pytest.mark.parametrize(
    ("reference", "held_against"),
    [(of_triton(), ComputeCapability(9, 0)), (Compiled(status=Status.REFUSED), None), (None, None)],
)
def test_what_was_compiled_is_judged_by_what_there_is(
    tmp_path: Path, reference: Compiled | None, held_against: ComputeCapability | None
) -> None:
    plan = Plan(PROFILES, CompileCache(tmp_path, {}))
    plan.add(wanted())
    results = {Job(kernel=KERNEL, arch="sm_86").key: SPILLING}
    plan.settle({**results, **({Job(kernel=KERNEL, arch="sm_90").key: reference} if reference else {})}, late="late")
    [judged] = plan.judged.values()
    assert judged.judgement.fit is Fit.SLOW  # it spills, whatever the other build does
    assert judged.held_against == held_against
    assert judged.figures is not None
    assert judged.figures.code is not None
    assert judged.figures.code.spill_stores == 64


def test_what_was_not_compiled_is_unknown(tmp_path: Path) -> None:
    plan = Plan(PROFILES, CompileCache(tmp_path, {}))
    plan.add(wanted(KERNEL, "small", "large"))
    plan.settle({Job(kernel=KERNEL, arch="sm_90").key: of_triton()}, late="not compiled within the budget")
    found = {device: judged.judgement for (_, device), judged in plan.judged.items()}
    assert (found["small"].fit, found["small"].reason) == (Fit.UNKNOWN, "not compiled within the budget")
    assert found["large"].fit is Fit.FITS


def test_a_program_is_compiled_once_however_it_is_launched(tmp_path: Path) -> None:
    plan = Plan(PROFILES, CompileCache(tmp_path, {}))
    for threads in (64, 2048):
        launch = CudaLaunch(kernel="k", block=(threads, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0)
        plan.add(wanted(program(arch="sm_86", launch=launch)))
    assert len(plan.missing) == 1
    plan.settle({next(iter(plan.missing)): of_triton(kernels={"k": of_triton().kernels["f"]})}, late="")  # type: ignore[index]
    assert [judged.judgement.fit for judged in plan.judged.values()] == [Fit.FITS, Fit.FAILS]


def test_a_device_that_is_asked_for_again_is_not_judged_twice(tmp_path: Path) -> None:
    plan = Plan(PROFILES, CompileCache(tmp_path, {}))
    plan.add(wanted())
    plan.add(wanted(KERNEL, "small", "large"))
    assert plan.total == 2
    plan.settle({}, late="late")
    assert sorted(device for _, device in plan.judged) == ["large", "small"]


def test_a_header_that_names_no_capability() -> None:
    header = Header(schema=SCHEMA, rootdir="/", sys_path=())
    assert capability_of(header) is None
    assert capability_of(msgspec.structs.replace(header, capability="9.0")) == ComputeCapability(9, 0)
    with pytest.raises(GpuMatrixError, match=r"the tape's header: not a compute capability: '\\x1b'"):
        capability_of(msgspec.structs.replace(header, capability="\x1b"))
