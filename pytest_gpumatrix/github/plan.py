"""gpumatrix.yml -> the jobs of a workflow, one per device."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.device import RunsOn
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.record.outcome import Evidence

MOST_JOBS = 256  # of one matrix ("Actions limits", docs.github.com)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One leg of the matrix."""

    device: str
    runs_on: RunsOn
    native: bool  # the device requires native evidence: without its GPU the leg is of no use

    def entry(self) -> dict[str, object]:
        """The leg as an entry of ``strategy.matrix.include``."""
        return {"device": self.device, "runs-on": self.runs_on, "native": self.native}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a workflow has to run, and whose results it then has to see."""

    jobs: tuple[Job, ...]

    @property
    def matrix(self) -> Mapping[str, object]:
        """For ``strategy.matrix``."""
        return {"include": [job.entry() for job in self.jobs]}

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices to expect."""
        return tuple(job.device for job in self.jobs)

    def outputs(self) -> dict[str, str]:
        """The outputs of plan/action.yml: JSON of one line each."""
        return {"matrix": json.dumps(self.matrix), "devices": json.dumps(self.devices)}


def make_plan(config: Config) -> Plan:
    """A job for each device. GpuMatrixError if there is none, too many, or one that no runner is named for."""
    where = config.source or "gpumatrix.yml"
    if not config.devices:
        raise GpuMatrixError(f"{where} has no devices, so there is nothing to run; write one under 'devices'")
    if len(config.devices) > MOST_JOBS:
        raise GpuMatrixError(
            f"{where} has {len(config.devices)} devices, and a workflow's matrix at most {MOST_JOBS} jobs; "
            "split it into two files and two workflows"
        )
    jobs = []
    for device in config.devices:
        if device.runs_on is None:
            raise GpuMatrixError(
                f"{where}: device {device.name!r} names no runner; add runs-on: [self-hosted, {device.name}], or "
                "runs-on: ubuntu-latest where require: compiled is enough"
            )
        native = device.require is Evidence.NATIVE
        jobs.append(Job(device=device.name, runs_on=device.runs_on, native=native))
    return Plan(jobs=tuple(jobs))
