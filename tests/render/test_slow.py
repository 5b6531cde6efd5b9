"""What is slow, put together: one line for what differs in numbers alone."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.render.slow import SlowOn, SlowRow, at_worst, slow_rows
from pytest_gpumatrix.verdict.matrix import Matrix
from tests.verdict.runs import cell, plan, run, verdict

SPILLS = "spills {} B per thread (the build for 9.0: 0 B)"
COPIES = "no asynchronous copies (the build for 9.0 has {})"


@pytest.mark.parametrize(
    ("findings", "sentence"),
    [
        ({"t4": [SPILLS.format(8)]}, f"t4: {SPILLS.format(8)}"),
        ({"t4": [SPILLS.format(8)] * 2, "l40s": [SPILLS.format(8)]}, f"t4, l40s: {SPILLS.format(8)}"),
        ({"t4": [SPILLS.format(n) for n in ("8", "1,024", "64")]}, f"t4: at worst {SPILLS.format('1,024')}"),
        (
            {"l40s": [SPILLS.format(8)], "t4": [SPILLS.format(64)], "a100": [SPILLS.format(8)]},
            f"t4: {SPILLS.format(64)}; l40s, a100: 8 B",
        ),
        (
            {"l40s": [SPILLS.format(8), SPILLS.format(4)], "t4": [SPILLS.format(64)]},
            f"t4: at worst {SPILLS.format(64)}; l40s: 8 B",
        ),
        (
            {"t4": ["2 compare-and-swap loops"], "a100": ["4 compare-and-swap loops"]},
            "a100: 4 compare-and-swap loops; t4: 2",
        ),
        # What is in brackets is of the other build, and no figure of the device's.
        (
            {"t4": [COPIES.format(12)], "a100": [COPIES.format(24)]},
            f"a100: {COPIES.format(24)}; t4: {COPIES.format(12)}",
        ),
    ],
)
def test_each_device_is_told_at_its_worst(findings: dict[str, list[str]], sentence: str) -> None:
    assert at_worst(findings) == sentence


def matrix(**slow: dict[str, tuple[str, ...]]) -> Matrix:
    """By device: what of a test's launches is slow there."""
    columns = {
        f"{device}:compiled": {test: cell(test, "compiled", "compiled", slow=found) for test, found in tests.items()}
        for device, tests in slow.items()
    }
    config: Config = plan(*slow, require=dict.fromkeys(slow, "compiled"))
    return verdict(config, run(columns)).matrix


def test_a_kernel_that_is_slow_in_many_launches_is_one_row() -> None:
    sizes = (8, 64, 1024, 32, 4)
    slow = tuple(f"product: {SPILLS.format(size)}; no tensor cores" for size in sizes)
    assert slow_rows(matrix(t4={"a": slow[:3], "b": slow[2:]})) == [
        SlowRow(
            finding=f"product: at worst {SPILLS.format(1024)}; no tensor cores",
            devices={"t4": SlowOn(tests=("a", "b"), figure="")},
        )
    ]


def test_devices_that_differ_have_their_own_figure() -> None:
    [row] = slow_rows(
        matrix(t4={"a": (f"product: {SPILLS.format(64)}",)}, l40s={"b": (f"product: {SPILLS.format(8)}",)})
    )
    assert row == SlowRow(
        finding=f"product: at worst {SPILLS.format(64)}",
        devices={"t4": SlowOn(tests=("a",), figure="64 B"), "l40s": SlowOn(tests=("b",), figure="8 B")},
    )
    assert row.tests == ("a", "b")


def test_kernels_and_what_they_have_on_other_devices_stay_apart() -> None:
    spills = SPILLS.format(8)
    rows = slow_rows(
        matrix(
            t4={"a": (f"product: {spills}; no tensor cores", f"scale: {spills}")},
            l40s={"a": (f"product: {spills}",)},
        )
    )
    assert [(row.finding, list(row.devices)) for row in rows] == [
        (f"product: {spills}", ["t4", "l40s"]),
        ("product: no tensor cores", ["t4"]),
        (f"scale: {spills}", ["t4"]),
    ]
