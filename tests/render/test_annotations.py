"""Annotations: what is said, in which order, and that a runner takes each for what it is."""

from __future__ import annotations

import dataclasses
import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.render.annotation import LONGEST_TITLE, Annotation, Draft, Level
from pytest_gpumatrix.render.annotations import annotate
from pytest_gpumatrix.render.repository_path import repository_line, repository_path, split_place
from pytest_gpumatrix.render.workflow_commands import (
    LONGEST,
    MOST,
    most_important,
    render_workflow_commands,
    workflow_command,
)
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.everything import everything, failing, metric_row
from tests.render.hostile import TEXTS
from tests.render.verdicts import verdicts
from tests.verdict.runs import cell, plan, run, verdict

_UNESCAPED = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


def obeyed(line: str) -> Annotation:
    """A command as the runner reads it: ActionCommand of actions/runner."""
    match = re.fullmatch(r"::(\w+) ?([^:]*)::(.*)", line)
    assert match is not None, line
    given = dict(part.partition("=")[::2] for part in match[2].split(",") if part)
    values = {name: re.sub("%25|%0D|%0A|%3A|%2C", lambda m: _UNESCAPED[m[0]], text) for name, text in given.items()}
    assert values.keys() <= {"file", "line", "title"}
    return Annotation(
        level=Level(match[1]),
        title=values["title"],
        message=re.sub("%25|%0D|%0A", lambda m: _UNESCAPED[m[0]], match[3]),
        file=values.get("file"),
        line=int(values["line"]) if "line" in values else None,
    )


def unprintable(line: str) -> list[str]:
    return [char for char in line if unicodedata.category(char) in ("Cc", "Cs", "Co", "Zl", "Zp")]


def titles(found: Verdict) -> list[str]:
    return [item.title for item in annotate(found)]


def test_everything_is_said_gravest_first() -> None:
    found = annotate(everything())
    assert [(item.level.value, item.title, item.file, item.line) for item in found] == [
        ("error", "new-failure (at least Hopper only) on h100: new", "tests/test_a.py", 12),
        ("error", "unexpected-pass (at least Hopper only, nothing else runs it) on h100: x", "tests/test_x.py", 3),
        ("error", "l40s is missing", None, None),
        ("error", "results of a100 were not read", None, None),
        ("error", "refused: results/b200.native.xml", None, None),
        ("error", "refused, of the baseline: base/t4.native.xml", None, None),
        ("error", "loss worse on h100: t.py::m", None, None),
        ("error", "loss differs on rtx3090: t.py::m", None, None),
        ("warning", "still-failing (at least Hopper only, nothing else runs it) on h100: still", "tests/test_a.py", 30),
        ("warning", "unknown (at least Hopper only, nothing else runs it) on h100: u", None, None),
        ("warning", "time worse on h100: t.py::m", None, None),
        ("warning", "norm differs on rtx3090: t.py::m", None, None),
        ("warning", "stale expectation: gone", "gpumatrix.yml", 7),
        ("warning", "contradiction on h100: two", None, None),
        ("notice", "flaky (at least Hopper only) on h100: flaky", None, None),
    ]


def test_a_failure_says_what_was_found_why_since_when_and_how_to_see_it_again() -> None:
    assert annotate(everything())[0].message.splitlines() == [
        "new",
        "was older in the base",
        "h100: failed (native): no image",
        "no_kernel_image (arch_list): Build for sm_86",
        "the text demands 8.0, the device is 8.6",
        "failing since cccccccccccc (2023-11-14), flaky in 50.0% of 2 results",
        "pytest --gpu-matrix --gpu-devices=h100 new",
    ]


def test_one_for_each_place_with_the_devices_that_share_it() -> None:
    here, there = ("tests/a.py", 1), ("tests/a.py", 2)
    head = {
        "h100": {"t": failing("t", *here)},
        "rtx3090": {"t": failing("t", *there)},
        "l40s": {"t": failing("t", *here, message="another")},
    }
    found = annotate(verdict(plan("h100", "rtx3090", "l40s"), run(head)))
    assert [(item.title, item.line) for item in found] == [
        ("failing (everywhere) on h100, l40s: t", 1),
        ("failing (everywhere) on rtx3090: t", 2),
    ]
    assert "h100: failed (native): no image" in found[0].message
    assert "l40s: failed (native): another" in found[0].message
    assert "rtx3090: failed" not in found[0].message


def test_what_has_a_place_and_is_known_natively_comes_first() -> None:
    emulated = dataclasses.replace(failing("b", "a.py", 1), evidence=Evidence.EMULATED)
    head = {"h100": {"a": failing("a"), "d": failing("d", "a.py", 1)}, "rtx3090:emulated": {"b": emulated}}
    found = titles(verdict(plan("h100", "rtx3090", require={"rtx3090": "emulated"}), run(head)))
    assert [title[-1] for title in found] == ["d", "b", "a"]


def test_a_missing_device_is_an_error_only_where_it_makes_the_run_incomplete() -> None:
    head = run({"h100": {"a": "passed"}})
    for fail_on, level in (
        (DEFAULT_FAIL_ON, Level.ERROR),
        (DEFAULT_FAIL_ON - {FailOn.MISSING_DEVICE}, Level.WARNING),
    ):
        (found,) = annotate(verdict(plan("h100", "rtx3090", fail_on=fail_on), head))
        assert (found.title, found.level) == ("rtx3090 is missing", level)


def test_a_test_that_no_device_runs() -> None:
    (found,) = annotate(verdict(plan("h100"), run({"h100": {"t": cell("t", "skipped", message="no reason")}})))
    assert (found.level, found.title) == (Level.ERROR, "runs on no device: t")
    assert found.message.splitlines()[:2] == ["t", "h100: skipped: no reason"]


