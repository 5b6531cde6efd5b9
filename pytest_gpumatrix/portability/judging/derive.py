"""A test's launches, judged for a device -> its cell in that device's compiled column. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from pytest_gpumatrix.portability.judging.judge import judge_launches
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement, unknown
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, TritonKernel
from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome


def compiled_cell(
    test: str,
    requirement_unmet: str | None,
    otherwise_xfail: bool,
    ran: Cell,
    judgements: Sequence[tuple[Launch, Judgement]],
    problems: Sequence[str],
) -> Cell:
    """The cell of a test on a device that is not here.

    ``ran`` is its cell in the column that ran; ``judgements`` are of its launches, for this device; ``problems``
    say what of it could not be recorded. The first that holds decides: an unmet requirement (unless the marks
    expect a failure there), a launch that fails, something that is not known, no launch, a test that did not
    pass where it ran.
    """
    if requirement_unmet is not None and not otherwise_xfail:
        return _cell(test, ran, Outcome.SKIPPED_REQUIREMENT, requirement_unmet)
    judged = judge_launches([(launch, _settled(launch, judgement, ran)) for launch, judgement in judgements])
    failing, slow = _sentences(judged, Fit.FAILS), _sentences(judged, Fit.SLOW)
    if failing:
        outcome = Outcome.FAILED if requirement_unmet is None else Outcome.XFAILED
        place = _place(judged) if outcome is Outcome.FAILED else None
        return _cell(test, ran, outcome, _first(failing), details="\n".join(failing), slow=slow, place=place)
    if not_known := [*problems, *_sentences(judged, Fit.UNKNOWN)]:
        return _cell(test, ran, Outcome.NOT_RUN, _first(not_known), details="\n".join(not_known), slow=slow)
    if not judged:
        return _cell(test, ran, Outcome.NOT_RUN, f"no kernel launch to go by; where it ran: {ran.outcome.value}")
    fits = _what_fits([launch for launch, _ in judged])
    if ran.outcome is not Outcome.PASSED:
        return _cell(test, ran, Outcome.NOT_RUN, f"{fits}; where it ran: {ran.outcome.value}", slow=slow)
    return _compiled(test, ran, fits, judged, slow)


def _compiled(test: str, ran: Cell, fits: str, judged: Sequence[tuple[Launch, Judgement]], slow: Sequence[str]) -> Cell:
    details = "\n".join([*slow, *_sentences(judged, Fit.FITS)])  # of what fits: what is not known
    if slow:
        slower = "slower" if len(judged) == 1 else f"{len(slow)} of them slower"
        fits = f"{fits}, {slower}: {_first(slow)}"
    return _cell(test, ran, Outcome.COMPILED, fits, details=details, slow=slow)


def _what_fits(launches: Sequence[Launch]) -> str:
    """Says "3 kernel launches fit"; of a program of which no launch was seen nothing but its code was judged."""
    unseen = sum(isinstance(launch.kernel, CudaProgram) and launch.kernel.launch is None for launch in launches)
    seen = len(launches) - unseen
    fitting = f"{seen} kernel {'launch fits' if seen == 1 else 'launches fit'}"
    if not unseen:
        return fitting
    verb, whose = ("program compiles", "it") if unseen == 1 else ("programs compile", "them")
    compiling = f"{unseen} {verb}, and no launch of {whose} was seen"
    return f"{fitting}; {compiling}" if seen else compiling


def _settled(launch: Launch, judgement: Judgement, ran: Cell) -> Judgement:
    """A launch that failed where it ran, in a test that passed: the test expects the failure, here or anywhere."""
    if launch.raised and ran.outcome is Outcome.PASSED:
        return unknown("it failed where it ran as well, and the test passed all the same")
    return judgement


def _place(judged: Sequence[tuple[Launch, Judgement]]) -> Place | None:
    """Where the kernel that fails first is defined; None for one that is generated, or outside the rootdir."""
    for launch, judgement in judged:
        if judgement.fit is Fit.FAILS and isinstance(launch.kernel, TritonKernel):
            function = launch.kernel.function
            if function.text is None and not PurePath(function.file).is_absolute():
                return Place(file=PurePath(function.file).as_posix(), line=function.line)
    return None


def _cell(
    test: str,
    ran: Cell,
    outcome: Outcome,
    message: str,
    *,
    details: str = "",
    slow: Sequence[str] = (),
    place: Place | None = None,
) -> Cell:
    return Cell(
        test=test,
        outcome=outcome,
        evidence=Evidence.COMPILED,
        message=message,
        details=details,
        requirement=ran.requirement,
        slow=tuple(dict.fromkeys(slow)),
        place=place,
    )


def _sentences(judged: Sequence[tuple[Launch, Judgement]], fit: Fit) -> list[str]:
    return [
        f"{launch.kernel.name}: {judgement.reason}"
        for launch, judgement in judged
        if judgement.fit is fit and judgement.reason
    ]


def _first(sentences: Sequence[str]) -> str:
    more = len(sentences) - 1
    return sentences[0] if not more else f"{sentences[0]} (and {more} more like it: see the details)"
