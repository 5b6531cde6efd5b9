"""Expectations that would take up what is bad in a run: entries for gpumatrix.yml, for a person to accept."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.config.pattern import TestIndex
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Outcome, Standing
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.reach import Kind, Reach
from pytest_gpumatrix.verdict.verdict import Verdict

_LONGEST_REASON = 200  # characters
_KINDS = {
    Outcome.FAILED: Expect.FAIL,
    Outcome.ERROR: Expect.FAIL,
    Outcome.CRASHED: Expect.CRASH,
    Outcome.TIMEOUT: Expect.CRASH,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """One entry of ``expectations``, as gpumatrix.yml writes it."""

    test: str  # a pattern
    devices: str | tuple[str, ...]  # a name, names, or a specifier
    expect: Expect
    cause: Category | None
    reason: str
    until: datetime.date
    tests: int  # that it takes up now
    cells: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A cell that no entry is proposed for."""

    test: str
    device: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposals:
    """What is proposed, and what is not."""

    entries: tuple[Proposal, ...]
    left_out: tuple[LeftOut, ...]


def propose(
    verdict: Verdict, *, nameable: frozenset[str], until: datetime.date, reason: str | None, against_base: bool
) -> Proposals:
    """Entries for the bad cells of a verdict that no entry foretold, and for what passed only after reruns.

    ``nameable`` are the devices that gpumatrix.yml may name; ``against_base`` leaves out what is not red, since it
    failed before. Tests of one function that fail on the same devices by one cause become one entry, if its pattern
    matches no test that may pass there, and no failure of another kind that would meet it. A cell that is unknown,
    also by the machine's fault, is left out.
    """
    left_out: list[LeftOut] = []
    entries: list[Proposal] = []
    groups = _groups(verdict, left_out, against_base=against_base)
    wanted = {(test, device): kind for kind, tests in groups.items() for test in tests for device in kind.devices}
    index = TestIndex(verdict.matrix.cells)
    reach = Reach(matrix=verdict.matrix, tests=index, nameable=nameable, proposed=wanted)
    for kind, tests in groups.items():
        for pattern, devices, own in _written(kind, tests, reach, left_out):
            cells = [verdict.matrix.cells[test][device].cell for test in own for device in kind.devices]
            entries.append(
                Proposal(
                    test=pattern,
                    devices=devices,
                    expect=kind.expect,
                    cause=kind.cause,
                    reason=reason if reason is not None else _reason(cells[0]),
                    until=until,
                    tests=len(own),
                    cells=len(cells),
                )
            )
    return Proposals(
        entries=tuple(sorted(entries, key=lambda entry: (entry.test, str(entry.devices), entry.expect.value))),
        left_out=tuple(sorted(left_out, key=lambda item: (item.test, item.device))),
    )


def _groups(verdict: Verdict, left_out: list[LeftOut], *, against_base: bool) -> Mapping[Kind, Sequence[str]]:
    """The tests of each kind, in order."""
    groups: dict[Kind, list[str]] = {}
    for test, by_device in _speaking_cells(verdict, against_base=against_base).items():
        devices: dict[tuple[Expect, Category | None], list[str]] = {}
        for device, (cell, contradictory) in by_device.items():
            if why := _not_proposed(cell):
                left_out.append(LeftOut(test=test, device=device, reason=why))
                continue
            flaky = contradictory or cell.standing is Standing.GOOD
            expect = Expect.FLAKY if flaky else _KINDS[cell.outcome]
            devices.setdefault((expect, _cause(cell)), []).append(device)
        for (expect, cause), names in devices.items():
            kind = Kind(function=test.partition("[")[0], expect=expect, cause=cause, devices=tuple(names))
            groups.setdefault(kind, []).append(test)
    return groups


def _cause(cell: Cell) -> Category | None:
    """What an entry may ask for: a cause that is known."""
    category = cell.cause.category if cell.cause else None
    return None if category is Category.UNKNOWN else category


def _speaking_cells(verdict: Verdict, *, against_base: bool) -> Mapping[str, Mapping[str, tuple[Cell, bool]]]:
    """The cells that are bad, unknown or flaky, and not foretold; each with whether other results contradict it."""
    foretold = {(row.test, row.device) for row in verdict.expected}
    contradictory = {(item.test, item.device, item.evidence) for item in verdict.contradictions}
    worth = {
        (row.test, device)
        for row in verdict.changes
        if row.red or row.change in (Change.FLAKY, Change.UNKNOWN)
        for device in row.devices
    }
    found: dict[str, dict[str, tuple[Cell, bool]]] = {}
    for test, row in verdict.matrix.cells.items():
        for device, resolved in row.items():
            cell, key = resolved.cell, (test, device)
            quiet = cell.standing is Standing.NEUTRAL or (cell.standing is Standing.GOOD and not cell.reruns)
            if not (quiet or key in foretold or (against_base and key not in worth)):
                found.setdefault(test, {})[device] = (cell, (*key, cell.evidence) in contradictory)
    return found


def _not_proposed(cell: Cell) -> str:
    if cell.standing is Standing.UNKNOWN:
        return "its result is unknown"
    if cell.outcome is Outcome.XPASSED:
        return "it passes, though a failure is expected: remove the mark or the entry that expects it"
    return ""


def _written(
    kind: Kind, tests: Sequence[str], reach: Reach, left_out: list[LeftOut]
) -> Iterator[tuple[str, str | tuple[str, ...], Sequence[str]]]:
    """Pattern, devices and tests of the entries that take up a group: one for all of them, else one for each."""
    siblings = f"{kind.function.replace('*', '?')}[*]"
    if len(tests) > 1 and (devices := reach.devices_for(siblings, tests, kind)):
        yield siblings, devices, tests
        return
    for test in tests:
        exact = test.replace("*", "?")  # a pattern cannot say "*": one character is as near as it comes
        if devices := reach.devices_for(exact, (test,), kind):
            yield exact, devices, (test,)
            continue
        unnamed = [device for device in kind.devices if device not in reach.nameable]
        why = "a pattern for it would match a test that may pass there, or hide another failure"
        if unnamed:
            why = f"gpumatrix.yml does not name {', '.join(unnamed)}, and no specifier means just these devices"
        left_out.extend(LeftOut(test=test, device=device, reason=why) for device in kind.devices)


def _reason(cell: Cell) -> str:
    text = " ".join(((cell.cause.evidence if cell.cause else "") or cell.message).split())
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"
