"""Metrics held against those of a reference device."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.config.metric_rule import MetricRule
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.verdict.runs import cell, measured, metric_rule, plan, run, verdict

ONE_PERCENT = metric_rule("loss", "1%")
TRIO = ("h100", "rtx3090", "l40s")


def losses(**values: Any) -> Results:
    return run({device: {"t": measured("t", loss=value)} for device, value in values.items()})


def judged(head: Results, rule: MetricRule = ONE_PERCENT, base: Results | None = None, *, red: bool = False) -> Verdict:
    fail_on = DEFAULT_FAIL_ON | ({FailOn.NUMERIC_DRIFT} if red else set())
    return verdict(plan(*TRIO, metrics=(rule,), fail_on=fail_on), head, base)


@pytest.mark.parametrize(
    ("rule", "values", "reference", "apart"),
    [
        (ONE_PERCENT, {"h100": 2.0, "rtx3090": 2.02, "l40s": 2.021}, "h100", ("l40s",)),  # 2.02 is just 1% away
        (ONE_PERCENT, {"h100": -2.0, "rtx3090": -1.97, "l40s": -2.0}, "h100", ("rtx3090",)),
        (ONE_PERCENT, {"h100": [1, 2, 9], "rtx3090": [2.0, 7.0, 1.0], "l40s": 2}, None, ()),  # medians
        (metric_rule("loss", "0.5"), {"h100": 0.0, "rtx3090": 0.5, "l40s": 0.6}, "h100", ("l40s",)),
        (metric_rule("l*", "1%", reference="l40s"), {"h100": 2, "rtx3090": 3, "l40s": 3}, "l40s", ("h100",)),
        (ONE_PERCENT, {"rtx3090": 2, "l40s": 3}, "rtx3090", ("l40s",)),  # the first of the plan that has one
        (ONE_PERCENT, {"h100": 2}, None, ()),
        (ONE_PERCENT, {"h100": 2, "cpu": 3}, None, ()),
        (metric_rule("loss"), {"h100": 2, "rtx3090": 3}, None, ()),  # without a tolerance devices are not compared
        (metric_rule("loss", "1%", test="u*"), {"h100": 2, "rtx3090": 3}, None, ()),
    ],
)
def test_which_devices_are_apart(
    rule: MetricRule, values: dict[str, Any], reference: str | None, apart: tuple[str, ...]
) -> None:
    rows = judged(losses(**values), rule).drift
    assert [(row.reference, row.apart) for row in rows] == ([(reference, apart)] if reference else [])


def test_a_row_has_the_values_and_the_tolerance() -> None:
    (row,) = judged(losses(h100=2.0, rtx3090=2.5)).drift
    assert (row.test, row.name, row.unit, row.tolerance) == ("t", "loss", "u", "1%")
    assert dict(row.values) == {"h100": 2.0, "rtx3090": 2.5}
    assert " ".join(row.reproduce) == "pytest --gpu-matrix --gpu-devices=h100,rtx3090 t"


@pytest.mark.parametrize(
    ("base", "before"),
    [
        (None, None),
        (losses(h100=2.0), None),
        (losses(rtx3090=2.0), None),
        (losses(h100=2.0, rtx3090=(2.0, "nats", "lower")), None),
        (losses(h100=2.0, rtx3090=2.0), False),
        (losses(h100=2.0, rtx3090=9.0), True),
    ],
)
def test_what_was_so_in_the_base_is_not_red(base: Results | None, before: bool | None) -> None:
    found = judged(losses(h100=2.0, rtx3090=2.5, l40s=2.0), base=base, red=True)
    assert [(row.before, row.red) for row in found.drift] == [(before, before is not True)]
    assert found.conclusion.value == ("ok" if before else "regression")


@pytest.mark.parametrize("red", [False, True])
def test_it_is_red_only_if_listed_and_is_in_the_headline(red: bool) -> None:
    found = judged(losses(h100=2.0, rtx3090=2.5, l40s=2.0), red=red)
    start = "regression" if red else "ok: 1 test on h100, rtx3090, l40s;"
    assert headline(found).startswith(start)
    assert headline(found).endswith("numeric drift: loss (rtx3090)")


def test_a_hostile_name_stays_out_of_the_headline() -> None:
    values: dict[str, dict[str, Any]] = {device: {"loss\n::error::@org/team": n} for n, device in enumerate(TRIO)}
    head = run({device: {"t": measured("t", **metrics)} for device, metrics in values.items()})
    assert headline(judged(head, metric_rule("loss*", "1%"))).endswith("numeric drift: 1 metric (l40s, rtx3090)")


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (
            {"h100": 1, "rtx3090": (2, "nats", "lower")},
            "loss of t on rtx3090 is not compared: its unit is nats, on h100 u",
        ),
        ({"h100": 1, "rtx3090": math.nan}, "loss of t on rtx3090 is not compared: a value is not finite"),
        ({"h100": math.nan, "rtx3090": 1}, "loss of t on h100 is not compared: a value is not finite"),
    ],
)
def test_what_cannot_be_compared_is_named(values: dict[str, Any], note: str) -> None:
    found = judged(losses(**values))
    assert found.drift == ()
    assert note in found.notes


def test_a_reference_without_a_value_is_named() -> None:
    found = judged(losses(h100=1, rtx3090=2), metric_rule("loss", "1%", reference="l40s"))
    assert found.drift == ()
    assert "loss of t is not compared: the reference device l40s has no value of it" in found.notes


def test_neither_failures_nor_weaker_evidence_are_compared() -> None:
    emulated = cell("t", "passed", "emulated", metrics=measured("t", loss=9).metrics)
    head = run(
        {
            "h100": {"t": measured("t", loss=1)},
            "rtx3090": {"t": measured("t", "failed", loss=9)},
            "l40s:emulated": {"t": emulated},
        }
    )
    assert judged(head).drift == ()


def test_one_device_that_is_newly_apart_makes_the_line_red() -> None:
    base = losses(h100=2.0, rtx3090=2.5, l40s=2.0)
    (row,) = judged(losses(h100=2.0, rtx3090=2.5, l40s=2.5), base=base, red=True).drift
    assert (row.apart, row.before, row.red) == (("rtx3090", "l40s"), False, True)
