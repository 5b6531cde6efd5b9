"""A report on a terminal: what it says, and that it fits."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.render.marks import ASCII, UNICODE, MarkSet, mark_set
from pytest_gpumatrix.render.terminal import render_matrix, render_report
from pytest_gpumatrix.render.text import width
from pytest_gpumatrix.triage.cause import Category
from tests.verdict.runs import PROFILES, cell, expectation, plan, run, verdict

BOTH = plan("h100", "rtx3090")
BASE = run({"h100": {"t.py::a": "passed", "t.py::b": "passed"}, "rtx3090": {"t.py::a": "passed", "t.py::b": "failed"}})
FAILED = cell("t.py::a", "failed", cause=Category.ARCH_FEATURE, message="E  needs\n\x1b[31msm_90a\x1b[0m")
HEAD = run(
    {
        "h100": {"t.py::a": FAILED, "t.py::b": "passed", "t.py::s": "skipped"},
        "rtx3090": {"t.py::a": "passed", "t.py::b": "failed", "t.py::s": "skipped-requirement"},
    }
)


def test_a_whole_report() -> None:
    assert (
        render_report(verdict(BOTH, HEAD, BASE))
        == """\
regression: 1 new-failure (Hopper only); 1 test never run; 1 still-failing
  (Ampere only)
Did this change break a device? Yes: tests newly fail on h100

 1 h100     9.0  native    ✓ 1 passed  ✗ 1 failed  s 1 skipped
 2 rtx3090  8.6  native    ✓ 1 passed  ✗ 1 failed  - 1 requirement unmet

                                                                    h100 rtx3090
t.py::a                                                             ✗    ✓
t.py::s                                                             s    -
t.py::b                                                             ✓    ✗
✓ passed  ✗ failed  s skipped  - requirement unmet

Red:
t.py::a
  new-failure, Hopper only
  h100: failed (native): E needs sm_90a
  arch_feature -> skip, confidence high: do this
  decided by: the line
  pytest --gpu-matrix --gpu-devices=h100 t.py::a

Never run:
t.py::s
  h100: skipped
  rtx3090: skipped-requirement
  pytest --gpu-matrix --gpu-devices=h100,rtx3090 t.py::s

Changed, not red:
still-failing (Ampere only) t.py::b

1 of 3 tests not known to have run natively on any device
a test that no device runs is red by `fail-on: never-run`; an expectation
  `expect: skip` in gpumatrix.yml lets one be