def test_nothing_to_say() -> None:
    same = run({"h100": {"a": "passed", "b": "xfailed"}})
    assert annotate(verdict(plan("h100"), same, same)) == ()
    assert render_workflow_commands(verdict(plan("h100"), same, same)) == ""


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("tests/test_a.py", "tests/test_a.py"),
        ("./tests//test_a.py", "tests/test_a.py"),
        ("tests\\test_a.py", "tests/test_a.py"),
        ("tests/a b:c,d%e.py", "tests/a b:c,d%e.py"),
        ("..a/b..py", "..a/b..py"),
        ("/etc/passwd", None),
        ("\\\\host\\share", None),
        ("C:\\x.py", None),
        ("c:x.py", None),
        ("~/x.py", None),
        ("../x.py", None),
        ("tests/../../x.py", None),
        ("tests\\..\\..\\x.py", None),
        ("..", None),
        ("", None),
        (".", None),
        ("a\nb.py", None),
        ("a\r::error::b.py", None),
        ("a\x1b[31m.py", None),
        ("a\u202eb.py", None),
        ("a\ud800.py", None),
        ("a/" * 600, None),
    ],
)
def test_paths_inside_the_repository_alone(file: str, path: str | None) -> None:
    assert repository_path(file) == path


def test_lines_and_places() -> None:
    assert [repository_line(line) for line in (None, -1, 0, 1, 10**9)] == [None, None, None, 1, None]
    assert split_place("gpumatrix.yml:12") == ("gpumatrix.yml", 12)
    assert split_place("a:b.yml") == ("a:b.yml", None)
    assert split_place("a.yml:" + "9" * 5000) == ("a.yml:" + "9" * 5000, None)


def test_an_annotation_elsewhere_has_no_place() -> None:
    head = run({"h100": {"t": cell("t", "failed", place=Place(file="/etc/passwd", line=1))}})
    (found,) = annotate(verdict(plan("h100"), head))
    assert (found.file, found.line) == (None, None)


@given(
    st.builds(
        Annotation,
        level=st.sampled_from(Level),
        title=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        message=st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
        file=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    )
)
def test_a_command_is_read_as_it_was_meant(item: Annotation) -> None:
    line = workflow_command(item)
    assert "\n" not in line
    assert "\r" not in line
    assert obeyed(line) == item


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(verdicts())
def test_of_any_verdict(found: Verdict) -> None:
    for item in annotate(found):
        assert 0 < len(item.title) <= LONGEST_TITLE
        assert len(item.message.encode()) <= 65_536
        assert item.file is None or repository_path(item.file) == item.file
        assert not any(unprintable(line) for line in (item.title, *item.message.split("\n")))
        assert not re.search(r"[@#](?!\u2060)", item.title + item.message)
        if item.level is Level.ERROR:
            assert found.exit_code != 0
    lines = render_workflow_commands(found).splitlines()
    assert all(obeyed(line) for line in lines)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_hostile_text_commands_and_mentions_nothing(text: str) -> None:
    test = text or "t"
    head = run({"h100": {test: failing(test, "tests/a.py", 1, message=text)}})
    lines = render_workflow_commands(verdict(plan("h100"), head)).split("\n")
    assert len(lines) == 2
    item = obeyed(lines[0])
    assert not re.search(r"[@#](?!\u2060)", item.title + item.message)
    assert "\r" not in item.message
    assert not any(unprintable(line) for line in (item.title, *item.message.split("\n")))


@pytest.mark.parametrize("character", ["x", "\U0001f469", "%"])
def test_a_message_is_as_long_as_the_runner_keeps(character: str) -> None:
    item = Annotation(level=Level.ERROR, title="t", message=character * 5000)
    kept = obeyed(workflow_command(item)).message
    assert len(kept.encode("utf-16-le")) // 2 <= LONGEST
    assert kept.startswith(character * 2000)
    assert kept.endswith("…")


def test_ten_of_a_level_and_a_word_on_the_others() -> None:
    kinds = [Level.ERROR] * 14 + [Level.WARNING] * 3 + [Level.NOTICE] * 12
    found = [Draft(level=level, kind=0, title=str(place), lines=list) for place, level in enumerate(kinds)]
    kept = most_important(found)
    assert [item.title for item in kept[:-1]] == [str(place) for place in (*range(10), 14, 15, 16, *range(17, 26))]
    assert (kept[-1].level, kept[-1].title) == (Level.NOTICE, "7 more findings")
    for level in Level:
        assert sum(item.level is level for item in kept) <= MOST


def test_of_a_long_name_the_end_is_told() -> None:
    name = f"tests/{'x' * 5000}.py::test_it[bf16]"
    (found,) = annotate(verdict(plan("h100"), run({"h100": {name: "failed"}})))
    assert found.title.endswith("x.py::test_it[bf16]")
    assert len(found.title) <= LONGEST_TITLE


@pytest.mark.parametrize(("length", "told"), [(3000, True), (5000, False)])
def test_a_command_is_told_whole_or_not_at_all(length: int, told: bool) -> None:
    command = ("pytest", "x" * length)
    found = dataclasses.replace(verdict(plan("h100"), run({})), metrics=(metric_row(test="t"),))
    rows = tuple(dataclasses.replace(row, reproduce=command) for row in found.metrics)
    (shown,) = [item for item in annotate(dataclasses.replace(found, metrics=rows)) if "worse" in item.title]
    assert ("xxx" in shown.message, " ".join(command) in shown.message) == (told, told)
