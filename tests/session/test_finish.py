from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.session.finish import remove_stale

FILES = (
    "h200.native.xml",
    "h200.native.jsonl",  # the journal of this run: it has just been begun
    "launches.tape.jsonl",
    "rtx3090.compiled.xml",
    "rtx3090.emulated.xml",
    "rtx3090.emulated.jsonl",
    "rtx3090.emulated/launches.tape.jsonl",
    "rtx3090.native.xml",
    "t4.compiled.xml",
    "t4.emulated.xml",
    "t4.emulated.jsonl",
    "t4.emulated/launches.tape.jsonl",
    "l4.emulated.xml",
    "l4.emulated/launches.tape.jsonl",
    "l4.emulated/somebody's.txt",
)
OF_THE_TAPE = {"h200.native.xml", "launches.tape.jsonl", "rtx3090.compiled.xml", "t4.compiled.xml"}


@pytest.mark.parametrize(
    ("device", "evidence", "emulated", "removed"),
    [
        ("h200", Evidence.NATIVE, (), OF_THE_TAPE),
        (
            "h200",
            Evidence.NATIVE,
            ("rtx3090", "b200"),
            {
                *OF_THE_TAPE,
                "rtx3090.emulated.xml",
                "rtx3090.emulated.jsonl",
                "rtx3090.emulated/launches.tape.jsonl",
                "rtx3090.emulated",
            },
        ),
        (
            "h200",
            Evidence.NATIVE,
            ("l4",),
            {*OF_THE_TAPE, "l4.emulated.xml", "l4.emulated/launches.tape.jsonl"},
        ),
        (
            "t4",
            Evidence.EMULATED,
            ("t4",),  # its launches are held against it
            {"t4.emulated.xml", "t4.emulated/launches.tape.jsonl", "t4.emulated"},
        ),
    ],
)
def test_what_is_stale_is_what_this_run_makes_anew(
    tmp_path: Path, device: str, evidence: Evidence, emulated: tuple[str, ...], removed: set[str]
) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    before = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    remove_stale(device, evidence, emulated, tmp_path)
    assert before - {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == removed
    remove_stale(device, evidence, emulated, tmp_path)  # there is nothing left to remove
