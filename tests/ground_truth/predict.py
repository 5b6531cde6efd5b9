"""Judge every case for the H200, without looking at a GPU: python -m tests.ground_truth.predict --output FILE."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.judging.compile_launches import Compiling, compile_launches
from pytest_gpumatrix.portability.judging.figures import Figures
from pytest_gpumatrix.portability.judging.judge import judge_launches
from pytest_gpumatrix.portability.judging.judgement import Judgement
from pytest_gpumatrix.portability.judging.plan import Judged, Wanted
from pytest_gpumatrix.portability.tape.launch import Launch, digest
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header
from tests.ground_truth import cases
from tests.ground_truth.case import Case
from tests.ground_truth.recording import ROOT, launches_of

DEVICE = "h200"
_VERSIONS = ("torch", "triton", "cuda-core", "nvidia-cuda-nvrtc", "nvidia-nvjitlink")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """The verdict of the compile step on a case, and what of a block's room the launch takes."""

    judgement: Judgement
    figures: Figures | None  # of the first configuration, if it is tuned


def judge_all(wanted: Mapping[str, Case], cache_dir: Path, *, jobs: int) -> dict[str, Prediction]:
    """Judge all cases for the device."""
    launches = {name: launches_of(case) for name, case in wanted.items()}
    kernels = [launch.kernel for found in launches.values() for launch in found]
    judged = compile_launches(
        lambda: (Wanted(digest=digest(kernel), kernel=kernel, devices=[DEVICE], ran_on=None) for kernel in kernels),
        {DEVICE: catalogue.load().resolve(DEVICE)},
        Header(schema=SCHEMA, rootdir=str(ROOT), sys_path=tuple(sys.path)),
        Compiling(
            jobs=jobs,
            budget_seconds=3600.0,
            cache_dir=cache_dir,
            environ=os.environ,
            progress=_show,
            note=lambda message: print(message, file=sys.stderr),
        ),
    )
    return {name: _predict(found, judged) for name, found in launches.items()}


def versions() -> dict[str, str]:
    """Of what compiled."""
    return {name: importlib.metadata.version(name) for name in _VERSIONS if _is_installed(name)}


def _predict(launches: list[Launch], judged: Mapping[tuple[str, str], Judged]) -> Prediction:
    found = [(launch, judged[digest(launch.kernel), DEVICE]) for launch in launches]
    [(_, judgement)] = judge_launches([(launch, member.judgement) for launch, member in found])
    return Prediction(judgement=judgement, figures=found[0][1].figures)


def _told(prediction: Prediction) -> dict[str, Any]:
    told: dict[str, Any] = {"fit": prediction.judgement.fit.value, "reason": prediction.judgement.reason}
    if (figures := prediction.figures) is not None:
        told |= {"shared_memory": figures.shared_memory, "threads": figures.threads}
        told["registers"] = figures.code.registers if figures.code is not None else None
    return told


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _show(done: int, total: int) -> None:
    if done % 20 == 0 or done == total:
        print(f"{done}/{total} compiled", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--cache", type=Path, default=Path(os.environ.get("GPUMATRIX_CACHE_DIR", ".ground-truth-cache"))
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    told = {name: _told(found) for name, found in judge_all(cases.load(), given.cache, jobs=given.jobs).items()}
    content = {"device": DEVICE, "versions": versions(), "cases": told}
    given.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
