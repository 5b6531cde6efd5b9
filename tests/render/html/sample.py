"""A verdict as a real project has it, for the pictures of the page and for its tests."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult, TrendPoint
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction, read_results
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.verdict import DriftRow, MetricRow, Verdict
from tests.render.html.sample_causes import MISMATCH, NEEDS_TMA, SHARED_OOM, TRACEBACK
from tests.verdict.runs import cell, expectation, plan, run, verdict

RECORDS = Path(__file__).parents[2] / "data" / "h200"
DAY = 86_400.0
FIRST_DAY = 1_799_000_000.0  # some day in January 2027
SHAPES = ["1x128x4x64", "2x512x8x64", "2x1024x8x128", "4x2048x16x128"]
TESTS = [
    *(
        f"tests/attention/test_flash.py::test_forward[{shape}-{kind}]"
        for shape in SHAPES
        for kind in ("causal", "full")
    ),
    *(f"tests/attention/test_flash.py::test_backward[{shape}]" for shape in SHAPES),
    *(f"tests/norm/test_rms_norm.py::test_matches_reference[{n}-bf16]" for n in (1024, 4096, 8192)),
    "tests/norm/test_rms_norm.py::test_zero_rows",
    "tests/optim/test_muon.py::test_step_is_deterministic",
    "tests/optim/test_muon.py::test_state_is_sharded",
    "tests/serving/test_cache.py::test_block_reuse",
    "tests/serving/test_cache.py::test_eviction_under_pressure",
    "tests/serving/test_cache.py::test_fp8_cache",
]
FLASH, FP8 = TESTS[:8], TESTS[-1]


def sample() -> Verdict:
    """Two Hopper cards broken by one change, an Ampere by another; one device missing; weaker evidence of two more."""
    config = plan(
        *("h100", "h200", "a100", "rtx3090", "l40s", "b200"),
        require={"rtx3090": "emulated", "l40s": "compiled"},
        expectations=(
            replace(
                expectation("*test_cache.py::test_fp8_cache", "a100"), reason="e4m3 needs 8.9", place="gpumatrix.yml:21"
            ),
            replace(expectation("*test_old_layout*", "h100"), place="gpumatrix.yml:27"),
        ),
    )
    found = verdict(config, run(_head()), run(_base()))
    return replace(
        found,
        metrics=_metrics(),
        drift=_drift(),
        contradictions=(_contradiction(),),
        history=_history(found),
    )


def _head() -> dict[str, dict[str, str | Cell]]:
    hopper: dict[str, str | Cell] = {
        test: _hopper(one) for test, one in _recorded("hopper-fault", "h200.native").items()
    }
    posing = _recorded("posing", "rtx3090.emulated")
    ampere: dict[str, str | Cell] = {**_recorded("base", "h200.native"), **dict.fromkeys(TESTS, "passed")}
    broken = {test: _flash(test) for test in FLASH if "causal" in test}
    lost = {
        "tests/serving/test_cache.py::test_block_reuse": cell("", "skipped", message="no spare memory on this runner")
    }
    shared = cell("", "unknown", message="failed: CUDA out of memory", cause=Category.DEVICE_OOM_SHARED)
    fp8 = cell("", "failed", message="RuntimeError: float8_e4m3fn is not supported", cause=Category.ARCH_FEATURE)
    flaky = cell("", "passed*")
    columns: dict[str, dict[str, str | Cell]] = {
        "h100": {
            **hopper,
            **dict.fromkeys(TESTS, "passed"),
            **lost,
            "tests/optim/test_muon.py::test_state_is_sharded": flaky,
        },
        "h200": {**hopper, **dict.fromkeys(TESTS, "passed")},
        "a100": {
            **ampere,
            **broken,
            FP8: fp8,
            "tests/serving/test_cache.py::test_eviction_under_pressure": replace(shared, cause=SHARED_OOM),
        },
        "rtx3090:emulated": {
            **posing,
            **dict.fromkeys(TESTS[8:], "passed"),
            **dict.fromkeys(FLASH, "skipped-requirement"),
        },
        "l40s:compiled": {**_recorded("base", "rtx3090.compiled"), **_compiled()},
    }
    return {key: {test: _named(test, one, key) for test, one in cells.items()} for key, cells in columns.items()}


def _base() -> dict[str, dict[str, str | Cell]]:
    hopper = dict.fromkeys([*_recorded("base", "h200.native"), *TESTS], "passed")
    hopper |= {test: one.outcome.value for test, one in _recorded("base", "h200.native").items()}
    return {
        "h100": {**hopper, "tests/norm/test_rms_norm.py::test_zero_rows": "failed"},
        "h200": {**hopper, "tests/norm/test_rms_norm.py::test_zero_rows": "failed"},
        "a100": {**hopper, FP8: "failed"},
        "rtx3090:emulated": {test: one.outcome.value for test, one in _recorded("posing", "rtx3090.emulated").items()},
        "l40s:compiled": {
            **_recorded("base", "rtx3090.compiled"),
            "tests/norm/test_rms_norm.py::test_matches_reference[8192-bf16]": "failed",
        },
    }


def _recorded(folder: str, column: str) -> Mapping[str, Cell]:
    device, _, evidence = column.partition(".")
    (found,) = (c for c in read_results(RECORDS / folder).columns if (c.device, c.evidence.value) == (device, evidence))
    return found.cells


def _hopper(one: Cell) -> Cell:
    if one.outcome is not Outcome.FAILED:
        return one
    return replace(one, cause=MISMATCH, place=Place(file="tests/trainer/test_kernels.py", line=112))


def _flash(test: str) -> Cell:
    message = "RuntimeError: Failed to initialize the TMA descriptor 801"
    failed = cell(test, "failed", message=message, details=TRACEBACK, duration=1.25)
    return replace(failed, cause=NEEDS_TMA, place=Place(file="tests/attention/test_flash.py", line=88))


def _compiled() -> dict[str, str | Cell]:
    slow = ("attention_backward: spills 188 B per thread; 1 of 4 blocks fits on an SM",)
    found: dict[str, str | Cell] = dict.fromkeys(TESTS[:16], "compiled")
    found |= {test: cell(test, "compiled", "compiled", slow=slow) for test in TESTS[8:12]}
    message = "needs 147,456 B of shared memory per block; l40s has 101,376 B"
    last = "tests/norm/test_rms_norm.py::test_matches_reference[8192-bf16]"
    return {**found, last: cell(last, "failed", "compiled", message=message, cause=Category.ONCHIP_LIMIT)}


def _named(test: str, one: str | Cell, key: str) -> Cell:
    evidence = key.partition(":")[2] or "native"
    made = one if isinstance(one, Cell) else cell(test, one, evidence)
    spread = random.Random(f"{test}{key}").uniform(0.5, 2)  # noqa: S311 - a sample
    metric = Metric(name="throughput", value=round(412.5 * spread, 1), unit="TFLOP/s", better="higher")
    measured = (metric,) if "test_forward" in test and made.outcome is Outcome.PASSED else made.metrics
    return replace(
        made, test=test, evidence=Evidence(evidence), duration=made.duration or 0.04 * spread, metrics=measured
    )


def _metrics() -> tuple[MetricRow, ...]:
    row = MetricRow(
        test=FLASH[5],
        device="h100",
        name="throughput",
        unit="TFLOP/s",
        better="higher",
        base=588.2,
        head=497.1,
        base_repeats=5,
        head_repeats=5,
        threshold=0.1,
        noise=0.018,
        worse=True,
        red=False,
        reproduce=("pytest", "--gpu-matrix", "--gpu-devices=h100", f"'{FLASH[5]}'"),
    )
    lean = replace(
        row, test=TESTS[9], device="h200", name="peak_memory", unit="GiB", better="lower", base=31.5, head=24.25
    )
    return (row, replace(lean, worse=False))


def _drift() -> tuple[DriftRow, ...]:
    return (
        DriftRow(
            test="tests/trainer/test_command_line.py::test_the_loss_falls_on_the_default_text",
            name="final_loss",
            unit="",
            values={"h100": 3.2791, "h200": 3.2793, "a100": 3.3418},
            reference="h100",
            apart=("a100",),
            tolerance="1%",
            before=False,
            red=False,
        ),
    )


def _contradiction() -> Contradiction:
    return Contradiction(
        test="tests/optim/test_muon.py::test_step_is_deterministic",
        device="a100",
        evidence=Evidence.NATIVE,
        results=(("shard-1/a100.native.xml", Outcome.PASSED), ("shard-2/a100.native.xml", Outcome.FAILED)),
    )


def _history(found: Verdict) -> dict[str, dict[str, CellHistory]]:
    """Forty days of the tests that have something to tell."""
    told: dict[str, dict[str, CellHistory]] = {}
    for row in found.changes:
        for device, part in row.devices.items():
            bad = part.cell is not None and part.cell.outcome is Outcome.FAILED
            told.setdefault(row.test, {})[device] = past(f"{row.test}{device}", bad=bad)
    told[FLASH[5]] = {"h100": past("throughput", bad=False)}
    return told


def past(seed: str, *, bad: bool) -> CellHistory:
    """Forty results, the last of them bad where asked for, with a trend."""
    chance = random.Random(seed)  # noqa: S311 - a sample
    commits = [f"{chance.getrandbits(160):040x}" for _ in range(40)]
    outcomes = [Outcome.FAILED if chance.random() < 0.06 else Outcome.PASSED for _ in commits]
    if bad:
        outcomes[-3:] = [Outcome.FAILED] * 3
    results = [
        PastResult(commit=commit, time=FIRST_DAY + DAY * day, outcome=outcome)
        for day, (commit, outcome) in enumerate(zip(commits, outcomes, strict=True))
    ]
    trend = [
        TrendPoint(commit=commit, value=590 + 8 * math.sin(day / 3) - (85 if day > 36 else 0) + chance.uniform(-4, 4))
        for day, commit in enumerate(commits)
    ]
    return CellHistory(
        results=tuple(results),
        failing_since=results[-3] if bad else None,
        flakes=outcomes[:-3].count(Outcome.FAILED),
        trends={"throughput": tuple(trend)},
    )
