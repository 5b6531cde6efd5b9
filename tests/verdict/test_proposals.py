"""Entries proposed for what is bad: grouped, never over a pass, and read back by the configuration's reader."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.config.load import load_config
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.render.expectations import render_expectations_json, render_expectations_yaml
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.proposals import Proposals, propose
from tests.verdict.runs import PROFILES, cell, expectation, plan, run, verdict

UNTIL = datetime.date(2027, 4, 15)
DEVICES = ("t4", "rtx3090", "l40s", "h100", "h200")
NO_IMAGE, OOM = Category.NO_KERNEL_IMAGE, Category.DEVICE_OOM


def proposed(head: Results, base: Results | None = None, *, config: Config | None = None, **more: Any) -> Proposals:
    config = config or plan(*DEVICES)
    settings = {"until": UNTIL, "reason": None, "against_base": base is not None, **more}
    names = frozenset(device.name for device in config.devices)
    return propose(verdict(config, head, base), nameable=names, **settings)


def written(found: Proposals) -> list[tuple[str, Any, str, str | None]]:
    return [(e.test, e.devices, e.expect.value, e.cause.value if e.cause else None) for e in found.entries]


def rows(test: str, cause: Category | None = None, **outcomes: str) -> Mapping[str, Mapping[str, Cell]]:
    """One test's cells by device."""
    return {
        device: {test: cell(test, outcome, cause=cause if outcome in ("failed", "crashed") else None)}
        for device, outcome in outcomes.items()
    }


def together(*parts: Mapping[str, Mapping[str, Cell]]) -> Results:
    columns: dict[str, dict[str, str | Cell]] = {}
    for part in parts:
        for device, cells in part.items():
            columns.setdefault(device, {}).update(cells)
    return run(columns)


@pytest.mark.parametrize(
    ("outcomes", "devices"),
    [
        ({"h100": "failed", "rtx3090": "passed"}, "h100"),  # one device: its name
        ({"t4": "failed", "rtx3090": "failed", "h100": "passed"}, "<9.0"),
        ({"t4": "failed", "rtx3090": "failed", "l40s": "passed", "h100": "passed"}, "<8.9"),
        ({"t4": "passed", "h100": "failed", "h200": "failed"}, ">=9.0"),
        ({"rtx3090": "passed", "t4": "failed", "l40s": "failed"}, ("t4", "l40s")),  # no specifier means just these
        ({"t4": "failed", "h100": "failed"}, ("t4", "h100")),  # nothing to tell them from
        ({"h100": "failed", "h200": "failed"}, "==9.0"),
        ({"t4": "failed", "rtx3090": "failed", "h100": "compiled"}, "<9.0"),
        ({"t4": "failed", "rtx3090": "failed", "h100": "skipped"}, ("t4", "rtx3090")),  # a skip is no result
        ({"cpu": "failed", "h100": "failed", "t4": "passed"}, ("h100", "cpu")),
        ({"t4": "crashed", "rtx3090": "failed", "h100": "passed"}, None),  # two kinds
    ],
)
def test_devices_are_a_specifier_only_if_it_means_just_them(outcomes: dict[str, str], devices: Any) -> None:
    found = proposed(together(rows("t", OOM, **outcomes)))
    if devices is None:
        assert written(found) == [("t", "rtx3090", "fail", "device_oom"), ("t", "t4", "crash", "device_oom")]
    else:
        assert [entry.devices for entry in found.entries] == [devices]


def test_siblings_that_fail_alike_become_one_entry() -> None:
    head = together(*(rows(f"a.py::t[{n}]", NO_IMAGE, t4="failed", h100="passed") for n in range(6)))
    (entry,) = proposed(head).entries
    assert (entry.test, entry.devices, entry.cause) == ("a.py::t[*]", "t4", NO_IMAGE)
    assert (entry.tests, entry.cells, entry.until) == (6, 6, UNTIL)
    assert entry.reason == "the line"


