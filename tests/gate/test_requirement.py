"""Requirement x device -> a reason, or none."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from packaging.requirements import Requirement as ModuleRequirement

from pytest_gpumatrix.gate.expectation import ExpectedFailure, expected_failure, not_met_because
from pytest_gpumatrix.gate.marks import parse_gpu, parse_gpu_xfail
from pytest_gpumatrix.gate.requirement import Device, Need, Otherwise, modules_present, unmet, unmet_on_cpu
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.triage.cause import Action, Category, Cause


@dataclasses.dataclass(frozen=True)
class Mark:
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def mark(*args: Any, **kwargs: Any) -> Mark:
    return Mark(args, kwargs)


def need(*marks: Mark) -> Need:
    return Need(requirements=tuple(parse_gpu(mark) for mark in marks))


def device(name: str, count: int = 1) -> Device:
    profile = catalogue.load().resolve(name)
    return Device(name=name.replace("-", ""), profile=profile, memory=profile.memory, count=count)


def missing(module: ModuleRequirement) -> str | None:
    return f"needs module {module}, which is not installed"


UNMET = [
    ("rtx-3090", mark(">=9.0"), "needs compute capability >=9.0; rtx3090 has 8.6"),
    ("rtx-5090", mark("sm_90a"), "needs sm_90a, which runs on 9.0 only; rtx5090 has 12.0"),
    ("rtx-3090", mark("sm_100f"), "needs sm_100f, which runs on 10.0 or 10.3 only; rtx3090 has 8.6"),
    ("rtx-3090", mark(features=["fp8", "tma"]), "needs fp8, tma; rtx3090 (8.6) does not have it"),
    ("rtx-5090", mark(features=["wgmma"]), "needs wgmma; rtx5090 (12.0) does not have it"),
    (
        "rtx-5090",
        mark(shared_memory="160KiB"),
        "needs 163,840 B of shared memory per block; rtx5090 (12.0) has 101,376 B",
    ),
    ("h200", mark(count=2), "needs 2 GPUs; h200 has 1"),
]


@pytest.mark.parametrize(("name", "asked", "reason"), UNMET)
def test_what_a_device_lacks_is_said(name: str, asked: Mark, reason: str) -> None:
    found = unmet(need(asked), device(name), modules_present)
    assert found is not None
    assert found.reason == reason
    assert found.otherwise is Otherwise.SKIP


def test_memory_is_that_of_the_card_here() -> None:
    card = dataclasses.replace(device("rtx-3090"), memory=8 * 2**30)
    found = unmet(need(mark(memory="20GiB")), card, modules_present)
    assert found is not None
    assert found.reason == "needs 20 GiB of GPU memory; rtx3090 has 8 GiB"


MET = [
    ("h200", mark()),
    ("h200", mark(">=9.0")),
    ("h200", mark("sm_90a")),
    ("rtx-4090", mark(features=["fp8", "bf16"])),
    ("rtx-5090", mark(">=9.0", features=["fp8", "tma"])),
    ("a100-80gb", mark(shared_memory="160KiB", memory="79GiB")),
]


@pytest.mark.parametrize(("name", "asked"), MET)
def test_what_a_device_has_is_not_refused(name: str, asked: Mark) -> None:
    assert unmet(need(asked), device(name), modules_present) is None


def test_all_marks_must_hold() -> None:
    found = unmet(need(mark(">=8.0"), mark(features=["fp8"])), device("rtx-3090"), modules_present)
    assert found is not None
    assert "fp8" in found.reason


def test_an_unmet_skip_beats_an_unmet_xfail() -> None:
    both = need(mark(">=9.0", otherwise="xfail"), mark(memory="40GiB"))
    found = unmet(both, device("rtx-3090"), modules_present)
    assert found is not None
    assert found.otherwise is Otherwise.SKIP
    alone = unmet(need(mark(">=9.0", otherwise="xfail")), device("rtx-3090"), modules_present)
    assert alone is not None
    assert alone.otherwise is Otherwise.XFAIL


def test_modules_count_here_and_are_taken_as_present_elsewhere() -> None:
    asked = need(mark(modules=["flash_attn>=2.7"]))
    assert unmet(asked, device("h200"), modules_present) is None
    here = unmet(asked, device("h200"), missing)
    assert here is not None
    assert "flash_attn>=2.7" in here.reason


class TestWithoutGpu:
    def why(self, *marks: Mark, interpreting: bool = True) -> str | None:
        return unmet_on_cpu(need(*marks), "no driver", interpreting=interpreting, missing_module=missing)

    def test_a_gpu_test_does_not_run(self) -> None:
        assert self.why(mark(">=9.0")) == "needs a CUDA GPU: gpu('>=9.0'); none here (no driver)"

    def test_an_interpretable_one_does_whatever_its_capability(self) -> None:
        assert self.why(mark(">=9.0", interpret=True)) is None

    def test_only_where_interpreting_is_asked_for(self) -> None:
        why = self.why(mark(interpret=True), interpreting=False)
        assert why is not None
        assert "gpu_interpret = true" in why

    def test_the_nearest_mark_that_speaks_of_it_decides(self) -> None:
        assert self.why(mark(), mark(interpret=True)) is None
        assert self.why(mark(interpret=False), mark(interpret=True)) is not None

    def test_modules_and_count_still_hold(self) -> None:
        assert "needs module nowhere" in str(self.why(mark(interpret=True, modules=["nowhere"])))
        assert "needs 2 GPUs" in str(self.why(mark(interpret=True, count=2)))


class TestExpectedFailure:
    def expected(self, *marks: Mark) -> ExpectedFailure | None:
        def same(name: str, card: Device) -> bool:
            return name == card.name

        return expected_failure([parse_gpu_xfail(mark) for mark in marks], device("rtx-3090"), same)

    def test_by_specifier_and_by_device(self) -> None:
        assert self.expected(mark("<8.9", reason="no e4m3")) == ExpectedFailure(reason="no e4m3")
        assert self.expected(mark("rtx3090")) == ExpectedFailure(reason="expected to fail on rtx3090")
        assert self.expected(mark(">=9.0"), mark("h100"), mark("sm_90a")) is None

    def test_the_nearest_mark_decides(self) -> None:
        first = self.expected(mark("<8.9", reason="near"), mark("<9.0", reason="far"))
        assert first is not None
        assert first.reason == "near"

    def test_only_the_cause_meets_it(self) -> None:
        expected = ExpectedFailure(reason="x", cause=Category.ARCH_FEATURE)
        arch = Cause(category=Category.ARCH_FEATURE, action=Action.SKIP, advice="", rule="")
        bug = Cause(category=Category.GENUINE_FAILURE, action=Action.SKIP, advice="", rule="")
        assert not_met_because(expected, arch, ValueError()) is None
        assert not_met_because(expected, bug, ValueError()) == (
            "expected to fail by arch_feature, failed by genuine_failure"
        )
        assert not_met_because(expected, None, ValueError()) is not None

    def test_only_the_exception_meets_it(self) -> None:
        expected = ExpectedFailure(reason="x", raises=(RuntimeError,))
        assert not_met_because(expected, None, RuntimeError()) is None
        assert not_met_because(expected, None, KeyError()) == "expected RuntimeError, got KeyError"
