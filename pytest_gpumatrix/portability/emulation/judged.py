"""What a test came to while posing, with its launches as they would be on the device. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.junit_result import STRICT_XPASS
from pytest_gpumatrix.record.outcome import Outcome

_PASSES = (Outcome.PASSED, Outcome.XPASSED)  # what a launch that would not run there can turn into a failure

_MOST = 3  # sentences in a message


def held_against_the_device(ran: Cell, compiled: Cell) -> Cell:
    """The cell of an emulated column.

    ``ran`` is what came of the test here; ``compiled`` is what its launches, compiled for the device, would make of
    it there. A pass stands only where each launch would run. Where one would fail the test fails, or fails as
    expected; where something is not known it has not run. A failure that was expected and did not come is no
    finding: what makes the device fail may be what cannot be posed.
    """
    if ran.outcome not in _PASSES:
        return ran
    judged = replace(ran, slow=compiled.slow)
    match compiled.outcome:
        case Outcome.FAILED | Outcome.XFAILED:
            return replace(
                judged,
                outcome=compiled.outcome,
                strict=False,
                message=compiled.message,
                details=compiled.details,
                cause=compiled.cause,
                place=compiled.place,
            )
        case Outcome.NOT_RUN if unknown := compiled.details.splitlines():  # the launches of which nothing is known
            return replace(
                judged,
                outcome=Outcome.NOT_RUN,
                strict=False,
                message=f"passed while posing{_though(ran)}; not known of the device: {_some(unknown)}",
                details=compiled.details,
            )
    if ran.outcome is Outcome.XPASSED:
        message = f"passed while posing{_though(ran)}: whether the device passes as well cannot be told"
        return replace(judged, strict=False, message=message, details="")
    return judged


def _though(ran: Cell) -> str:
    if ran.outcome is not Outcome.XPASSED:
        return ""
    reason = ran.message.removeprefix(STRICT_XPASS).strip()
    return f", though a failure is expected ({reason})" if reason else ", though a failure is expected"


def _some(sentences: Sequence[str]) -> str:
    more = [f"and {len(sentences) - _MOST} more"] if len(sentences) > _MOST else []
    return "; ".join([*sentences[:_MOST], *more])
