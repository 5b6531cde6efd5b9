"""Which devices an expectation means, and until when."""

from __future__ import annotations

import datetime

import pytest
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.config.expectation import DeviceSelector
from pytest_gpumatrix.hardware.capability import ComputeCapability
from tests.verdict.runs import expectation

BELOW_HOPPER = DeviceSelector(text="<9.0", capabilities=SpecifierSet("<9.0"))
NAMED = DeviceSelector(text="h100", names=frozenset({"h100"}))


@pytest.mark.parametrize(
    ("selector", "device", "capability", "selected"),
    [
        (BELOW_HOPPER, "rtx3090", (8, 6), True),
        (BELOW_HOPPER, "h100", (9, 0), False),
        (BELOW_HOPPER, "cpu", None, False),
        (NAMED, "h100", (9, 0), True),
        (NAMED, "h100", None, True),
        (NAMED, "h200", (9, 0), False),
    ],
)
def test_which_devices_are_meant(
    selector: DeviceSelector, device: str, capability: tuple[int, int] | None, selected: bool
) -> None:
    assert selector.selects(device, ComputeCapability(*capability) if capability else None) is selected


@pytest.mark.parametrize(("until", "expired"), [(None, False), ("2027-01-15", False), ("2027-01-14", True)])
def test_the_last_day_is_one_on_which_it_holds(until: str | None, expired: bool) -> None:
    assert expectation("t", "h100", until=until).expired(datetime.date(2027, 1, 15)) is expired
