from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pytest_gpumatrix.gate.requirement import Otherwise, Unmet
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.judging.columns import compiled_columns
from pytest_gpumatrix.portability.judging.compile_launches import Compiling
from pytest_gpumatrix.portability.judging.plan import Judged, Wanted
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, Problem
from pytest_gpumatrix.portability.tape.tape import Tape
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from tests.portability.conftest import Compiler
from tests.portability.sample_run import launches_of

UNMET = {
    ("matmul", "small"): Unmet(reason="needs 160 KiB", otherwise=Otherwise.XFAIL),
    ("fp8", "small"): Unmet(reason="needs 8.9", otherwise=Otherwise.SKIP),
}


def columns(tape: Tape, ran: dict[str, Cell], compiler: Compiler, budget_seconds: float = 300.0) -> tuple[Column, ...]:
    known = catalogue.load()
    return compiled_columns(
        tape,
        ran,
        {"small": known.resolve("rtx-3090"), "large": known.resolve("h100-sxm")},
        lambda test, device: UNMET.get((test, device)),
        Compiling(
            jobs=2,
            budget_seconds=budget_seconds,
            cache_dir=compiler.cache_dir,
            environ=os.environ,
            progress=lambda *_: None,
            note=pytest.fail,
        ),
    )


def cell(test: str, outcome: Outcome = Outcome.PASSED, requirement: str | None = "gpu()") -> Cell:
    return Cell(test=test, outcome=outcome, evidence=Evidence.NATIVE, requirement=requirement)


def test_the_columns_of_a_run(interpreted: Tape, compiler: Compiler) -> None:
    ran = {test: cell(test) for test in ("matmul", "fp8", "aligned", "nothing", "namespaced")}
    ran["tuned"] = cell("tuned", Outcome.FAILED)
    problem = Problem(test="namespaced", message="a launch of other: OSError")
    tape = Tape(header=interpreted.header, launches=interpreted.launches, problems=(problem,))
    found = columns(tape, ran, compiler)
    assert [(column.device, column.evidence) for column in found] == [
        ("small", Evidence.COMPILED),
        ("large", Evidence.COMPILED),
    ]
    small, large = ({test: cell.outcome for test, cell in column.cells.items()} for column in found)
    assert small == {
        "matmul": Outcome.XFAILED,
        "fp8": Outcome.SKIPPED_REQUIREMENT,
        "aligned": Outcome.COMPILED,
        "nothing": Outcome.NOT_RUN,
        "namespaced": Outcome.NOT_RUN,
        "tuned": Outcome.NOT_RUN,
    }
    assert large == {**small, "matmul": Outcome.COMPILED, "fp8": Outcome.COMPILED}
    assert found[0].cells["matmul"].message.startswith("matmul: needs 147,456 B of shared memory per block")
    assert found[0].cells["namespaced"].message == "a launch of other: OSError"


def test_a_test_without_a_requirement_is_judged_as_well(interpreted: Tape, compiler: Compiler) -> None:
    [small, large] = columns(interpreted, {"matmul": cell("matmul", requirement=None)}, compiler)
    assert large.cells["matmul"].outcome is Outcome.COMPILED
    assert small.cells["matmul"].requirement is None


@pytest.mark.parametrize(("requirement", "outcome"), [(None, Outcome.NOT_RUN), ("gpu()", Outcome.FAILED)])
def test_an_ordinary_test_may_compile_for_any_card(
    interpreted: Tape, compiler: Compiler, requirement: str | None, outcome: Outcome
) -> None:
    program = CudaProgram(
        name="k",
        source='extern "C" __global__ void k() {}',
        code_type="c++",
        target_type="cubin",
        arch="sm_120",
        follows_device=False,
        options={},
    )
    tape = dataclasses.replace(interpreted, launches=(Launch(test="compiles", kernel=program),))
    [small, _] = columns(tape, {"compiles": cell("compiles", requirement=requirement)}, compiler)
    assert small.cells["compiles"].outcome is outcome


def test_a_launch_that_the_budget_did_not_reach_leaves_its_test_not_run(
    interpreted: Tape, compiler: Compiler, tmp_path: Path
) -> None:
    fresh = Compiler(cache_dir=tmp_path)
    [small, _] = columns(interpreted, {"aligned": cell("aligned")}, fresh, budget_seconds=0.0)
    assert small.cells["aligned"].outcome is Outcome.NOT_RUN
    assert small.cells["aligned"].message == "scale: not compiled within the budget of 0 s"


def test_nothing_is_compiled_for_what_a_requirement_skips(
    interpreted: Tape, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape(header=interpreted.header, launches=tuple(launches_of(interpreted, "fp8")), problems=())
    asked: list[str] = []

    def ask(wanted: Callable[[], Iterable[Wanted]], *_: object) -> dict[tuple[str, str], Judged]:
        asked.extend(device for item in wanted() for device in item.devices)
        return {}

    monkeypatch.setattr("pytest_gpumatrix.portability.judging.columns.compile_launches", ask)
    [small, _] = columns(tape, {"fp8": cell("fp8")}, compiler)
    assert asked == ["large"]
    assert small.cells["fp8"].message == "needs 8.9"
