"""Which result files a folder holds, by their names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.record.outcome import Evidence

TAPE_NAME = "launches.tape.jsonl"
# <device>.<evidence>.xml, or <device>.xml of any pytest, which is native.
_FILE_NAME = re.compile(
    r"(?P<device>[A-Za-z0-9][A-Za-z0-9._-]*?)(?:\.(?P<evidence>native|emulated|compiled))?\.(?P<kind>xml|jsonl)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnFiles:
    """The files of one column in one folder."""

    device: str
    evidence: Evidence
    files: Mapping[str, Path]  # by kind: xml, jsonl


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFiles:
    """What a folder and those in it hold, in the order of their paths."""

    columns: tuple[ColumnFiles, ...]
    refused: Mapping[str, str]  # file -> why


def column_file_name(device: str, evidence: Evidence, kind: str) -> str:
    """The name of a column's file, ``kind`` being xml or jsonl."""
    return f"{device}.{evidence.value}.{kind}"


def device_of(file: str) -> str | None:
    """The device that a results file's name says, or None."""
    match = _FILE_NAME.fullmatch(PurePath(file).name)
    return match["device"] if match else None


def find_files(folder: Path) -> FoundFiles:
    """Every ``*.xml`` and journal below a folder. GpuMatrixError for two names of one column in one folder.

    Links to folders are not followed, and refused if anything is lost by it; one to a file is, if that is regular.
    """
    groups: dict[tuple[Path, str, Evidence], dict[str, Path]] = {}
    refused: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            if (reason := _not_entered(path, folder)) is not None:
                refused[str(path)] = reason
            continue
        if path.suffix.lower() not in (".xml", ".jsonl") or path.name == TAPE_NAME:
            continue
        match = _FILE_NAME.fullmatch(path.name)
        if match is None or not path.is_file():
            refused[str(path)] = (
                f"{path}: not named <device>.<evidence>.xml; give it the name of its device"
                if match is None
                else f"{path}: cannot be read: it is not a regular file"
            )
            continue
        evidence = Evidence(match["evidence"] or Evidence.NATIVE)
        kinds = groups.setdefault((path.parent, match["device"], evidence), {})
        if match["kind"] in kinds:
            raise GpuMatrixError(f"{path}: the same column as {kinds[match['kind']].name}; keep one of them")
        kinds[match["kind"]] = path
    columns = (ColumnFiles(device=key[1], evidence=key[2], files=files) for key, files in groups.items())
    return FoundFiles(columns=tuple(columns), refused=refused)


def _not_entered(path: Path, folder: Path) -> str | None:
    """Why what a folder below the other holds is not read. None if it is, also by another name."""
    if not path.is_symlink():
        readable = os.access(path, os.R_OK | os.X_OK)
        return None if readable else f"{path}: cannot be read: check the permissions of the folder"
    target, top = path.resolve(), folder.resolve()
    if target.is_relative_to(top) or top.is_relative_to(target):
        return None
    return f"{path}: not read: it is a link to a folder; put the folder itself in its place"
