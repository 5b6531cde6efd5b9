"""How a cell is drawn: one mark for what came of it, one for how it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing

_RED, _GREEN, _YELLOW = "31", "32", "33"


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkSet:
    """The characters. A pass that is not native is never drawn as a pass: its evidence alone is."""

    outcomes: Mapping[Outcome, str]
    evidence: Mapping[Evidence, str]
    slow: str  # follows the mark of a cell whose launches would run on the device itself, and be slow

    def of(self, cell: Cell) -> str:
        """One or two characters for a cell."""
        return self.mark(cell.outcome, cell.evidence) + (self.slow if slow_there(cell) else "")

    def mark(self, outcome: Outcome, evidence: Evidence) -> str:
        """One or two characters."""
        if outcome in (Outcome.NOT_RUN, Outcome.UNKNOWN):
            return self.outcomes[outcome]
        if outcome is Outcome.COMPILED:
            return self.evidence[Evidence.COMPILED]
        if outcome is Outcome.PASSED and evidence is not Evidence.NATIVE:
            return self.evidence[evidence]
        return self.outcomes[outcome] + self.evidence[evidence]


# A requirement is held against the device's profile, whatever ran; the others have no evidence of their own.
_NEVER_QUALIFIED = (Outcome.COMPILED, Outcome.NOT_RUN, Outcome.UNKNOWN, Outcome.SKIPPED_REQUIREMENT)
_WORDS = {Outcome.SKIPPED_REQUIREMENT: "requirement unmet", Outcome.NOT_RUN: "not run"}
UNICODE = MarkSet(
    outcomes={
        Outcome.PASSED: "✓",
        Outcome.FAILED: "✗",
        Outcome.ERROR: "E",
        Outcome.CRASHED: "!",
        Outcome.TIMEOUT: "T",
        Outcome.XPASSED: "X",
        Outcome.XFAILED: "x",
        Outcome.SKIPPED: "s",
        Outcome.SKIPPED_REQUIREMENT: "-",
        Outcome.NOT_RUN: "·",
        Outcome.UNKNOWN: "?",
    },
    evidence={Evidence.NATIVE: "", Evidence.EMULATED: "≈", Evidence.COMPILED: "⚙", Evidence.NONE: "?"},
    slow="↓",
)
ASCII = MarkSet(
    outcomes={
        **UNICODE.outcomes,
        Outcome.PASSED: "P",
        Outcome.FAILED: "F",
        Outcome.NOT_RUN: ".",
    },
    evidence={**UNICODE.evidence, Evidence.EMULATED: "~", Evidence.COMPILED: "c"},
    slow="v",
)


def slow_there(cell: Cell) -> bool:
    """Whether a cell passes or compiles elsewhere for its device, and would be slow on it."""
    return bool(cell.slow) and cell.outcome in (Outcome.COMPILED, Outcome.PASSED)


def mark_set(encoding: str | None) -> MarkSet:
    """The marks that a stream of this encoding can hold."""
    try:
        "".join([*UNICODE.outcomes.values(), *UNICODE.evidence.values(), UNICODE.slow]).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def colour_of(cell: Cell) -> str | None:
    """The SGR code of a cell's colour: red for bad, green for a native pass, yellow for what is not known."""
    if cell.standing is Standing.BAD:
        return _RED
    if cell.outcome is Outcome.PASSED and cell.evidence is Evidence.NATIVE:
        return _GREEN
    return _YELLOW if cell.standing is Standing.UNKNOWN else None


def words_for(outcome: Outcome, evidence: Evidence) -> str:
    """What a mark means, with how it is known where that is not natively: "failed (compiled)"."""
    word = _WORDS.get(outcome, outcome.value)
    plain = evidence is Evidence.NATIVE or outcome in _NEVER_QUALIFIED
    return word if plain else f"{word} ({evidence.value})"


def legend(cells: Iterable[Cell], marks: MarkSet) -> list[str]:
    """The marks that occur in the cells, each with its meaning: "✓ passed", "≈ emulated"."""
    kinds = {(cell.outcome, cell.evidence, slow_there(cell)) for cell in cells}
    drawn = {mark for outcome, evidence, _ in kinds for mark in marks.mark(outcome, evidence)}
    if any(slow for _, _, slow in kinds):
        drawn.add(marks.slow)
    words = {marks.outcomes[Outcome.PASSED]: Outcome.PASSED.value}
    words |= {marks.evidence[known]: known.value for known in (Evidence.EMULATED, Evidence.COMPILED)}
    words |= {marks.slow: "slow there"}
    words |= {marks.outcomes[outcome]: _WORDS.get(outcome, outcome.value) for outcome in marks.outcomes}
    return [f"{mark} {word}" for mark, word in words.items() if mark in drawn]
