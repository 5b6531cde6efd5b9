"""What the fixtures ``gpu`` and ``gpu_metric`` give."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsFloat

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.record.cell import Metric
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.session.marked import NEED
from pytest_gpumatrix.session.pose import running_of


class RecordedMetrics:
    """What was measured of one test. Reports take it phase by phase."""

    def __init__(self) -> None:
        self._untold: list[Metric] = []
        self._names: set[str] = set()  # of this attempt, told or not

    def begin(self) -> None:
        """A new attempt of the test."""
        self._untold.clear()
        self._names.clear()

    def add(self, metric: Metric) -> None:
        """One value; several of one name are repeats."""
        self._untold.append(metric)
        self._names.add(metric.name)

    def add_missing(self, metrics: Iterable[Metric]) -> None:
        """Those that the test has not recorded under the same name itself."""
        for metric in [metric for metric in metrics if metric.name not in self._names]:
            self.add(metric)

    def take(self) -> tuple[Metric, ...]:
        """What no report has told yet."""
        metrics = tuple(self._untold)
        self._untold.clear()
        return metrics


_METRICS = pytest.StashKey[RecordedMetrics]()


def recorded_metrics(item: pytest.Item) -> RecordedMetrics:
    """The metrics of a test."""
    return item.stash.setdefault(_METRICS, RecordedMetrics())


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuUnderTest:
    """The device that a test runs on. On a CPU by Triton's interpreter, capability and profile are None."""

    device: str  # its name in the matrix: "h100", or "cpu"
    torch_device: str  # "cuda:0", or "cpu"
    capability: ComputeCapability | None
    profile: Profile | None
    evidence: Evidence = Evidence.NATIVE


def gpu_under_test(request: pytest.FixtureRequest) -> GpuUnderTest:
    """The device of the running column, for a test that is marked ``gpu``."""
    if NEED not in request.node.stash:
        raise pytest.UsageError(f"{request.node.nodeid}: the gpu fixture is for tests marked gpu: add @pytest.mark.gpu")
    running = running_of(request.config)
    if running.gpu is None or running.view is None:
        return GpuUnderTest(device=running.device, torch_device="cpu", capability=None, profile=None)
    return GpuUnderTest(
        device=running.device,
        torch_device="cuda:0",
        capability=running.view.profile.capability,
        profile=running.view.profile,
        evidence=running.evidence,
    )


class GpuMetric:
    """Records values of one test, kept per device in its JUnit and journal."""

    def __init__(self, item: pytest.Item) -> None:
        self._metrics = recorded_metrics(item)

    def __call__(self, name: str, value: SupportsFloat, unit: str, better: str = "lower") -> None:
        """Record one value; called again with the same name, a repeat of it.

        What is not one finite number fails the test: nothing could be compared with it.
        """
        if better not in ("lower", "higher"):
            raise ValueError(f'gpu_metric {name!r}: better must be "lower" or "higher", not {better!r}')
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"gpu_metric {name!r}: not a number: {type(value).__name__} {value!r}") from error
        if not math.isfinite(number):
            raise ValueError(f"gpu_metric {name!r}: {number} is not finite")
        self._metrics.add(Metric(name=str(name), value=number, unit=str(unit), better=better))
