"""What the compile step says of each case, against what happened when it was launched on a real H200."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from pytest_gpumatrix.portability.judging.judgement import Fit

pytest.importorskip("torch")
pytest.importorskip("triton")
pytest.importorskip("cuda.core")

from tests.ground_truth import cases
from tests.ground_truth.recording import ROOT
from tests.ground_truth.run_case import Ending, Outcome

DATA = Path(__file__).parents[1] / "data" / "ground_truth"
CASES = cases.load()
AGREEING = {
    Fit.FITS: {Ending.RAN},
    Fit.SLOW: {Ending.RAN},
    Fit.FAILS: {Ending.REFUSED, Ending.DIED},
}


@functools.cache
def outcomes() -> Mapping[str, Outcome]:
    kept = json.loads((DATA / "outcomes.json").read_text(encoding="utf-8"))
    return msgspec.convert(kept["cases"], dict[str, Outcome])


def predictions_in(file: Path) -> Mapping[str, tuple[Fit, str]]:
    kept = json.loads(file.read_text(encoding="utf-8"))
    return {name: (Fit(told["fit"]), told["reason"]) for name, told in kept["cases"].items()}


@functools.cache
def kept_predictions() -> Mapping[str, tuple[Fit, str]]:
    """Those that were made on the same machine, by the compilers that then launched."""
    return predictions_in(DATA / "predictions.json")


@pytest.fixture(scope="session")
def predictions(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Fit, str]]:
    """Those of the compilers that are installed here, made in a process that does not interpret Triton."""
    folder = tmp_path_factory.mktemp("ground-truth")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "tests.ground_truth.predict",
        "--output",
        folder / "predictions.json",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    subprocess.run([*command, "--cache", folder / "cache"], check=True, cwd=ROOT, env=environment)
    return predictions_in(folder / "predictions.json")


def test_each_case_was_launched_and_predicted() -> None:
    assert len(CASES) >= 70
    assert outcomes().keys() == kept_predictions().keys() == CASES.keys()


def test_both_endings_are_well_represented() -> None:
    endings = [outcome.ending for outcome in outcomes().values()]
    assert endings.count(Ending.RAN) >= 50
    assert endings.count(Ending.REFUSED) >= 50


@pytest.mark.parametrize("name", CASES)
def test_no_disagreement_with_the_h200(predictions: Mapping[str, tuple[Fit, str]], name: str) -> None:
    _agree(name, *predictions[name])


@pytest.mark.parametrize("name", CASES)
def test_no_disagreement_on_the_machine_that_launched(name: str) -> None:
    _agree(name, *kept_predictions()[name])


@pytest.mark.parametrize("name", CASES)
def test_a_recorder_sees_what_was_predicted_from(name: str) -> None:
    outcome = outcomes()[name]
    if outcome.ending is Ending.RAN:  # what is refused may end before it is a launch
        assert outcome.unseen == ()


def _agree(name: str, fit: Fit, reason: str) -> None:
    outcome = outcomes()[name]
    assert outcome.ending in AGREEING.get(fit, ()), (
        f"judged: {fit.value} {reason}; launched: {outcome.ending.value} {outcome.error} {outcome.text}"
    )
