from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_struct

from pytest_gpumatrix.portability.judging.derive import compiled_cell
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import FunctionReference, Launch, TritonKernel
from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from tests.portability.judging.builders import program

RAN = Cell(test="t", outcome=Outcome.PASSED, evidence=Evidence.NATIVE, requirement="gpu('>=8.0')", duration=2.0)
LAUNCH = Launch(
    test="t",
    kernel=TritonKernel(
        function=FunctionReference(module="m", qualname="C.matmul", file="m.py", line=1, source_hash="0"),
        signature={},
        constants=(),
        attributes=(),
        options={},
    ),
)
RAISED = Launch(test="t", kernel=LAUNCH.kernel, raised=True)
FITS = (LAUNCH, Judgement(fit=Fit.FITS))
FAILS = (LAUNCH, Judgement(fit=Fit.FAILS, reason="needs 2 B"))
UNKNOWN = (LAUNCH, Judgement(fit=Fit.UNKNOWN, reason="not compiled"))
UNSEEN = (Launch(test="t", kernel=program()), Judgement(fit=Fit.FITS))
SLOW = (LAUNCH, Judgement(fit=Fit.SLOW, reason="spills 4 B"))
SLOWER = (LAUNCH, Judgement(fit=Fit.SLOW, reason="no tensor cores"))
RAISED_FAILS = (RAISED, FAILS[1])
RAISED_FITS = (RAISED, FITS[1])
PROBLEM = "a launch of store: OSError"

Case = tuple[str | None, bool, Outcome, list[tuple[Launch, Judgement]], list[str], Outcome, str]
P, S = Outcome.PASSED, Outcome.SKIPPED_REQUIREMENT
CASES: list[Case] = [
    # requirement unmet, otherwise="xfail", ran, judgements, problems -> outcome, message
    ("needs 9.0", False, P, [FITS], [], Outcome.SKIPPED_REQUIREMENT, "needs 9.0"),
    ("needs 9.0", False, P, [FAILS], [], Outcome.SKIPPED_REQUIREMENT, "needs 9.0"),
    ("needs 9.0", True, P, [FAILS], [], Outcome.XFAILED, "matmul: needs 2 B"),
    ("needs 9.0", True, P, [FITS], [], Outcome.COMPILED, "1 kernel launch fits"),
    (None, False, P, [FAILS], [], Outcome.FAILED, "matmul: needs 2 B"),
    (None, False, P, [FITS, FAILS], [PROBLEM], Outcome.FAILED, "matmul: needs 2 B"),
    (None, False, P, [FAILS, FAILS], [], Outcome.FAILED, "matmul: needs 2 B (and 1 more like it: see the details)"),
    (None, False, Outcome.FAILED, [FAILS], [], Outcome.FAILED, "matmul: needs 2 B"),
    (None, False, P, [FITS, FITS], [], Outcome.COMPILED, "2 kernel launches fit"),
    (None, False, P, [UNSEEN], [], Outcome.COMPILED, "1 program compiles, and no launch of it was seen"),
    (None, False, P, [UNSEEN] * 2, [], Outcome.COMPILED, "2 programs compile, and no launch of them was seen"),
    (
        None,
        False,
        P,
        [FITS, UNSEEN],
        [],
        Outcome.COMPILED,
        "1 kernel launch fits; 1 program compiles, and no launch of it was seen",
    ),
    (None, False, P, [SLOW], [], Outcome.COMPILED, "1 kernel launch fits, slower: matmul: spills 4 B"),
    (None, False, P, [FITS, SLOW], [], Outcome.COMPILED, "2 kernel launches fit, 1 of them slower: matmul: spills 4 B"),
    (
        None,
        False,
        P,
        [SLOWER, FITS, SLOW],
        [],
        Outcome.COMPILED,
        "3 kernel launches fit, 2 of them slower: matmul: no tensor cores (and 1 more like it: see the details)",
    ),
    ("needs 9.0", True, P, [SLOW], [], Outcome.COMPILED, "1 kernel launch fits, slower: matmul: spills 4 B"),
    (None, False, P, [SLOW, FAILS], [], Outcome.FAILED, "matmul: needs 2 B"),
    (None, False, P, [SLOW, UNKNOWN], [], Outcome.NOT_RUN, "matmul: not compiled"),
    (None, False, Outcome.FAILED, [SLOW], [], Outcome.NOT_RUN, "1 kernel launch fits; where it ran: failed"),
    (None, False, P, [FITS, UNKNOWN], [], Outcome.NOT_RUN, "matmul: not compiled"),
    (None, False, P, [FITS], [PROBLEM], Outcome.NOT_RUN, PROBLEM),
    (None, False, P, [], [PROBLEM], Outcome.NOT_RUN, PROBLEM),
    (None, False, P, [], [], Outcome.NOT_RUN, "no kernel launch to go by; where it ran: passed"),
    (
        None,
        False,
        S,
        [],
        [],
        Outcome.NOT_RUN,
        "no kernel launch to go by; where it ran: skipped-requirement",
    ),
    *(
        (
            None,
            False,
            outcome,
            [FITS],
            [],
            Outcome.NOT_RUN,
            f"1 kernel launch fits; where it ran: {outcome.value}",
        )
        for outcome in Outcome
        if outcome is not Outcome.PASSED
    ),
    # A test that passes although a launch is refused expects the refusal: another device's says nothing of it.
    *(
        (
            None,
            False,
            P,
            [judgement],
            [],
            Outcome.NOT_RUN,
            "matmul: it failed where it ran as well, and the test passed all the same",
        )
        for judgement in (RAISED_FAILS, RAISED_FITS)
    ),
    (None, False, Outcome.FAILED, [RAISED_FAILS], [], Outcome.FAILED, "matmul: needs 2 B"),
]


