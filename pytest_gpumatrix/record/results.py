"""A folder of result files -> the columns in it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.journal import read_journal
from pytest_gpumatrix.record.junit_read import read_junit, worse
from pytest_gpumatrix.record.outcome import Evidence, Outcome

TAPE_NAME = "launches.tape.jsonl"
# <device>.<evidence>.xml, or <device>.xml of any pytest, which is native.
_FILE_NAME = re.compile(
    r"(?P<device>[A-Za-z0-9][A-Za-z0-9._-]*?)(?:\.(?P<evidence>native|emulated|compiled))?\.(?P<kind>xml|jsonl)"
)


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


def column_file_name(device: str, evidence: Evidence, kind: str) -> str:
    """The name of a column's file, ``kind`` being xml or jsonl."""
    return f"{device}.{evidence.value}.{kind}"


def read_results(folder: Path) -> Results:
    """Read every ``*.xml`` and journal below a folder. GpuMatrixError names the file that is refused."""
    if not folder.is_dir():
        raise GpuMatrixError(f"{folder}: no such folder; give the folder that --gpu-matrix-out wrote")
    columns: dict[tuple[str, Evidence], Column] = {}
    broken: dict[str, str] = {}
    for device, evidence, files in _by_column(folder):
        try:
            column = read_column(device, evidence, files)
        except CutOff as reason:
            broken[device] = str(reason)
            continue
        if not column.cells:
            broken[device] = f"{Path(column.source).name} holds no test"
            continue
        key = (device, evidence)
        columns[key] = _merged(columns[key], column) if key in columns else column
    _refuse_two_commits(columns.values())
    return Results(columns=tuple(columns.values()), broken=broken)


def _by_column(folder: Path) -> Iterable[tuple[str, Evidence, Mapping[str, Path]]]:
    """The files of each column: ``kind`` (xml, jsonl) -> path. Files of two folders are two columns, merged later."""
    groups: dict[tuple[Path, str, Evidence], dict[str, Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".xml", ".jsonl") or path.name == TAPE_NAME or not path.is_file():
            continue
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise GpuMatrixError(f"{path}: not named <device>.<evidence>.xml; give it the name of its device")
        evidence = Evidence(match["evidence"] or Evidence.NATIVE)
        kinds = groups.setdefault((path.parent, match["device"], evidence), {})
        if match["kind"] in kinds:
            raise GpuMatrixError(f"{path}: the same column as {kinds[match['kind']].name}; keep one of them")
        kinds[match["kind"]] = path
    for (_, device, evidence), files in groups.items():
        yield device, evidence, files


def read_column(device: str, evidence: Evidence, files: Mapping[str, Path]) -> Column:
    """JUnit where the session ended in good order, else what its journal tells.

    The launches of an emulated run are judged at its end: a pass of which only the journal tells is not known yet.
    """
    if journal := files.get("jsonl"):
        column, ended = read_journal(journal)
        if (column.device, column.evidence) != (device, evidence):
            raise GpuMatrixError(
                f"{journal}: its name says {device} {evidence.value}, its first line "
                f"{column.device} {column.evidence.value}; give the file back the name it was written under"
            )
        if not ended or "xml" not in files:
            return column if evidence is not Evidence.EMULATED else _not_judged(column, ended)
    return read_junit(files["xml"], device=device, evidence=evidence)


def _not_judged(column: Column, ended: bool) -> Column:
    """An emulated column without the passes of its journal."""
    message = "its launches are judged in its JUnit file, which is missing"
    if not ended:
        message = "the run ended before its launches were judged"
    return dataclasses.replace(
        column,
        cells={
            test: dataclasses.replace(cell, outcome=Outcome.UNKNOWN, strict=False, message=message)
            if cell.outcome in (Outcome.PASSED, Outcome.XPASSED)
            else cell
            for test, cell in column.cells.items()
        },
    )


def _merged(one: Column, other: Column) -> Column:
    """Two files of one device (shards): all their cells, the worse of two for the same test."""
    cells = dict(one.cells)
    for test, cell in other.cells.items():
        cells[test] = worse(cells[test], cell) if test in cells else cell
    return dataclasses.replace(one, cells=cells, source=f"{one.source}, {other.source}")


def _refuse_two_commits(columns: Iterable[Column]) -> None:
    sources = {column.facts.commit: column.source for column in columns if column.facts.commit}
    if len(sources) > 1:
        which = "; ".join(f"{commit[:12]} in {source}" for commit, source in sorted(sources.items()))
        raise GpuMatrixError(f"results of {len(sources)} commits in one folder: {which}. Keep those of one commit")
