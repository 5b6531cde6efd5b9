"""Head and base side by side: each test's changes, grouped over the devices that share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Outcome, Standing
from pytest_gpumatrix.verdict.change import FAILURES, Change, Comparison, change_of, is_red, plainly_unchanged
from pytest_gpumatrix.verdict.expected import Settlement
from pytest_gpumatrix.verdict.matrix import Matrix, MatrixDevice
from pytest_gpumatrix.verdict.reproduce import reproduce_command
from pytest_gpumatrix.verdict.scope import Spread, scope_of
from pytest_gpumatrix.verdict.verdict import ChangedCell, ChangeRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """Head as the expectations see it, and the base that it is held against."""

    settlement: Settlement
    base: Matrix | None  # its tests under head's names
    head_reported: frozenset[str]  # devices with head results of what they require; out of the plan: with any
    base_reported: frozenset[str]  # devices with base results of what they require
    renamed: Mapping[str, str] = field(default_factory=dict)  # test -> the name that it has in the base

    @property
    def head(self) -> Matrix:
        """Head's cells, unexpected passes among them."""
        return self.settlement.matrix

    @property
    def has_base(self) -> bool:
        """Whether there is anything to compare with."""
        return self.base is not None and bool(self.base.cells)


def changes(sides: Sides, fail_on: frozenset[FailOn]) -> tuple[ChangeRow, ...]:
    """Every change of every test: red ones first, then in the order of Change, then by test."""
    base_tests = sides.base.cells if sides.base else {}
    rows = [row for test in {**sides.head.cells, **base_tests} for row in _rows(test, sides, fail_on)]
    order = {change: place for place, change in enumerate(Change)}
    return tuple(sorted(rows, key=lambda row: (not row.red, order[row.change], row.test, row.scope == CPU)))


def _rows(test: str, sides: Sides, fail_on: frozenset[FailOn]) -> Iterator[ChangeRow]:
    found = _changes_of(test, sides)
    for change in dict.fromkeys(found.values()):
        same = tuple(name for name, other in found.items() if other is change)
        on_gpu = tuple(name for name in same if name != CPU)
        if on_gpu:
            architectures = {d.name: d.architecture for d in sides.head.devices if d.name != CPU}
            scope = scope_of(_spread(test, change, found, sides), architectures)
            yield _row(test, change, scope, on_gpu, sides, fail_on)
        if CPU in same:
            yield _row(test, change, CPU, (CPU,), sides, fail_on)


def _changes_of(test: str, sides: Sides) -> dict[str, Change]:
    """The changed cells of a test. One that an expectation foretold is in no change."""
    head_row = sides.head.cells.get(test, {})
    base_row = sides.base.cells.get(test, {}) if sides.base else {}
    exempt = sides.settlement.exempt.get(test, {})
    found: dict[str, Change] = {}
    for device in sides.head.devices:
        head, base = head_row.get(device.name), base_row.get(device.name)
        head_cell, base_cell = head.cell if head else None, base.cell if base else None
        if plainly_unchanged(head_cell, base_cell) or device.name in exempt:
            continue
        pair = Comparison(
            head=head_cell,
            base=base_cell,
            require=device.require,
            head_reported=device.name in sides.head_reported,
            base_reported=device.name in sides.base_reported,
            in_head=bool(head_row),
            in_base=any(resolved.cell.outcome is not Outcome.NOT_RUN for resolved in base_row.values()),
            has_base=sides.has_base,
        )
        if (change := change_of(pair)) is not None:
            found[device.name] = change
    return found


def _row(
    test: str,
    change: Change,
    scope: str,
    devices: tuple[str, ...],
    sides: Sides,
    fail_on: frozenset[FailOn],
) -> ChangeRow:
    changed = {name: _changed_cell(test, name, sides) for name in devices}
    strict = any(part.cell is not None and part.cell.strict for part in changed.values())
    return ChangeRow(
        test=test,
        change=change,
        scope=scope,
        red=is_red(change, fail_on, strict=strict),
        devices=changed,
        reproduce=reproduce_command(test, devices),
        renamed_from=sides.renamed.get(test),
    )


def _changed_cell(test: str, device: str, sides: Sides) -> ChangedCell:
    resolved = sides.head.cells.get(test, {}).get(device)
    return ChangedCell(
        cell=resolved.cell if resolved else None,
        before=sides.base.cell(test, device) if sides.base else None,
        lost=resolved.lost if resolved else (),
        note=sides.settlement.notes.get(test, {}).get(device, ""),
    )


def _spread(test: str, change: Change, found: Mapping[str, Change], sides: Sides) -> Spread:
    """How every device stands to a change. A cell that is neither good nor bad does not count."""
    stands: dict[str, list[str]] = {key: [] for key in ("bad", "good", "before", "otherwise", "uncertain")}
    for device in sides.head.devices:
        if device.name == CPU:
            continue
        if found.get(device.name) is change:
            stands["bad"].append(device.name)
        elif found.get(device.name) is Change.STILL_FAILING:
            stands["before"].append(device.name)
        elif stand := _stand(test, device, change, sides):
            stands[stand].append(device.name)
    return Spread(
        bad=tuple(stands["bad"]),
        good=(*stands["good"], *stands["before"]),
        failed_before=tuple(stands["before"]),
        failing_otherwise=bool(stands["otherwise"]),
        uncertain=bool(stands["uncertain"]),
        failure=change in FAILURES,
    )


def _stand(test: str, device: MatrixDevice, change: Change, sides: Sides) -> str | None:
    """How a cell without the change stands to it."""
    cell = sides.head.cell(test, device.name)
    missing = device.name not in sides.head_reported
    if cell is None:
        return "uncertain" if missing else None
    exemption = sides.settlement.exempt.get(test, {}).get(device.name)
    if exemption and exemption.expect is Expect.SKIP and cell.standing is not Standing.GOOD:
        return None  # nothing is asked of it there
    if exemption or cell.standing is Standing.GOOD or cell.outcome is Outcome.XPASSED:
        return "good"  # an unexpected pass did pass there
    if cell.standing is Standing.BAD:
        # It fails, by another row of the table: beside a failure that forbids an "only", beside a fix it is one.
        return "otherwise" if change in FAILURES else "good"
    if cell.outcome in (Outcome.COMPILED, Outcome.UNKNOWN) or (missing and cell.outcome is Outcome.NOT_RUN):
        return "uncertain"
    return None