@pytest.mark.parametrize(("unmet", "xfail", "ran", "judgements", "problems", "outcome", "message"), CASES)
def test_the_cell_of_a_compiled_column(
    unmet: str | None,
    xfail: bool,
    ran: Outcome,
    judgements: list[tuple[Launch, Judgement]],
    problems: list[str],
    outcome: Outcome,
    message: str,
) -> None:
    cell = compiled_cell("t", unmet, xfail, replace(RAN, outcome=ran), judgements, problems)
    assert (cell.outcome, cell.message) == (outcome, message)
    assert (cell.test, cell.evidence, cell.requirement) == ("t", Evidence.COMPILED, RAN.requirement)
    assert cell.outcome is not Outcome.PASSED
    assert cell.duration == 0.0  # it is not the running device's


def test_the_details_have_every_reason() -> None:
    other = (LAUNCH, Judgement(fit=Fit.FAILS, reason="needs 3 B"))
    cell = compiled_cell("t", None, False, RAN, [FAILS, FITS, other], [])
    assert cell.details == "matmul: needs 2 B\nmatmul: needs 3 B"


def test_what_is_slow_is_in_the_cell_once() -> None:
    cell = compiled_cell("t", None, False, RAN, [SLOW, FITS, SLOWER, SLOW], [])
    assert cell.slow == ("matmul: spills 4 B", "matmul: no tensor cores")
    assert cell.details == "matmul: spills 4 B\nmatmul: no tensor cores\nmatmul: spills 4 B"
    assert compiled_cell("t", None, False, RAN, [FITS], []).slow == ()


@pytest.mark.parametrize(
    ("ran", "others", "outcome"),
    [
        (Outcome.PASSED, [FAILS], Outcome.FAILED),
        (Outcome.PASSED, [UNKNOWN], Outcome.NOT_RUN),
        (Outcome.XPASSED, [FITS], Outcome.NOT_RUN),
    ],
)
def test_and_whatever_comes_of_the_other_launches(
    ran: Outcome, others: list[tuple[Launch, Judgement]], outcome: Outcome
) -> None:
    cell = compiled_cell("t", None, False, replace(RAN, outcome=ran), [SLOW, *others], [])
    assert (cell.outcome, cell.slow) == (outcome, ("matmul: spills 4 B",))


def test_what_could_not_be_told_of_a_launch_that_fits_is_in_the_details() -> None:
    untold = (LAUNCH, Judgement(fit=Fit.FITS, reason="not known: atomics"))
    cell = compiled_cell("t", None, False, RAN, [FITS, untold], [])
    assert (cell.outcome, cell.message, cell.slow) == (Outcome.COMPILED, "2 kernel launches fit", ())
    assert cell.details == "matmul: not known: atomics"


def of_file(file: str, text: str | None = None) -> tuple[Launch, Judgement]:
    function = replace_struct(LAUNCH.kernel.function, file=file, line=7, text=text)  # type: ignore[union-attr]
    return replace_struct(LAUNCH, kernel=replace_struct(LAUNCH.kernel, function=function)), FAILS[1]


@pytest.mark.parametrize(
    ("unmet", "judgements", "place"),
    [
        (None, [of_file("src/kernels.py")], Place(file="src/kernels.py", line=7)),
        (None, [FITS, of_file("src/kernels.py")], Place(file="src/kernels.py", line=7)),
        (None, [of_file("/opt/library/kernels.py"), of_file("b.py")], Place(file="b.py", line=7)),  # not of the project
        (None, [of_file("cabc.py", text="generated")], None),
        (None, [(UNSEEN[0], FAILS[1])], None),
        (None, [FITS], None),
        ("needs 9.0", [of_file("src/kernels.py")], None),  # an expected failure
    ],
)
def test_the_place_of_what_fails(
    unmet: str | None, judgements: list[tuple[Launch, Judgement]], place: Place | None
) -> None:
    assert compiled_cell("t", unmet, unmet is not None, RAN, judgements, ()).place == place