"""
    )


def test_the_matrix_alone_has_no_verdict() -> None:
    text = render_matrix(verdict(BOTH, HEAD))
    assert "regression" not in text
    assert "pytest --gpu-matrix" not in text
    assert "t.py::a" in text


def test_evidence_is_seen_in_every_cell_and_no_weaker_pass_looks_like_one() -> None:
    head = run(
        {
            "h100": {"a": "passed", "b": "failed"},
            "rtx3090:emulated": {"a": "passed", "b": "failed"},
            "l40s:compiled": {"a": "compiled", "b": "failed", "c": "not-run"},
            "t4": {"a": "unknown", "b": "xfailed"},
        }
    )
    text = render_matrix(verdict(plan("h100", "rtx3090", "l40s", "t4"), head))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if re.match(r"[abc]\b", line)}
    assert rows == {"a": ["✓", "≈", "⚙", "?"], "b": ["✗", "✗≈", "✗⚙", "x"]}
    assert "≈ 1 passed (emulated)" in text
    assert "⚙ 1 compiled" in text
    assert "missing: only compiled results; native is required" in " ".join(text.split())


EVERY_KIND = run(
    {
        "h100": {"a": "passed", "b": "failed", "c": "skipped-requirement"},
        "rtx3090:emulated": {"a": "passed", "b": "failed"},
        "l40s:compiled": {
            "a": cell("a", "compiled", "compiled", slow=("scale: spills 8 B per thread",)),
            "b": cell("b", "compiled", "compiled"),
            "c": "not-run",
        },
    }
)


@pytest.mark.parametrize(
    ("encoding", "legend"),
    [
        (
            "utf-8",
            "✓ passed  ≈ emulated  ⚙ compiled  ↓ slow there  ✗ failed  - requirement unmet  · not run",
        ),
        ("ascii", "P passed  ~ emulated  c compiled  v slow there  F failed  - requirement unmet  . not run"),
    ],
)
@pytest.mark.parametrize("colour", [False, True])
def test_one_line_tells_the_marks_that_occur(encoding: str, legend: str, colour: bool) -> None:
    found = verdict(plan("h100", "rtx3090", "l40s"), EVERY_KIND)
    assert legend in render_matrix(found, width=100, encoding=encoding, colour=colour).splitlines()
    narrow = render_matrix(found, width=60, encoding=encoding)
    assert " ".join(legend.split()) in " ".join(narrow.split())


def test_marks_that_do_not_occur_are_not_told() -> None:
    text = render_matrix(verdict(plan("h100"), run({"h100": {"a": "passed"}})))
    assert "✓ passed" in text.splitlines()
    assert render_matrix(verdict(plan("h100"), run({"h100": {}}))).splitlines() == [
        " 1 h100  9.0  none      no results",
        "      missing: no results",
    ]


def test_what_is_slow_is_marked_and_told_with_its_devices_and_tests() -> None:
    spills, swaps = "scale: spills 8 B per thread", "add: atomics are compare-and-swap loops"
    head = run(
        {
            "h100": {"a": "passed", "b": "passed"},
            "rtx3090:compiled": {
                "a": cell("a", "compiled", "compiled", slow=(spills, swaps)),
                "b": cell("b", "compiled", "compiled", slow=(spills,)),
            },
            "l40s:compiled": {"a": cell("a", "compiled", "compiled", slow=(spills,)), "b": "compiled"},
        }
    )
    text = render_matrix(verdict(plan("h100", "rtx3090", "l40s"), head))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if re.match(r"[ab] ", line)}
    assert rows == {"a": ["✓", "⚙↓", "⚙↓"], "b": ["✓", "⚙↓", "⚙"]}
    assert text.endswith(
        f"\nSlow:\n{spills}\n  on rtx3090 (2 tests), l40s (1 test)\n  in a and 1 more\n"
        f"{swaps}\n  on rtx3090 (1 test)\n  in a\n"
    )


def test_slow_launches_are_bounded_and_counted() -> None:
    slow = tuple(f"kernel_{number:03}: spills" for number in range(40))
    head = run({"l40s:compiled": {"a": cell("a", "compiled", "compiled", slow=slow)}})
    text = render_matrix(verdict(plan("l40s", require={"l40s": "compiled"}), head))
    assert text.count(": spills") == 15
    assert text.endswith("... and 25 more\n")


@pytest.mark.parametrize("marks", [UNICODE, ASCII])
def test_no_two_cells_are_drawn_alike(marks: MarkSet) -> None:
    drawn: dict[str, set[object]] = {}
    for outcome in set(Outcome) - {Outcome.COMPILED, Outcome.NOT_RUN, Outcome.UNKNOWN}:
        for evidence in (Evidence.NATIVE, Evidence.EMULATED, Evidence.COMPILED):
            drawn.setdefault(marks.mark(outcome, evidence), set()).add((outcome, evidence))
    for outcome in (Outcome.NOT_RUN, Outcome.UNKNOWN):
        drawn.setdefault(marks.mark(outcome, Evidence.NONE), set()).add(outcome)
    for slow in ((), ("spills",)):
        compiled = cell("a", "compiled", "compiled", slow=slow)
        drawn.setdefault(marks.of(compiled), set()).add((compiled.outcome, bool(slow)))
    drawn.pop(marks.mark(Outcome.PASSED, Evidence.COMPILED))  # no test passes by being compiled
    assert [found for found in drawn.values() if len(found) > 1] == []
    assert max(map(len, drawn)) == 2


@pytest.mark.parametrize(
    ("encoding", "marks"), [("utf-8", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII)]
)
def test_marks_are_those_that_the_stream_can_hold(encoding: str | None, marks: MarkSet) -> None:
    assert mark_set(encoding) == marks
    text = render_report(verdict(BOTH, HEAD, BASE), encoding=encoding)
    text.encode(encoding or "ascii")


def test_colour_only_where_asked_for() -> None:
    found = verdict(BOTH, HEAD, BASE)
    plain, coloured = render_report(found), render_report(found, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[31m✗\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_what_is_missing_stale_or_expected_is_said() -> None:
    config = plan("h100", "rtx3090", expectations=(expectation("a", "h100"), expectation("gone", "h100")))
    found = verdict(config, run({"h100": {"a": "failed", "b": "passed"}}, broken={"cpu": "cpu.xml is cut off"}))
    text = " ".join(render_report(found).split())
    assert "missing: rtx3090: no results" in text
    assert "not read: cpu: cpu.xml is cut off" in text
    assert "stale-expectation: gpumatrix.yml:7: gone on h100: matches no test" in text
    assert "excused by gpumatrix.yml: 1 cell (1 failed)" in text
    assert "no baseline" in text


def test_a_long_message_is_three_lines_at_most() -> None:
    message = "needs 147,456 B of shared memory per block; rtx3090 has 101,376 B " + "word " * 100
    text = render_report(verdict(plan("h100"), run({"h100": {"a": cell("a", "failed", message=message)}})))
    lines = text.splitlines()
    first = lines.index("  h100: failed (native): needs 147,456 B of shared memory per block; rtx3090 has")
    assert lines[first + 1].startswith("    101,376 B word")
    assert lines[first + 2].endswith(" …")
    assert lines[first + 3] == "  pytest --gpu-matrix --gpu-devices=h100 a"


def test_alike_on_every_device_is_said_of_tests_with_a_cell_on_each() -> None:
    outcomes = {"differs": "failed", "both": "passed", "ordinary": "passed", "another": "passed"}
    head = run(
        {
            "h100": outcomes,
            "rtx3090:compiled": {"differs": "compiled", "both": "compiled"},
            "cpu": {"ordinary": "passed"},  # no device of the matrix
        }
    )
    text = render_matrix(verdict(BOTH, head))
    assert "\n1 more alike on every device\n2 more alike where they have a result: some device has none\n" in text
    alone = render_matrix(verdict(plan("h100"), run({"h100": outcomes})))
    assert "\n3 more alike on every device\n" in alone
    assert "some device has none" not in alone


def test_a_test_that_fails_everywhere_as_expected_is_not_worth_a_line() -> None:
    config = plan("h100", expectations=(expectation("known", "h100"),))
    head = run({"h100": {"known": "failed", "other": "failed"}})
    assert "known" not in render_matrix(verdict(config, head))
    assert "other" in render_matrix(verdict(config, head))


def test_another_cause_than_the_expected_one_is_said() -> None:
    item = expectation("t.py::a", "h100", cause=Category.DEVICE_OOM)
    text = render_report(verdict(plan("h100", "rtx3090", expectations=(item,)), HEAD, BASE))
    assert "gpumatrix.yml:7 expects device_oom, this is arch_feature" in text


@pytest.mark.parametrize(("columns", "devices"), [(80, 8), (40, 8), (80, 30)])
def test_many_tests_fit_and_what_is_not_shown_is_counted(columns: int, devices: int) -> None:
    chance = random.Random(0)  # noqa: S311 - test data
    names = [*PROFILES, *(f"a-very-long-name-of-a-device-{n}" for n in range(devices - len(PROFILES)))]
    tests = [
        f"tests/a/long/path/to/test_module_{n % 97}.py::TestClass::test_{n}[float16-{n}]"
        for n in range(10_000 if devices == 8 else 1000)
    ]
    outcomes = ["passed"] * 30 + ["failed", "skipped", "unknown", "not-run", "timeout"]
    head = run({name: {test: chance.choice(outcomes) for test in tests} for name in names})
    text = render_report(verdict(plan(*PROFILES), head, None), width=columns)
    lines = text.splitlines()
    assert max(map(width, lines)) <= columns
    assert len(lines) < 1000
    shown = re.search(r"\.\.\. and ([\d,]+) more differ", text)
    alike = re.search(r"([\d,]+) more alike", text)
    assert shown
    assert alike
    counted = sum(int(found[1].replace(",", "")) for found in (shown, alike))
    assert counted + 25 == len(tests)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=5), st.text(max_size=200), st.integers(40, 100))
def test_hostile_names_neither_break_the_width_nor_reach_the_terminal(
    tests: list[str], message: str, columns: int
) -> None:
    outcomes = ["failed", "skipped", "unknown", "passed", "xpassed!"]
    cells = {test: cell(test, outcomes[n], message=message) for n, test in enumerate(dict.fromkeys(tests))}
    text = render_report(verdict(plan("h100"), run({"h100": cells})), width=columns)
    assert all(width(line) <= columns for line in text.splitlines())
    assert all(char.isprintable() or char == "\n" or width(char) for char in text)
    assert not set(text) & set("\x1b\x07\x9b\r\u202e\u2028")
