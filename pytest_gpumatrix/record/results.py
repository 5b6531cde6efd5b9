"""A folder of result files -> the columns in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.column_read import read_all
from pytest_gpumatrix.record.junit_read import JunitFile
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.repeated import contradict, ranked
from pytest_gpumatrix.record.result_files import ColumnFiles, find_files


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Two files (shards), or two cases of one file, that say good and bad of one test on one device."""

    test: str
    device: str
    evidence: Evidence
    results: tuple[tuple[str, Outcome], ...]  # (file, what it says), the one that counts first


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What one run left: a column per device and evidence."""

    columns: tuple[Column, ...]
    broken: Mapping[str, str]  # device -> why a file of it counts as none
    contradictions: tuple[Contradiction, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)  # file -> why it was refused; the others still count


def read_results(folder: Path, *, progress: Callable[[int, int], None] | None = None) -> Results:
    """Read every ``*.xml`` and journal below a folder; what is refused is named, and the others still count.

    ``progress`` is told how many columns of how many are read.
    GpuMatrixError for what only the user can settle: no such folder, two names of one column, results of two commits.
    """
    if not folder.is_dir():
        raise GpuMatrixError(f"{folder}: no such folder; give the folder that --gpu-matrix-out wrote")
    found = find_files(folder)
    parts: dict[tuple[str, Evidence], list[JunitFile]] = {}
    broken: dict[str, str] = {}
    refused = dict(found.refused)
    for files, read in zip(found.columns, read_all(found.columns, progress), strict=True):
        refused |= read.refused
        if read.cut_off is not None:
            broken[files.device] = read.cut_off
        elif read.part is not None and not read.part.column.cells:
            broken[files.device] = f"{Path(read.part.column.source).name} holds no test"
        elif read.part is not None:
            parts.setdefault((files.device, files.evidence), []).append(read.part)
    _refuse_two_commits(part.column for several in parts.values() for part in several)
    told = {file: _why(file, reason) for file, reason in refused.items()}
    merged = [_merged(several) for several in parts.values()]
    return Results(
        columns=tuple(column for column, _ in merged),
        broken=_without_any(found.columns, parts, told) | broken,
        contradictions=tuple(contradiction for _, found in merged for contradiction in found),
        refused=told,
    )


def _why(file: str, reason: str) -> str:
    """A reason without the name of its file, which stands beside it."""
    return reason.removeprefix(f"{file}: ").removeprefix("refused: ")


def _without_any(
    groups: Iterable[ColumnFiles], parts: Mapping[tuple[str, Evidence], object], refused: Mapping[str, str]
) -> dict[str, str]:
    """The devices of which every file of some evidence was refused, with the reasons."""
    why: dict[str, list[str]] = {}
    for group in groups:
        if (group.device, group.evidence) not in parts:
            files = [path for path in group.files.values() if str(path) in refused]
            reasons = [f"{path.name} was refused: {refused[str(path)]}" for path in files]
            why.setdefault(group.device, []).extend(reasons)
    return {device: "; ".join(reasons) for device, reasons in why.items() if reasons}


def _merged(parts: Sequence[JunitFile]) -> tuple[Column, Sequence[Contradiction]]:
    """The files of one device (shards) as one column: all their cells, the worse of two for the same test."""
    first = parts[0].column
    cells: dict[str, Cell] = {}
    repeated = {test for part in parts for test in part.repeated}
    for part in parts:
        repeated |= cells.keys() & part.column.cells.keys()
        cells.update(part.column.cells)
    contradictions: list[Contradiction] = []
    for test in sorted(repeated):
        told = ranked((cell, part.column.source) for part in parts for cell in _told(part, test))
        cells[test] = told[0][0]
        if contradict(cell for cell, _ in told):
            results = tuple(dict.fromkeys((source, cell.outcome) for cell, source in told))
            contradictions.append(
                Contradiction(test=test, device=first.device, evidence=first.evidence, results=results)
            )
    facts = _shared([part.column.facts for part in parts])
    source = ", ".join(part.column.source for part in parts)
    return dataclasses.replace(first, cells=cells, facts=facts, source=source), contradictions


def _told(part: JunitFile, test: str) -> Iterable[Cell]:
    """All that a file says of a test: the cell that counts, which attempts may have made worse, and those repeated."""
    if test in part.column.cells:
        yield part.column.cells[test]
    yield from part.repeated.get(test, ())


def _shared(facts: Sequence[SessionFacts]) -> SessionFacts:
    """What shards say; of a fact in which they differ (two cards of a kind have two UUIDs) nothing is known."""
    names = [item.name for item in dataclasses.fields(SessionFacts) if item.name not in ("dirty", "versions")]
    versions = {name: _only(one.versions.get(name) for one in facts) for one in facts for name in one.versions}
    return SessionFacts(
        **{name: _only(getattr(one, name) for one in facts) for name in names},
        dirty=True if any(one.dirty for one in facts) else _only(one.dirty for one in facts),
        versions={name: version for name, version in versions.items() if version is not None},
    )


def _only(values: Iterable[Any]) -> Any:
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None


def _refuse_two_commits(columns: Iterable[Column]) -> None:
    sources = {column.facts.commit: column.source for column in columns if column.facts.commit}
    if len(sources) > 1:
        which = "; ".join(f"{commit[:12]} in {source}" for commit, source in sorted(sources.items()))
        raise GpuMatrixError(f"results of {len(sources)} commits in one folder: {which}. Keep those of one commit")
