"""Files that were refused, and results that contradict each other: named, and never green."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.verdict.headline import headline
from tests.verdict.runs import changes, plan, run, verdict

BOTH = plan("h100", "rtx3090")
GOOD = {"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}}
WHY = "declares a DOCTYPE"


@pytest.mark.parametrize("file", ["out/rtx3090.xml", "out/rtx3090.native.xml", "rtx3090.native.jsonl"])
def test_a_device_of_which_a_file_was_refused_is_missing(file: str) -> None:
    found = verdict(BOTH, run({"h100": {"t": "passed"}}, refused={file: WHY}))
    assert [(item.device, item.reason) for item in found.missing] == [
        ("rtx3090", f"{file.rpartition('/')[2]} was refused: {WHY}")
    ]
    assert (found.exit_code, headline(found)) == (2, "incomplete: 1 file refused; rtx3090 missing")


def test_what_the_refused_shard_held_is_not_removed() -> None:
    base = run({"h100": {"t": "passed", "u": "passed"}, "rtx3090": {"t": "passed"}})
    found = verdict(BOTH, run(GOOD, refused={"b/h100.xml": WHY}), base)
    assert changes(found) == set()
    assert [item.device for item in found.missing] == ["h100"]


def test_one_that_belongs_to_no_device_of_the_plan_is_never_green() -> None:
    found = verdict(BOTH, run(GOOD, {"lab": WHY}, refused={"z.zip": WHY, "lab.xml": WHY}))
    assert (found.missing, found.broken, list(found.refused)) == ((), {}, ["lab.xml", "z.zip"])
    assert (found.conclusion.value, found.exit_code) == ("incomplete", 2)
    assert headline(found) == "incomplete: 2 files refused"


def test_what_is_red_stays_red_and_the_exit_code_is_2() -> None:
    found = verdict(BOTH, run({**GOOD, "h100": {"t": "failed"}}, refused={"rtx3090.xml": WHY}), run(GOOD))
    assert (found.conclusion.value, found.exit_code) == ("regression", 2)
    assert "1 file refused" in headline(found)


def test_a_refused_file_of_the_base_is_named_and_exit_2() -> None:
    base = run({"h100": {"t": "passed"}}, refused={"rtx3090.xml": WHY})
    found = verdict(BOTH, run(GOOD), base)
    assert found.base_refused == {"rtx3090.xml": WHY}
    assert "the baseline has no native results of rtx3090" in found.notes
    assert (found.exit_code, found.refused, headline(found)) == (2, {}, "incomplete: 1 file of the baseline refused")


def one(test: str, device: str) -> Contradiction:
    results = (("a.xml", Outcome.FAILED), ("b.xml", Outcome.PASSED))
    return Contradiction(test=test, device=device, evidence=Evidence.NATIVE, results=results)


def test_those_of_the_base_are_a_note() -> None:
    base = run({**GOOD, "h100": {"t": "failed"}}, contradictions=(one("u", "h100"), one("t", "h100")))
    note = "results of the baseline contradict each other, and the failure counts: t on h100 (1 more like it)"
    assert verdict(BOTH, run(GOOD), base).notes == (note,)


def test_contradictions_are_named_in_order() -> None:
    given = (one("u", "h100"), one("t", "rtx3090"), one("t", "h100"))
    assert verdict(BOTH, run(GOOD, contradictions=given)).contradictions == (given[2], given[1], given[0])
