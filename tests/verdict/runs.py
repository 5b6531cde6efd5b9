"""Runs, plans and verdicts in few words, for the tests of verdict/ and render/."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.device import Device
from pytest_gpumatrix.config.expectation import DeviceSelector, Expectation
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.config.metric_rule import MetricRule, Tolerance
from pytest_gpumatrix.config.pattern import NamePattern, TestPattern
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction, Results
from pytest_gpumatrix.triage.cause import Action, Category, Cause
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.judge import judge
from pytest_gpumatrix.verdict.verdict import ChangeRow, Verdict

TODAY = datetime.date(2027, 1, 15)
PROFILES = {
    "t4": "t4",  # Turing 7.5
    "a100": "a100-80gb",  # Ampere 8.0
    "rtx3090": "rtx-3090",  # Ampere 8.6
    "l40s": "l40s",  # Ada 8.9
    "h100": "h100-sxm",  # Hopper 9.0
    "h200": "h200",  # Hopper 9.0
    "b200": "b200",  # Blackwell 10.0
}


def cell(test: str, outcome: str, evidence: str = "native", *, cause: Category | None = None, **more: object) -> Cell:
    """A cell; "xpassed!" is strict, "passed*" was rerun."""
    found = (
        Cause(category=cause, evidence="the line", action=Action.SKIP, advice="do this", rule="r") if cause else None
    )
    fields = {"strict": outcome.endswith("!"), "reruns": int(outcome.endswith("*")), "requirement": "gpu()", **more}
    return Cell(test=test, outcome=Outcome(outcome.rstrip("!*")), evidence=Evidence(evidence), cause=found, **fields)  # type: ignore[arg-type]


def measured(test: str, outcome: str = "passed", duration: float = 0.0, **metrics: Any) -> Cell:
    """A native cell with metrics: a value, or (value, unit, better), or a list of repeats of either."""
    found = []
    for name, given in metrics.items():
        for repeat in given if isinstance(given, list) else [given]:
            value, unit, better = repeat if isinstance(repeat, tuple) else (repeat, "u", "lower")
            found.append(Metric(name=name, value=value, unit=unit, better=better))
    return cell(test, outcome, metrics=tuple(found), duration=duration)


def run(
    columns: Mapping[str, Mapping[str, str | Cell]],
    broken: Mapping[str, str] | None = None,
    *,
    gpus: Mapping[str, str | None] | None = None,
    refused: Mapping[str, str] | None = None,
    contradictions: tuple[Contradiction, ...] = (),
) -> Results:
    """Results; a key is a device, or "device:evidence"; a value is by test an outcome or a cell.

    ``gpus``: what NVML calls the GPU of a device, where it is not "NVIDIA <device>".
    """
    found = []
    for key, cells in columns.items():
        device, _, evidence = key.partition(":")
        made = {t: c if isinstance(c, Cell) else cell(t, c, evidence or "native") for t, c in cells.items()}
        name = (gpus or {}).get(device, None if device == "cpu" else f"NVIDIA {device}")
        facts = SessionFacts(gpu_name=name)
        found.append(Column(device=device, evidence=Evidence(evidence or "native"), cells=made, facts=facts))
    return Results(columns=tuple(found), broken=broken or {}, refused=refused or {}, contradictions=contradictions)


def plan(
    *names: str,
    expectations: tuple[Expectation, ...] = (),
    fail_on: frozenset[FailOn] = DEFAULT_FAIL_ON,
    require: Mapping[str, str] | None = None,
    metrics: tuple[MetricRule, ...] = (),
) -> Config:
    """Devices of PROFILES, native unless ``require`` says what evidence one needs."""
    devices = tuple(
        Device(
            name=name,
            profile=catalogue.load().resolve(PROFILES[name]),
            require=Evidence((require or {}).get(name, "native")),
        )
        for name in names
    )
    return Config(devices=devices, expectations=expectations, fail_on=fail_on, metrics=metrics)


def metric_rule(name: str, tolerance: str = "", **more: Any) -> MetricRule:
    """An entry of ``metrics``; a tolerance is "1%" or a number."""
    held: Tolerance | None = None
    if tolerance.endswith("%"):
        held = Tolerance(text=tolerance, relative=float(tolerance[:-1]) / 100)
    elif tolerance:
        held = Tolerance(text=tolerance, absolute=float(tolerance))
    fields = {"threshold": None, "absolute": None, "reference": None, "better": None, **more}
    test = TestPattern(text=fields.pop("test", "*"))
    return MetricRule(name=NamePattern(text=name), test=test, tolerance=held, place="gpumatrix.yml:9", **fields)


def expectation(
    test: str,
    *devices: str,
    expect: str = "fail",
    cause: Category | None = None,
    until: str | None = None,
    strict: bool = True,
) -> Expectation:
    """What is expected on these devices: a failure, if not said otherwise."""
    return Expectation(
        test=TestPattern(text=test),
        devices=DeviceSelector(text=", ".join(devices), names=frozenset(devices)),
        expect=Expect(expect),
        cause=cause,
        reason="known",
        until=datetime.date.fromisoformat(until) if until else None,
        strict=strict,
        place="gpumatrix.yml:7",
    )


def verdict(config: Config, head: Results, base: Results | None = None) -> Verdict:
    """What judge says on TODAY."""
    return judge(config, head, base, today=TODAY)


def row(found: Verdict, change: Change, test: str = "t") -> ChangeRow:
    """The one row of a test and change on GPUs."""
    (only,) = [r for r in found.changes if r.change is change and r.test == test]
    return only


def changes(found: Verdict) -> set[tuple[str, str, str]]:
    """Every change as (test, device, change)."""
    return {(r.test, device, r.change.value) for r in found.changes for device in r.devices}