@pytest.mark.parametrize("other", ["passed", "compiled", "xfailed"])
def test_not_if_the_pattern_would_match_one_that_passes_there(other: str) -> None:
    head = together(*(rows(f"a.py::t[{n}]", NO_IMAGE, t4="failed") for n in "ab"), rows("a.py::t[c]", t4=other))
    assert [entry.test for entry in proposed(head).entries] == ["a.py::t[a]", "a.py::t[b]"]


def test_a_sibling_that_fails_by_another_cause_has_its_own_entry() -> None:
    head = together(*(rows(f"a.py::t[{n}]", NO_IMAGE, t4="failed") for n in "ab"), rows("a.py::t[c]", OOM, t4="failed"))
    assert written(proposed(head)) == [
        ("a.py::t[*]", "t4", "fail", "no_kernel_image"),
        ("a.py::t[c]", "t4", "fail", "device_oom"),
    ]


@pytest.mark.parametrize(
    ("outcome", "cause", "entry"),
    [
        ("failed", NO_IMAGE, ("t", "h100", "fail", "no_kernel_image")),
        ("error", None, ("t", "h100", "fail", None)),
        ("crashed", Category.STICKY_CRASH, ("t", "h100", "crash", "sticky_crash")),
        ("timeout", None, ("t", "h100", "crash", None)),
        ("crashed", Category.UNKNOWN, ("t", "h100", "crash", None)),
        ("passed*", None, ("t", "h100", "flaky", None)),
    ],
)
def test_what_is_proposed_for_each_outcome(outcome: str, cause: Category | None, entry: Any) -> None:
    found = proposed(run({"h100": {"t": cell("t", outcome, cause=cause)}}))
    assert (written(found), found.left_out) == ([entry], ())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (cell("t", "unknown"), "its result is unknown"),
        (cell("t", "failed", cause=Category.DEVICE_STATE), "its result is unknown"),  # the machine's fault
        (cell("t", "xpassed!"), "it passes, though a failure is expected"),
    ],
)
def test_what_is_never_proposed(given: Cell, why: str) -> None:
    found = proposed(run({"h100": {"t": given, "o": "passed"}}))
    assert found.entries == ()
    (left,) = found.left_out
    assert (left.test, left.device) == ("t", "h100")
    assert left.reason.startswith(why)


def test_what_an_entry_foretold_is_not_proposed_again() -> None:
    config = plan(*DEVICES, expectations=(expectation("t", "h100"),))
    assert proposed(run({"h100": {"t": "failed"}, "t4": {"t": "failed"}}), config=config).entries[0].devices == "t4"


def test_against_a_base_only_what_is_red_or_newly_flaky() -> None:
    base = run({"h100": {"a": "failed", "b": "passed", "c": "passed", "d": "passed*"}})
    head = run({"h100": {"a": "failed", "b": "failed", "c": "passed*", "d": "passed*"}})
    assert [entry.test for entry in proposed(head, base).entries] == ["b", "c"]


def test_a_device_that_the_file_does_not_name() -> None:
    config = plan("h100")
    only = run({"h100": {"t": "passed"}, "t4": {"t": "failed"}})
    assert written(proposed(only, config=config)) == [("t", "<9.0", "fail", None)]
    lab = proposed(run({"h100": {"t": "passed"}, "lab": {"t": "failed"}}), config=config)
    assert lab.entries == ()
    assert lab.left_out[0].reason == "gpumatrix.yml does not name lab, and no specifier means just these devices"


def test_an_id_that_no_pattern_can_single_out() -> None:
    head = run({"h100": {"a.py::t[*]": "failed", "a.py::t[x]": "passed"}})
    found = proposed(head)
    assert found.entries == ()
    assert found.left_out[0].reason.startswith("a pattern for it would match a test that may pass there")


def test_the_reason_is_given_or_the_line_that_decided() -> None:
    long = run({"h100": {"t": cell("t", "failed", message="a\nb " + "x" * 900)}})
    (entry,) = proposed(long).entries
    assert entry.reason.startswith("a b xx")
    assert len(entry.reason) == 200
    assert proposed(long, reason="tracked").entries[0].reason == "tracked"


