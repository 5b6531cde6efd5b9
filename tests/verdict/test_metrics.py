"""Metrics against the base: what counts as a change, and what is not compared."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.config.metric_rule import MetricRule
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import MetricRow, Verdict
from tests.verdict.runs import cell, measured, metric_rule, plan, run, verdict

DEFAULT: tuple[MetricRule, ...] = ()


def judged(base: Any, head: Any, rules: tuple[MetricRule, ...] = DEFAULT, name: str = "m") -> Verdict:
    """The verdict on one test of h100 whose metric went from one value (or its repeats) to another."""
    return verdict(
        plan("h100", metrics=rules),
        run({"h100": {"t": measured("t", **{name: head})}}),
        run({"h100": {"t": measured("t", **{name: base})}}),
    )


@pytest.mark.parametrize(
    ("name", "base", "head", "counts"),
    [
        ("tflops", 100, 110, False),
        ("tflops", 100, 110.1, True),
        ("tflops", 1.0, 1.1, False),  # 1.1 - 1.0 is larger than 0.1, by its rounding
        ("tflops", 100, 89.9, True),
        ("loss", -100, -110.1, True),
        ("gpu_memory_peak", 1_000_000, 1_050_000, False),
        ("gpu_memory_peak", 1_000_000, 1_050_001, True),
        ("compile_time", 10, 15, False),
        ("compile_time", 10, 15.1, True),
        ("compile_time", 0.1, 1.1, False),  # no more than a second
        ("compile_time", 0.1, 1.2, True),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_thresholds_without_a_configuration(
    name: str, base: float, head: float, counts: bool, turned: bool
) -> None:
    better = "higher" if turned else "lower"
    rows = judged((base, "u", better), (head, "u", better), name=name).metrics
    worse = (head > base) is not turned
    assert [(row.base, row.head, row.worse) for row in rows] == ([(base, head, worse)] if counts else [])


@pytest.mark.parametrize(
    ("base", "head", "counts"),
    [(1.0, 1.9, False), (2.0, 3.0, False), (2.0, 3.1, True), (4.0, 5.9, False), (0, 9, False)],
)
def test_the_duration_of_each_test_is_a_metric(base: float, head: float, counts: bool) -> None:
    found = verdict(
        plan("h100"),
        run({"h100": {"t": measured("t", duration=head)}}),
        run({"h100": {"t": measured("t", duration=base)}}),
    )
    assert [(r.name, r.unit, r.base, r.head, r.worse) for r in found.metrics] == (
        [("duration", "s", base, head, True)] if counts else []
    )


# Repeats whose median distance from their median is 2: 3 * 1.4826 * 2 = 8.8956 of 100.
SCATTERED = [100.0, 98.0, 102.0, 97.0, 103.0]


@pytest.mark.parametrize(
    ("base", "head", "threshold", "noise", "counts"),
    [
        (SCATTERED, [108.0] * 3, 0.01, 0.088956, False),
        (SCATTERED, [109.0] * 3, 0.01, 0.088956, True),
        ([100.0] * 5, [value + 9 for value in SCATTERED], 0.01, 0.088956, True),  # the side that scatters more
        ([100.0] * 5, [value + 8 for value in SCATTERED], 0.01, 0.088956, False),
        (SCATTERED, [109.0], 0.01, 0.088956, True),  # one repeat beside five
        ([90.0, 110.0], [103.0, 105.0], 0.01, 0.0, True),  # two repeats say nothing of their scatter
        (SCATTERED, [112.0] * 3, 0.15, 0.088956, False),  # the threshold, where it is larger
        ([100.0, 100.0, 100.0, 100.0, 900.0], [102.0], 0.01, 0.0, True),  # an outlier moves neither figure
    ],
)
def test_noise_is_that_of_the_repeats(
    base: list[float], head: list[float], threshold: float, noise: float, counts: bool
) -> None:
    rows = judged(base, head, (metric_rule("m", threshold=threshold),)).metrics
    assert bool(rows) is counts
    if counts:
        assert rows[0].noise == pytest.approx(noise)
        assert (rows[0].base_repeats, rows[0].head_repeats) == (len(base), len(head))


@pytest.mark.parametrize(
    ("rules", "counts", "worse"),
    [
        ((metric_rule("m", threshold=0.5),), False, None),
        ((metric_rule("m", threshold=0.02),), True, True),
        ((metric_rule("m", threshold=0.02, absolute=5.0),), False, None),
        ((metric_rule("m", threshold=0.02, absolute=4.9),), True, True),
        ((metric_rule("m", threshold=0.02, better="higher"),), True, False),
        ((metric_rule("n*", threshold=0.02),), False, None),
        ((metric_rule("m", test="u*", threshold=0.02),), False, None),
        ((metric_rule("m", test="t*", threshold=0.02), metric_rule("m", threshold=0.5)), True, True),  # the first
        ((metric_rule("m", threshold=0.5), metric_rule("m", threshold=0.02)), False, None),
    ],
)
def test_the_rules_of_the_file(rules: tuple[MetricRule, ...], counts: bool, worse: bool | None) -> None:
    rows = judged(100.0, 105.0, rules).metrics
    assert bool(rows) is counts
    assert not counts or rows[0].worse is worse


@pytest.mark.parametrize(
    ("base", "head", "note"),
    [
        ((1, "ms", "lower"), (9, "s", "lower"), "its unit is s, in the baseline ms"),
        ((1, "s", "lower"), (9, "s", "higher"), "higher is better, in the baseline lower"),
        (0, 9, "it is 0 in the baseline; say by `absolute` in gpumatrix.yml what counts"),
        (1, math.nan, "a value is not finite"),
        (1, math.inf, "a value is not finite"),
        ([1, 2, math.nan], 9, "in the baseline a value is not finite"),
        (1, [1e308, 1.7e308], "a value is not finite"),  # their mean
        (1, [(9, "s", "lower"), (9, "ms", "lower")], "its repeats differ in their unit"),
        ([(1, "s", "lower"), (1, "s", "higher")], 9, "in the baseline its repeats differ in what is better"),
    ],
)
def test_what_cannot_be_compared_is_named_and_no_change(base: Any, head: Any, note: str) -> None:
    found = judged(base, head)
    assert found.metrics == ()
    assert found.notes == (f"m of t on h100 is not compared: {note}",)


def test_a_zero_base_is_compared_by_the_absolute_floor() -> None:
    rules = (metric_rule("m", absolute=2.0),)
    assert [row.head for row in judged(0, 3, rules).metrics] == [3]
    assert judged(0, 2, rules).metrics == ()
    assert judged(0, 0).notes == ()


def test_a_base_around_zero_has_its_noise_all_the_same() -> None:
    rules = (metric_rule("m", absolute=2.0),)
    assert judged([-50, -20, 0, 20, 50], [3] * 3, rules).metrics == ()
    (row,) = judged([-50, -20, 0, 20, 50], [90] * 3, rules).metrics
    assert (row.base, row.noise) == (0, 0)  # no relative figure
    assert [row.head for row in judged([5e-324, 1e-3, -1e-3], [9] * 3).metrics] == [9]


def test_many_of_a_kind_are_one_note() -> None:
    def columns(unit: str) -> dict[str, dict[str, Cell]]:
        tests = [*(f"t{n}" for n in range(4)), "x" * 10_000]
        return {"h100": {test: measured(test, m=(1.0, unit, "lower")) for test in tests}}

    (note,) = verdict(plan("h100"), run(columns("s")), run(columns("ms"))).notes
    assert note == "m of t0 on h100 is not compared: its unit is s, in the baseline ms (4 more like it)"


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("failed", "passed"),
        ("passed", "failed"),
        ("skipped", "passed"),
        ("passed", "xfailed"),
        ("xpassed!", "passed"),
        ("unknown", "passed"),
    ],
)
def test_only_passes_are_compared(base: str, head: str) -> None:
    found = verdict(
        plan("h100"),
        run({"h100": {"t": measured("t", head, duration=99, m=2)}}),
        run({"h100": {"t": measured("t", base, duration=1, m=1)}}),
    )
    assert found.metrics == ()


@pytest.mark.parametrize("weaker", ["head", "base"])
def test_only_native_results_are_compared(weaker: str) -> None:
    native = run({"h100": {"t": measured("t", m=1)}})
    emulated = run({"h100:emulated": {"t": cell("t", "passed", "emulated", metrics=measured("t", m=9).metrics)}})
    pair = (emulated, native) if weaker == "head" else (native, emulated)
    assert verdict(plan("h100", require={"h100": "emulated"}), *pair).metrics == ()


@pytest.mark.parametrize(
    ("base", "head", "note"),
    [
        ("H100 PCIe", "H100 SXM", "they are of H100 SXM, the baseline's of H100 PCIe"),
        (None, "H100 SXM", "they are of H100 SXM, the baseline's of a GPU that is not named"),
        (None, None, "they are of a GPU that is not named"),
    ],
)
def test_other_hardware_is_said_and_not_compared(base: str | None, head: str | None, note: str) -> None:
    def one(value: float, gpu: str | None) -> Results:
        return run({"h100": {"t": measured("t", m=value)}}, gpus={"h100": gpu})

    found = verdict(plan("h100"), one(9, head), one(1, base))
    assert (found.metrics, found.notes) == ((), (f"the metrics of h100 are not compared: {note}",))


def test_durations_alone_need_no_word_on_other_hardware() -> None:
    plain = run({"h100": {"t": measured("t", duration=9)}}, gpus={"h100": None})
    assert verdict(plan("h100"), plain, run({"h100": {"t": measured("t", duration=1)}})).notes == ()


def test_the_cpu_and_a_moved_test() -> None:
    head = run({"h100": {"b.py::t": measured("b.py::t", m=9)}, "cpu": {"b.py::t": measured("b.py::t", m=9)}})
    base = run({"h100": {"a.py::t": measured("a.py::t", m=1)}, "cpu": {"a.py::t": measured("a.py::t", m=1)}})
    rows = verdict(plan("h100"), head, base).metrics
    assert [(row.test, row.device, row.base, row.head) for row in rows] == [("b.py::t", "h100", 1, 9)]


@pytest.mark.parametrize("red", [False, True])
def test_a_worse_metric_is_red_only_if_listed_and_then_counts(red: bool) -> None:
    config = plan("h100", fail_on=DEFAULT_FAIL_ON | ({FailOn.METRIC} if red else set()))
    head = run({"h100": {"t": measured("t", m=9, n=(9, "u", "higher"))}})
    found = verdict(config, head, run({"h100": {"t": measured("t", m=1, n=(1, "u", "higher"))}}))
    assert {(row.name, row.worse, row.red) for row in found.metrics} == {("m", True, red), ("n", False, False)}
    line = "regression: 1 metric worse (h100)" if red else "ok: 1 test on h100; 1 metric worse (h100)"
    assert (found.exit_code, headline(found)) == (int(red), line)
    assert " ".join(found.metrics[0].reproduce) == "pytest --gpu-matrix --gpu-devices=h100 t"


def test_worse_ones_come_first() -> None:
    head = run({"h100": {"a": measured("a", m=(9, "u", "higher")), "b": measured("b", m=9)}})
    base = run({"h100": {"a": measured("a", m=(1, "u", "higher")), "b": measured("b", m=1)}})
    rows: tuple[MetricRow, ...] = verdict(plan("h100"), head, base).metrics
    assert [(row.test, row.worse) for row in rows] == [("b", True), ("a", False)]
