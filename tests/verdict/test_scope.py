"""Over which devices a change happened."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict.change import Change
from tests.verdict.runs import PROFILES, cell, expectation, plan, row, run, verdict

P, F, S, C, U = "passed", "failed", "skipped-requirement", "compiled", "unknown"

# (the new-failure's scope, what each device says; a word that is not an outcome: the device is missing)
SCOPES: list[tuple[str, dict[str, str]]] = [
    ("Hopper only, nothing else runs it", {"h100": F, "rtx3090": S}),
    ("Hopper only, nothing else runs it", {"h100": F, "h200": F, "rtx3090": S}),
    ("Hopper only, nothing else runs it", {"h100": F, "h200": S, "rtx3090": S}),
    ("at least Hopper only, nothing else runs it", {"h100": F, "rtx3090": U}),
    ("at least Hopper only, nothing else runs it", {"h100": F, "rtx3090": C}),
    ("at least Hopper only, nothing else runs it", {"h100": F, "rtx3090": "missing"}),
    ("Hopper only, nothing else runs it", {"h100": F, "rtx3090": "not-run"}),
    ("everywhere", {"h100": F}),
    ("everywhere", {"h100": F, "h200": F}),
    ("everywhere", {"h100": F, "rtx3090": F}),
    ("everywhere", {"h100": F, "rtx3090": F, "l40s": S}),
    ("at least everywhere", {"h100": F, "rtx3090": F, "l40s": C}),
    ("Hopper only", {"h100": F, "rtx3090": P}),
    ("Hopper only", {"h100": F, "rtx3090": "xfailed"}),
    ("Hopper only", {"h100": F, "rtx3090": "xpassed!"}),  # it passed there, if unexpectedly
    ("Hopper only", {"h100": F, "rtx3090": "xpassed"}),
    ("Hopper only", {"h100": F, "h200": F, "rtx3090": P, "l40s": P}),
    ("Hopper only", {"h100": F, "h200": S, "rtx3090": P, "l40s": S}),
    ("Ampere only", {"h100": P, "rtx3090": F, "a100": F}),
    ("Ada only", {"l40s": F, "rtx3090": P}),
    ("Turing only", {"t4": F, "rtx3090": P}),
    ("Blackwell only", {"b200": F, "rtx3090": P}),
    ("at least Hopper only", {"h100": F, "rtx3090": P, "l40s": C}),
    ("at least Hopper only", {"h100": F, "rtx3090": P, "l40s": "missing"}),
    ("passes on Hopper only", {"h100": P, "rtx3090": F, "l40s": F}),
    ("passes on Hopper only", {"h100": P, "h200": P, "rtx3090": F, "l40s": F, "t4": S}),
    ("Ampere only", {"h100": P, "rtx3090": F}),
    ("at least passes on Hopper only", {"h100": P, "rtx3090": F, "l40s": F, "t4": U}),
    ("h100 only", {"h100": F, "h200": P, "rtx3090": P}),
    ("h100 only", {"h100": F, "h200": P}),
    ("rtx3090 only", {"h100": P, "rtx3090": F, "a100": P}),
    ("at least h100 only", {"h100": F, "h200": P, "rtx3090": C}),
    ("h100, rtx3090", {"h100": F, "h200": P, "rtx3090": F}),
    ("h100, rtx3090", {"h100": F, "rtx3090": F, "l40s": P, "t4": P}),
    ("at least h100, rtx3090", {"h100": F, "rtx3090": F, "l40s": P, "t4": P, "b200": U}),
    ("h100, rtx3090", {"h100": F, "h200": P, "rtx3090": F, "l40s": P}),
]


def outcomes(of: dict[str, str]) -> dict[str, dict[str, str]]:
    return {
        f"{device}:compiled" if outcome == C else device: {"t": outcome, "o": P}
        for device, outcome in of.items()
        if outcome != "missing"
    }


@pytest.mark.parametrize(("scope", "head"), SCOPES)
def test_scope(scope: str, head: dict[str, str]) -> None:
    config = plan(*head, require={device: "compiled" for device, outcome in head.items() if outcome == C})
    base = run({device: {"t": P, "o": P} for device in head})
    assert row(verdict(config, run(outcomes(head)), base), Change.NEW_FAILURE).scope == scope


def test_a_cell_that_did_not_run_on_a_missing_device_could_say_otherwise() -> None:
    base = run({"h100": {"t": P}})
    head = run({"h100": {"t": F}, "rtx3090:compiled": {"t": "not-run", "o": C}})
    scope = row(verdict(plan("h100", "rtx3090"), head, base), Change.NEW_FAILURE).scope
    assert scope == "at least Hopper only, nothing else runs it"


def test_those_that_failed_before_are_good_and_named() -> None:
    base = run({"h100": {"t": P}, "rtx3090": {"t": F}, "l40s": {"t": P}})
    head = run({"h100": {"t": F}, "rtx3090": {"t": F}, "l40s": {"t": P}})
    found = verdict(plan("h100", "rtx3090", "l40s"), head, base)
    assert row(found, Change.NEW_FAILURE).scope == "Hopper only (rtx3090 failed before)"
    assert row(found, Change.STILL_FAILING).scope == "rtx3090"


def test_those_expected_to_fail_are_good() -> None:
    config = plan("h100", "rtx3090", expectations=(expectation("t", "rtx3090"),))
    head = run({"h100": {"t": F}, "rtx3090": {"t": F}})
    found = verdict(config, head, run({"h100": {"t": P}, "rtx3090": {"t": P}}))
    assert row(found, Change.NEW_FAILURE).scope == "Hopper only"


def test_a_device_that_fails_by_another_change_forbids_only() -> None:
    base = run({"h100": {"t": P}, "l40s": {"t": P}})
    head = run({"h100": {"t": F}, "rtx3090": {"t": F}, "l40s": {"t": P}})
    found = verdict(plan("h100", "rtx3090", "l40s"), head, base)
    assert row(found, Change.NEW_FAILURE).scope == "h100"
    assert row(found, Change.FAILING).scope == "rtx3090"
    without_good = verdict(plan("h100", "rtx3090"), run({"h100": {"t": F}, "rtx3090": {"t": F}}), base)
    assert row(without_good, Change.NEW_FAILURE).scope == "everywhere"


def test_a_fix_is_no_only_pass() -> None:
    base = run({"h100": {"t": P}, "rtx3090": {"t": F}, "l40s": {"t": F}})
    head = run({device: {"t": P} for device in ("h100", "rtx3090", "l40s")})
    assert row(verdict(plan("h100", "rtx3090", "l40s"), head, base), Change.FIXED).scope == "rtx3090, l40s"


def test_a_fix_beside_a_new_failure_is_not_everywhere() -> None:
    base = run({"h100": {"t": F}, "rtx3090": {"t": P}})
    head = run({"h100": {"t": P}, "rtx3090": {"t": F}})
    assert row(verdict(plan("h100", "rtx3090"), head, base), Change.FIXED).scope == "Hopper only"


def test_the_cpu_is_no_device_of_a_scope() -> None:
    base = run({"h100": {"t": P}, "cpu": {"t": P}})
    found = verdict(plan("h100"), run({"h100": {"t": F}, "cpu": {"t": P}}), base)
    assert row(found, Change.NEW_FAILURE).scope == "everywhere"


def native_column(device: str, capability: ComputeCapability | None, outcome: str) -> Column:
    facts = SessionFacts(gpu_compute_capability=capability)
    return Column(device=device, evidence=Evidence.NATIVE, cells={"t": cell("t", outcome)}, facts=facts)


@pytest.mark.parametrize(
    ("device", "capability", "scope"),
    [
        ("lab", ComputeCapability(9, 0), "Hopper only"),  # by what its run recorded
        ("h200", None, "Hopper only"),  # by the profile that its name spells
        ("lab", None, "lab only"),  # of no known family: no scope speaks of one
        ("lab", ComputeCapability(99, 0), "lab only"),
    ],
)
def test_the_family_of_a_device_that_no_plan_names(
    device: str, capability: ComputeCapability | None, scope: str
) -> None:
    other = native_column("rtx3090", None, P)
    head = Results(columns=(native_column(device, capability, F), other), broken={})
    base = Results(columns=(native_column(device, capability, P), other), broken={})
    assert row(verdict(plan("rtx3090"), head, base), Change.NEW_FAILURE).scope == scope


def test_an_unknown_family_that_passes_forbids_a_family_s_name() -> None:
    head = Results(columns=(native_column("h100", None, F), native_column("lab", None, P)), broken={})
    base = run({"h100": {"t": P}, "lab": {"t": P}})
    assert row(verdict(plan("h100"), head, base), Change.NEW_FAILURE).scope == "h100 only"
    columns = (*head.columns, native_column("l40s", None, F))
    base = run({"h100": {"t": P}, "lab": {"t": P}, "l40s": {"t": P}})
    both = verdict(plan("h100"), Results(columns=columns, broken={}), base)
    assert row(both, Change.NEW_FAILURE).scope == "h100, l40s"


def test_every_profile_here_has_a_family() -> None:
    families = {device.profile.architecture for device in plan(*PROFILES).devices}
    assert families == {"Turing", "Ampere", "Ada", "Hopper", "Blackwell"}