def test_the_text_is_a_part_of_the_file(tmp_path: Path) -> None:
    head = together(*(rows(f"a.py::t[{n}]", NO_IMAGE, t4="failed", rtx3090="failed", h100="passed") for n in "ab"))
    text = render_expectations_yaml(proposed(head))
    assert text.splitlines()[1:] == [
        "expectations:",
        "  # 4 cells of 2 tests",
        '  - test: "a.py::t[*]"',
        '    devices: "<9.0"',
        "    expect: fail",
        "    cause: no_kernel_image",
        '    reason: "the line"',
        "    until: 2027-04-15",
    ]
    assert render_expectations_yaml(proposed(run({"h100": {"t": "passed"}}))).splitlines()[1:] == [
        "expectations: []  # nothing to propose"
    ]


NAMES = ["a.py::t", "a.py::T::t", "b.py::u"]
HOSTILE = st.text(st.characters(codec="utf-8") | st.sampled_from("*?[]:/\n\r\t\"'#\\\x85\u202e\u2028"), max_size=8)
ids = st.one_of(
    st.sampled_from(NAMES),
    st.builds(lambda name, inner: f"{name}[{inner}]", st.sampled_from(NAMES), HOSTILE | st.sampled_from("abcde")),
    HOSTILE.filter(bool),
)
CAUSES = st.sampled_from([None, NO_IMAGE, OOM, Category.DEVICE_STATE, Category.UNKNOWN])


@st.composite
def runs(draw: st.DrawFn, tests: list[str]) -> Results:
    columns: dict[str, dict[str, str | Cell]] = {}
    for key in draw(st.lists(st.sampled_from([*DEVICES, "cpu", "lab", "b200", "h100:compiled"]), unique=True)):
        evidence = key.partition(":")[2]
        columns[key] = {
            test: cell(
                test,
                outcome := draw(st.sampled_from([*(o.value for o in Outcome), "passed*", "failed", "passed"])),
                evidence or "native",
                cause=draw(CAUSES) if Outcome(outcome.rstrip("*")) in (Outcome.FAILED, Outcome.CRASHED) else None,
                message=draw(HOSTILE),
            )
            for test in draw(st.lists(st.sampled_from(tests), unique=True))
        }
    return run(columns)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.lists(ids, min_size=1, max_size=8, unique=True), st.booleans())
def test_the_file_with_the_proposals_finds_nothing_red(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, tests: list[str], with_base: bool
) -> None:
    head, base = data.draw(runs(tests)), data.draw(runs(tests)) if with_base else None
    config = plan(*DEVICES, fail_on=frozenset({FailOn.REGRESSION, FailOn.UNEXPECTED_PASS}))
    found = proposed(head, base, config=config)
    devices = "".join(f"  {name}: {{profile: {PROFILES[name]}}}\n" for name in DEVICES)
    path = tmp_path_factory.getbasetemp() / "proposed.yml"
    path.write_text(f"version: 1\ndevices:\n{devices}fail-on: [regression, unexpected-pass]\n", encoding="utf-8")
    before = verdict(load_config(path), head, base)
    with path.open("a", encoding="utf-8") as file:
        file.write(render_expectations_yaml(found))
    read = load_config(path)
    assert [(e.test.text, e.expect, e.cause, e.reason) for e in read.expectations] == [
        (e.test, e.expect, e.cause, e.reason) for e in found.entries
    ]
    after = verdict(read, head, base)
    left = {(item.test, item.device) for item in found.left_out}
    red = {(r.test, device) for r in after.changes if r.red for device in r.devices}
    assert red <= left
    was_red = {(r.test, device) for r in before.changes if r.red for device in r.devices}
    assert red <= was_red  # nothing that passed has become a surprise
    assert not after.stale
    assert json.loads(render_expectations_json(found))["expectations"] == [
        {**entry, "until": str(entry["until"]), "cause": entry.get("cause"), "tests": e.tests, "cells": e.cells}
        for entry, e in zip(yaml.safe_load(render_expectations_yaml(found))["expectations"], found.entries, strict=True)
    ]
