"""The rules against public failures, families of texts and their look-alikes."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.triage.cause import Category, Confidence
from tests.triage.confusion import confusion_table
from tests.triage.corpus import EXAMINED, FAMILIES, Case, corpus, held_out

_SHARE = 0.95
# Actions that the text cannot tell: what a library caught, a test that passed, a bound that only history gives.
_UNTOLD_ACTIONS = {"F003", "F022", "F046", "F060", "F084", "F085", "F086", "F087", "F133", "F150"}


@pytest.mark.parametrize("case", [case for case in corpus() if case.sufficient], ids=lambda case: case.name)
def test_a_sufficient_text_gets_its_category(case: Case) -> None:
    assert case.cause().category is case.category


@pytest.mark.parametrize("case", [case for case in corpus() if not case.sufficient], ids=lambda case: case.name)
def test_an_insufficient_text_is_never_wrong_and_sure(case: Case) -> None:
    cause = case.cause()
    unsure = cause.category in (Category.UNKNOWN, Category.GENUINE_FAILURE) or cause.confidence is Confidence.LOW
    assert cause.category is case.category or unsure


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_the_action_is_the_right_one(case: Case) -> None:
    if case.name not in _UNTOLD_ACTIONS:
        assert case.cause().action is case.action


def test_the_corpus_as_a_whole() -> None:
    cases = [case for case in corpus() if case.sufficient]
    assert len(cases) > 80
    assert sum(case.cause().category is case.category for case in cases) >= _SHARE * len(cases)


@pytest.mark.parametrize(
    "case",
    [*held_out(FAMILIES), *held_out(EXAMINED)],
    ids=[*(c.name for c in held_out(FAMILIES)), *("x" + c.name for c in held_out(EXAMINED))],
)
def test_a_held_out_text_gets_its_category(case: Case) -> None:
    cause = case.cause()
    assert cause.category is case.category
    if case.action is not None:
        assert cause.action is case.action


def test_there_are_enough_held_out_texts() -> None:
    cases = held_out(FAMILIES)
    assert len(cases) >= 200
    assert sum(case.look_alike for case in cases) >= 80
    for category in Category:
        assert sum(case.category is category for case in cases) >= 8, category


def test_the_confusion_table_adds_up() -> None:
    table = confusion_table(corpus()[:3])
    assert "| no_kernel_image | **3** |" in table
    assert "3 of 3 texts that suffice" in table
