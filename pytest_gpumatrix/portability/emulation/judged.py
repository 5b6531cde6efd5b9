"""What a test came to while posing, with its launches as they would be on the device. Pure."""

from __future__ import annotations

from dataclasses import replace

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Outcome

_PASSES = (Outcome.PASSED, Outcome.XPASSED)  # what a launch that would not run there can turn into a failure

_MOST = 3  # sentences in a message


def held_against_the_device(ran: Cell, compiled: Cell) -> Cell:
    """The cell of an emulated column.

    ``ran`` is what came of the test here; ``compiled`` is what its launches, compiled for the device, would make of
    it there. A pass stands only where no launch would fail; what of them is not known is said with it.
    """
    if ran.outcome not in _PASSES:
        return ran
    match compiled.outcome:
        case Outcome.FAILED | Outcome.XFAILED:
            return replace(
                ran,
                outcome=compiled.outcome,
                strict=False,
                message=compiled.message,
                details=compiled.details,
                cause=compiled.cause,
            )
        case Outcome.NOT_RUN if unknown := compiled.details.splitlines():  # the launches of which nothing is known
            said = [ran.message] if ran.message else []
            said += [f"not known of the device: {sentence}" for sentence in unknown[:_MOST]]
            said += [f"and {len(unknown) - _MOST} more"] if len(unknown) > _MOST else []
            return replace(ran, message="; ".join(said))
    return replace(ran, slow=compiled.slow)
