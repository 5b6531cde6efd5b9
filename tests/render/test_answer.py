"""Did this change break a device? The answer to every kind of verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.render.answer import Answer, answer
from tests.render.html.sample import sample
from tests.verdict.runs import plan, run, verdict

GOOD = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
BROKEN = run({"h100": {"t": "failed"}, "rtx3090": {"t": "passed"}})
UNKNOWN = run({"h100": {"t": "unknown", "u": "passed"}, "rtx3090": {"u": "passed"}})
IDLE = run({"h100": {"t": "skipped"}, "rtx3090": {"t": "skipped"}})
HALF = run({"h100": {"t": "passed"}})


@pytest.mark.parametrize(
    ("head", "base", "word", "sentence"),
    [
        (GOOD, GOOD, "No", "no test newly fails on h100, rtx3090"),
        (BROKEN, GOOD, "Yes", "tests newly fail on h100"),
        (BROKEN, BROKEN, "No", "no test newly fails on h100, rtx3090"),
        (BROKEN, None, "Not known", "tests fail on h100, and no baseline tells whether they did before"),
        (HALF, GOOD, "Not known", "results are missing of rtx3090"),
        (UNKNOWN, GOOD, "Not known", "what came of a test is not known on h100"),
        (IDLE, None, "No", "no test newly fails; the run is red for another reason"),
        (replace(GOOD, refused={"x.xml": "DOCTYPE"}), GOOD, "Not known", "a results file was refused"),
    ],
)  # fmt: skip
def test_answers(head: Results, base: Results | None, word: str, sentence: str) -> None:
    found = answer(verdict(plan("h100", "rtx3090"), head, base))
    assert (found.word, found.before + ", ".join(found.devices) + found.after) == (word, sentence)


def test_weaker_evidence_is_said_of_a_device() -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090:compiled": {"t": "compiled"}})
    found = answer(verdict(plan("h100", "rtx3090", require={"rtx3090": "compiled"}), head, head))
    assert found.devices == ("h100", "rtx3090 (compiled)")


def test_a_red_metric_is_a_break_too() -> None:
    found = verdict(plan("h100"), HALF, HALF)
    (row, *_) = sample().metrics
    assert answer(replace(found, metrics=(replace(row, red=True),))).before == "a metric got worse on "
    assert answer(replace(found, metrics=(row,))).word == "No"


def test_what_fail_on_leaves_out_broke_all_the_same() -> None:
    config = plan("h100", "rtx3090", fail_on=DEFAULT_FAIL_ON - {FailOn.REGRESSION})
    found = verdict(config, BROKEN, GOOD)
    assert found.conclusion.value == "ok"
    after = ", which fail-on does not make red"
    assert answer(found) == Answer(word="Yes", before="tests newly fail on ", devices=("h100",), after=after)
    assert answer(verdict(config, BROKEN, None)).word == "Not known"


@pytest.mark.parametrize(("before", "word"), [(False, "Yes"), (True, "No"), (None, "No")])
def test_a_red_drift_is_a_break_where_the_base_had_none(before: bool | None, word: str) -> None:
    row = replace(sample().drift[0], red=True, before=before)
    found = answer(replace(verdict(plan("h100"), HALF, HALF), drift=(row,)))
    assert (found.word, found.devices) == (word, ("a100",) if before is False else ())


def test_a_test_that_first_runs_on_a_device_and_fails_is_not_denied() -> None:
    base = run({"h100": {"t": "not-run", "u": "passed"}, "rtx3090": {"t": "passed"}})
    head = run({"h100": {"t": "failed", "u": "passed"}, "rtx3090": {"t": "passed"}})
    found = answer(verdict(plan("h100", "rtx3090"), head, base))
    assert (found.word, found.before) == ("No", "no test that ran there before newly fails on ")


def test_without_a_device_that_has_what_it_requires_nothing_is_known() -> None:
    config = plan("h100", fail_on=DEFAULT_FAIL_ON - {FailOn.MISSING_DEVICE})
    found = verdict(config, run({"h100:compiled": {"t": "compiled"}}), None)
    assert answer(found) == Answer(word="Not known", before="no device has the results that it requires")


def test_a_device_whose_cells_have_no_result_is_not_spoken_of() -> None:
    head = run({"h100": {"t": "passed"}, "lab": {"t": "not-run"}})
    assert answer(verdict(plan("h100"), head, head)).devices == ("h100",)


def test_a_device_known_by_two_kinds_of_evidence_is_said_to_be() -> None:
    head = run({"h100": {"t": "passed"}, "h100:compiled": {"u": "compiled"}})
    assert answer(verdict(plan("h100"), head, head)).devices == ("h100 (1 compiled)",)


def test_many_devices_are_counted() -> None:
    head = run({f"d{n}": {"t": "failed"} for n in range(12)})
    base = run({f"d{n}": {"t": "passed"} for n in range(12)})
    found = answer(verdict(plan(), head, base))
    assert (len(found.devices), found.after) == (8, " and 4 more")


def test_a_long_name_does_not_fill_the_sentence() -> None:
    found = answer(verdict(plan(), run({"d" * 10_000: {"t": "failed"}}), run({"d" * 10_000: {"t": "passed"}})))
    assert found.devices == ("d" * 59 + "…",)


def test_nothing_at_all_is_not_known() -> None:
    assert answer(verdict(plan(), run({}))) == Answer(word="Not known", before="no test has a result")
