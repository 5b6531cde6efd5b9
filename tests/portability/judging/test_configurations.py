"""The configurations of an autotuned launch, judged together."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.portability.judging.judge import judge_launches
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import Alternative, Launch
from tests.portability.judging.builders import FAILS, FATAL, FITS, KERNEL, SLOW, UNKNOWN


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # (kept by pruning, judgement) of each configuration
        ([(True, FITS)], FITS),
        ([(True, FAILS), (True, FITS)], FITS),
        (
            [(True, FAILS), (True, FAILS)],
            Judgement(fit=Fit.FAILS, reason="no configuration of 2 fits: too large"),
        ),
        ([(True, FITS), (True, UNKNOWN)], UNKNOWN),
        (
            [(True, FITS), (True, FATAL)],
            Judgement(fit=Fit.FAILS, reason="a configuration ends the tuning: no such type"),
        ),
        ([(True, FITS), (False, FATAL)], FITS),
        ([(True, SLOW), (True, FITS), (True, SLOW)], FITS),
        ([(True, SLOW), (True, FAILS)], SLOW),
        ([(True, SLOW), (True, UNKNOWN)], UNKNOWN),
        ([(True, SLOW)], SLOW),
        (
            [(True, FAILS), (False, FITS)],
            Judgement(
                fit=Fit.UNKNOWN,
                reason="none of the 1 configurations that were kept here fits; there may be others there",
            ),
        ),
        ([(True, FAILS), (False, FAILS)], Judgement(fit=Fit.FAILS, reason="no configuration of 2 fits: too large")),
    ],
)
def test_configurations_of_one_launch(members: list[tuple[bool, Judgement]], expected: Judgement) -> None:
    launches = [
        (Launch(test="t", kernel=KERNEL, alternative=Alternative(group="g", kept=kept)), judgement)
        for kept, judgement in members
    ]
    alone = (Launch(test="t", kernel=KERNEL), FAILS)
    assert [judgement for _, judgement in judge_launches([*launches, alone])] == [expected, FAILS]


@pytest.mark.parametrize("count", [1, 2])
def test_a_tuner_that_would_choose_among_others_there_proves_nothing(count: int) -> None:
    launches = [
        (Launch(test="t", kernel=KERNEL, alternative=Alternative(group="g", kept=True, open=True)), FAILS)
        for _ in range(count)
    ]
    [(_, found)] = judge_launches(launches)
    assert found.fit is Fit.UNKNOWN
