"""The result files that report_scale.py reports on: every one of them the same, however often they are made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Action, Category, Cause

DEVICES = ("t4", "a100-80gb", "a10", "rtx-3090", "rtx-4090", "l40s", "h100-sxm", "b200")
COMMITS = {"base": "b" * 40, "head": "a" * 40}
_TRACE = "\n".join(
    ["def test_matches_reference(dtype, head_dim, sequence):"]
    + [f"    tests/kernels/attention.py:{line}: in forward" for line in range(40)]
    + ["E   AssertionError: Tensor-likes are not close!"]
)
_CAUSE = Cause(
    category=Category.GENUINE_FAILURE,
    action=Action.REAL_FAILURE,
    advice="No hardware cause is proven: read it as a bug.",
    rule="default",
)


def write_files(folder: Path, tests: int) -> None:
    """``base/`` and ``head/`` with a file for each device, and gpumatrix.yml."""
    folder.mkdir(parents=True, exist_ok=True)
    devices = "".join(f"  {name}: {{profile: {name}}}\n" for name in DEVICES)
    (folder / "gpumatrix.yml").write_text(f"version: 1\ndevices:\n{devices}", encoding="utf-8")
    for side, commit in COMMITS.items():
        (folder / side).mkdir()
        for number, device in enumerate(DEVICES):
            profile = catalogue.load().resolve(device)
            facts = SessionFacts(
                gpu_name=profile.name,
                gpu_compute_capability=profile.capability,
                driver_version="580.159.04",
                commit=commit,
                dirty=False,
                versions={"python": "3.12.3", "pytest": "9.2.0", "torch": "2.11.0+cu130", "triton": "3.6.0"},
            )
            cells = {cell.test: cell for cell in _cells(side, number, tests)}
            column = Column(device=device, evidence=Evidence.NATIVE, cells=cells, facts=facts)
            write_junit(column, folder / side / f"{device}.native.xml")


def _cells(side: str, device: int, tests: int) -> Iterator[Cell]:
    for number in range(tests):
        file = f"tests/kernels/test_attention_{number // 200:03}.py"
        parameters = f"dtype=bf16-head_dim={64 << number % 3}-sequence={number}"
        if number % 100 == 7:
            parameters += "-mask=" + "01" * 150  # a long id
        yield _cell(f"{file}::TestForward::test_matches_reference[{parameters}]", side, device, number)


def _cell(test: str, side: str, device: int, number: int) -> Cell:
    """Of 50 tests one is skipped on the first three devices, of 200 one fails everywhere, of 500 one is newly bad."""
    requirement = "gpu('>=8.0')" if number % 2 else None
    duration = (number * 37 + device * 11) % 1000 / 500
    if number % 50 == 3 and device < 3:
        message = "needs compute capability >=8.9, this device has 8.0"
        return Cell(
            test=test,
            outcome=Outcome.SKIPPED_REQUIREMENT,
            evidence=Evidence.NATIVE,
            message=message,
            requirement="gpu('>=8.9')",
        )
    if number % 200 == 11 or (side == "head" and number % 500 == 42 and device > 5):
        return Cell(
            test=test,
            outcome=Outcome.FAILED,
            evidence=Evidence.NATIVE,
            message=f"AssertionError: Tensor-likes are not close! Mismatched elements: {number} / 4096",
            details=_TRACE,
            cause=_CAUSE,
            requirement=requirement,
            duration=duration,
            place=Place(file=test.partition("::")[0], line=number % 200 + 1),
        )
    metrics = (Metric(name="latency", value=1 + number % 7 + device / 10, unit="ms"),) if number % 20 == 0 else ()
    return Cell(
        test=test,
        outcome=Outcome.PASSED,
        evidence=Evidence.NATIVE,
        requirement=requirement,
        duration=duration,
        metrics=metrics,
    )
