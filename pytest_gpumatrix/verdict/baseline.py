"""What a reader must know of the plan and the baseline, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict.comparison import Sides
from pytest_gpumatrix.verdict.matrix import MatrixDevice
from pytest_gpumatrix.verdict.renames import moved
from pytest_gpumatrix.verdict.series import shortened
from pytest_gpumatrix.verdict.unread import refused_devices
from pytest_gpumatrix.verdict.verdict import MissingDevice


def baseline_notes(
    config: Config, sides: Sides, missing: tuple[MissingDevice, ...], head: Results, base: Results | None
) -> Iterator[str]:
    """The notes of a verdict, but for those on metrics."""
    if not config.devices:
        yield "no gpumatrix.yml: no device is expected, so none can be missing"
    yield from _commits(head, base)
    planned = {device.name for device in sides.head.devices if device.planned}
    for device in sides.head.devices:
        if planned and not device.planned and device.name != CPU:
            yield f"there are results of {device.name}, which is no device of {config.source or 'the plan'}"
    if missing:
        yield "which tests never run is not decided while a device is missing"
    if sides.base is None or base is None:
        yield "no baseline: each failure counts as failing, new or not"
        return
    for name in sorted(base.broken.keys() - refused_devices(base).keys()):
        yield f"the baseline's results of {name} do not count: {base.broken[name]}"
    if not sides.has_base:
        yield "the baseline has no results: each failure counts as failing, new or not"
        return
    for device in sides.head.devices:
        if device.name in sides.head_reported and device.name not in sides.base_reported:
            yield f"the baseline has no {_wanted(device)}results of {device.name}"
    for device in sides.base.devices:
        if not device.planned and device.name not in {d.name for d in sides.head.devices}:
            yield f"the baseline has results of {device.name}; head has none"
    if told := sorted((item.test, item.device) for item in base.contradictions):
        first = f"{shortened(told[0][0])} on {told[0][1]}"
        more = f" ({len(told) - 1:,} more like it)" if len(told) > 1 else ""
        yield f"results of the baseline contradict each other, and the failure counts: {first}{more}"
    yield from moved(sides.renamed)


def _commits(head: Results, base: Results | None) -> Iterator[str]:
    """Which commits are compared. A folder holds results of one."""
    found = commit_of(head)
    if found is None:
        return
    against = commit_of(base) if base is not None else None
    yield f"results of commit {found[:12]}" + (f", against {against[:12]}" if against else "")


def commit_of(results: Results) -> str | None:
    """The commit that results are of, if a file tells."""
    return next((column.facts.commit for column in results.columns if column.facts.commit), None)


def _wanted(device: MatrixDevice) -> str:
    return "" if device.name == CPU else f"{device.require.value} "
