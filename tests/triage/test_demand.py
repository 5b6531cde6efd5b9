"""Which capabilities a text demands, and which it says that the device has."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.demand import demand_of, stated_capability

DEMANDS = [
    # line, capabilities that it allows, capabilities that it does not
    ("requires .target sm_80 or higher", "8.0 8.6 9.0 12.0", "7.5"),
    ("only supports ampere gpus or newer.", "8.0 9.0", "7.5"),
    ("requires compute capability >= 9.0", "9.0 10.0", "8.9"),
    ("only on devices with compute capability >= 9.0 or 8.9", "8.9 9.0", "8.6"),
    ("at least 8.0. your tesla t4 gpu has compute capability 7.5.", "8.0", "7.5"),
    ("fp8e4nv data type is not supported on cuda arch < 89", "8.9 9.0", "8.6"),
    ("only supports hopper gpus (sm90). got sm120.", "9.0", "8.9 12.0"),
    ("requires sm100, current sm90", "10.0", "9.0"),
    ("only on gpus with compute capability 8.x", "8.0 8.6 8.9", "7.5 9.0"),
    ("compute capability = [9.0, 10.0] only", "9.0 10.0", "8.9 12.0"),
    ("head dim > 64 requires a100 or h100 gpus", "8.0 9.0", "8.6 12.0"),
    ("expected is_sm80 || is_sm90 to be true", "8.0 9.0", "8.6"),
    ("bf16 is only supported on a100+ gpus", "8.0 8.6", "7.5"),
    (">= 8 excluding 8.6 and 8.9 and blackwell archs (>=10)", "8.0 9.0", "7.5 8.6 8.9 10.0 12.0"),
    ("gpu architectures in the range [sm80, sm121]", "8.0 12.1", "7.5 13.0"),
    ("requires device with capability >= (9, 0) but your gpu has capability (7, 5) (too old)", "9.0", "7.5"),
    ("minimum capability: 89. current capability: 75.", "8.9", "7.5"),
    ("doesn't support half with compute capability less than sm_53, but the device only has sm_52", "6.0", "5.2"),
]


@pytest.mark.parametrize(("line", "allowed", "refused"), DEMANDS)
def test_a_demand_is_a_set(line: str, allowed: str, refused: str) -> None:
    demand = demand_of(line)
    assert demand is not None
    assert [text for text in allowed.split() if not demand.allows(ComputeCapability.parse(text))] == []
    assert [text for text in refused.split() if demand.allows(ComputeCapability.parse(text))] == []


@pytest.mark.parametrize(
    "line",
    ["shape mismatch at 8.0", "instruction 'wgmma' not supported on .target 'sm_120a'", "", "9.1 ms of 80 tests"],
)
def test_no_demand(line: str) -> None:
    assert demand_of(line) is None


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("your tesla v100-sxm2-32gb gpu has compute capability 7.0.", "7.0"),
        ("only supports hopper gpus (sm90). got sm120.", "12.0"),
        ("requires compute capability >= 8.0, found 7.5", "7.5"),
        ("no compiled kernel for cuda device capability: 120", "12.0"),
        ("but your device is of cuda capability 6.1", "6.1"),
        ('{"smversion":890}', "8.9"),
        ("attempting to run on a sm 7.5 gpu", "7.5"),
        ("requires sm_100+ (blackwell); host has sm_88", "8.8"),
        ("found 12 tests, the loss is 3.2", None),
        ("the cuda version is 12.4", None),
        ("supports capability 8.0 or newer", None),
    ],
)
def test_the_stated_capability(text: str, capability: str | None) -> None:
    found = stated_capability(text)
    assert (str(found) if found else None) == capability


@settings(deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("sm_0189.x()>=< ,aorequires compute capability only got has ampere+"), max_size=200
    )
)
def test_any_line_is_read(line: str) -> None:
    demand = demand_of(line)
    assert demand is None or isinstance(demand.allows(ComputeCapability(9, 0)), bool)
    stated_capability(line)
