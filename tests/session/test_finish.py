from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.session.finish import Ended, finish_session, remove_stale
from pytest_gpumatrix.session.matrix import Matrix
from pytest_gpumatrix.triage.cause import Category
from tests.verdict.runs import cell, plan, run

FILES = (
    "h200.native.xml",
    "h200.native.jsonl",  # the journal of this run: it has just been begun
    "launches.tape.jsonl",
    "rtx3090.compiled.xml",
    "rtx3090.emulated.xml",
    "rtx3090.emulated.jsonl",
    "rtx3090.emulated/launches.tape.jsonl",
    "rtx3090.native.xml",
    "t4.compiled.xml",
    "t4.emulated.xml",
    "t4.emulated.jsonl",
    "t4.emulated/launches.tape.jsonl",
    "l4.emulated.xml",
    "l4.emulated/launches.tape.jsonl",
    "l4.emulated/somebody's.txt",
)
OF_THE_TAPE = {"h200.native.xml", "launches.tape.jsonl", "rtx3090.compiled.xml", "t4.compiled.xml"}


@pytest.mark.parametrize(
    ("device", "evidence", "emulated", "removed"),
    [
        ("h200", Evidence.NATIVE, (), OF_THE_TAPE),
        (
            "h200",
            Evidence.NATIVE,
            ("rtx3090", "b200"),
            {
                *OF_THE_TAPE,
                "rtx3090.emulated.xml",
                "rtx3090.emulated.jsonl",
                "rtx3090.emulated/launches.tape.jsonl",
                "rtx3090.emulated",
            },
        ),
        (
            "h200",
            Evidence.NATIVE,
            ("l4",),
            {*OF_THE_TAPE, "l4.emulated.xml", "l4.emulated/launches.tape.jsonl"},
        ),
        (
            "t4",
            Evidence.EMULATED,
            ("t4",),  # its launches are held against it
            {"t4.emulated.xml", "t4.emulated/launches.tape.jsonl", "t4.emulated"},
        ),
    ],
)
def test_what_is_stale_is_what_this_run_makes_anew(
    tmp_path: Path, device: str, evidence: Evidence, emulated: tuple[str, ...], removed: set[str]
) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    before = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    remove_stale(device, evidence, emulated, tmp_path)
    assert before - {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == removed
    remove_stale(device, evidence, emulated, tmp_path)  # there is nothing left to remove


def ended(**outcomes: str) -> Ended:
    """A run on h100 with rtx3090 emulated: the outcome of one test there, "!" for one that is the machine's fault."""
    columns = run(
        {
            device: {
                "test_a": cell(
                    "test_a",
                    outcome.rstrip("!"),
                    device.partition(":")[2] or "native",
                    cause=Category.HOST_MEMORY if outcome.endswith("!") else None,
                )
            }
            for device, outcome in outcomes.items()
        }
    ).columns
    config = plan("h100", "rtx3090")
    return finish_session(
        columns[0], columns[1:], {}, Matrix(config=config, chosen=config), interpreting=False, out=None
    )


def last_lines(found: Ended, *, passed: bool) -> list[str]:
    lines = found.lines(width=200, colour=False, encoding="utf-8", passed=passed)
    return [line for line in lines if line.startswith("gpumatrix: ")]


def test_the_machines_fault_is_said_in_one_line() -> None:
    found = ended(h100="failed!")
    assert not found.bad
    (line,) = last_lines(found, passed=False)
    assert line == (
        "gpumatrix: the machine is at fault, not the code: host_memory on h100 (1), first in test_a. "
        "A report counts these results as unknown: mend the machine, and run them again"
    )


def test_an_emulated_column_at_fault_is_not_green() -> None:
    found = ended(h100="passed", **{"rtx3090:emulated": "error!"})
    assert not found.unfit
    assert last_lines(found, passed=True)[-1] == (
        "gpumatrix: exit code 1: results of which nothing is known by the machine's fault: 1"
    )


def test_a_failure_of_the_code_is_nobody_elses() -> None:
    found = ended(h100="failed")
    assert found.bad == ("test_a",)
    assert last_lines(found, passed=False) == []
