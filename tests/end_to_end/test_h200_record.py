"""What was recorded on a real H200: it reads back, and the planted faults come out as what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.record.journal import read_journal
from pytest_gpumatrix.record.results import read_results

RECORD = Path(__file__).parents[1] / "data" / "h200"


def report(folder: str, output: Path) -> tuple[int, dict[str, Any]]:
    config = str(RECORD / "gpumatrix.yml")
    arguments = ["report", str(RECORD / folder), "--base", str(RECORD / "base"), "--config", config]
    code = main([*arguments, "--format", "json", "--output", str(output / "report.json")])
    return code, json.loads((output / "report.json").read_text())


def test_journal_and_junit_tell_the_same() -> None:
    journal, ended = read_journal(RECORD / "base" / "h200.native.jsonl")
    junit = next(column for column in read_results(RECORD / "base").columns if column.device == "h200")
    assert ended
    assert journal.facts.gpu_name == junit.facts.gpu_name == "NVIDIA H200"
    assert {test: (cell.outcome, cell.requirement) for test, cell in journal.cells.items()} == {
        test: (cell.outcome, cell.requirement) for test, cell in junit.cells.items()
    }


def test_every_kernel_agreed_with_its_reference_natively() -> None:
    cells = next(column for column in read_results(RECORD / "base").columns if column.device == "h200").cells
    assert {cell.outcome.value for cell in cells.values()} == {"passed", "skipped-requirement"}
    passed = {test for test, cell in cells.items() if "agrees" in test and cell.outcome.value == "passed"}
    kernels = {test.partition("[")[2].split("-")[0] + "-" + test.partition("[")[2].split("-")[1] for test in passed}
    assert kernels == {
        "attention-flash_attn.cute",
        "attention-sdpa",
        "attention-reference",
        "cross_entropy-cuda",
        "cross_entropy-triton",
        "cross_entropy-reference",
        "mlp-triton",
        "mlp-reference",
    }


def test_against_itself_nothing_is_found(tmp_path: Path) -> None:
    code, found = report("base", tmp_path)
    assert (code, found["verdict"], found["changes"]) == (0, "ok", [])


@pytest.mark.parametrize(
    ("fault", "scope", "device", "evidence", "causes", "message"),
    [
        ("hopper-fault", "Hopper only, nothing else runs it", "h200", "native", "genuine_failure numeric_mismatch", ""),
        (
            "ampere-fault",
            "Ampere only",
            "rtx3090",
            "compiled",
            "onchip_limit",
            "needs 147,456 B of shared memory per block, RTX 3090 has 101,376 B",
        ),
    ],
)
def test_a_planted_fault(
    tmp_path: Path, fault: str, scope: str, device: str, evidence: str, causes: str, message: str
) -> None:
    code, found = report(fault, tmp_path)
    assert (code, found["verdict"]) == (1, "regression")
    assert found["headline"].startswith(f"regression: 5 new-failure ({scope})")
    for change in found["changes"]:
        assert (change["change"], change["scope"], change["red"]) == ("new-failure", scope, True)
        assert list(change["devices"]) == [device]
        part = change["devices"][device]
        assert (part["outcome"], part["evidence"]) == ("failed", evidence)
        assert part["cause"]["category"] in causes.split()
        assert message in part["message"]


def test_the_trainer_passes_while_the_h200_poses_as_an_rtx_3090() -> None:
    columns = {column.device: column for column in read_results(RECORD / "posing").columns}
    assert {name: column.evidence.value for name, column in columns.items()} == {
        "h200": "native",
        "rtx3090": "emulated",
    }
    for column in columns.values():
        outcomes = [cell.outcome.value for cell in column.cells.values()]
        assert (outcomes.count("passed"), outcomes.count("skipped-requirement")) == (157, 17)
    fallbacks = {test for test, cell in columns["rtx3090"].cells.items() if cell.outcome.value == "passed"}
    assert any("[cross_entropy-cuda-bfloat16-sm_86]" in test for test in fallbacks)  # which an H200 itself skips
