"""Rows by columns of marks that fit a width: as many tables, one below the other, as they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import fit, pad, width

_MARK = 3  # columns of a cell: two marks and a space


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """A mark and its colour."""

    mark: str
    colour: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GridRow:
    """A cleaned label, and a mark or none for each column. Without any it is a heading within the table."""

    label: str
    cells: Sequence[Drawn | None] = ()
    keep_end: bool = True  # of a label that is cut: a test's name tells more at its end


def column_labels(names: Sequence[str], style: Style) -> list[str]:
    """What columns bear: their (cleaned) names if these fit half of the width, else their numbers from 1."""
    if sum(max(width(name), 2) + 1 for name in names) > style.columns // 2:
        return [str(number) for number in range(1, len(names) + 1)]
    return list(names)


def grid_lines(names: Sequence[str], rows: Sequence[GridRow], style: Style) -> Iterator[str]:
    """The tables; see ``column_labels`` for their heads."""
    labels = column_labels(names, style)
    sizes = [max(width(label) + 1, _MARK) for label in labels]
    per_table = max(1, (style.columns // 2) // max(sizes, default=1))
    for start in range(0, len(labels), per_table):
        part = slice(start, start + per_table)
        room = style.columns - sum(sizes[part])
        heads = zip(labels[part], sizes[part], strict=True)
        yield (" " * room + "".join(" " + pad(label, size - 1) for label, size in heads)).rstrip()
        for row in rows:
            yield _row(row, row.cells[part], sizes[part], room, style)


def _row(row: GridRow, cells: Sequence[Drawn | None], sizes: Sequence[int], room: int, style: Style) -> str:
    if not row.cells:
        return fit(row.label, style.columns, keep_end=row.keep_end)
    drawn = "".join(
        f" {style.paint(cell.mark, cell.colour)}{' ' * (size - 1 - len(cell.mark))}" if cell else " " * size
        for cell, size in zip(cells, sizes, strict=True)
    )
    return (pad(fit(row.label, room, keep_end=row.keep_end), room) + drawn).rstrip()
