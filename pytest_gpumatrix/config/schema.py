"""The shape of gpumatrix.yml: what is checked when it is read, and the JSON Schema for editors.

msgspec and not pydantic: ``python -X importtime`` of a module with one such type, medians of five runs on two
cores with Python 3.11, is 47 ms for msgspec 0.23 and 232 ms for pydantic 2.14, and every report pays it.
"""

from __future__ import annotations

import datetime
import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.triage.cause import Category

# A device's name becomes a file name, an artifact name and a word on a command line.
DEVICE_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
PERCENT = r"^[0-9]{1,6}(\.[0-9]{1,6})?%(?!\n)$"  # "$" alone would let a line end follow
SCHEMA_FILE = Path(__file__).with_name("gpumatrix.schema.json")


class Expect(str, Enum):
    """What an expectation expects of its cells."""

    FAIL = "fail"  # outcome failed or error
    CRASH = "crash"  # outcome crashed or timeout
    FLAKY = "flaky"  # good or bad, whichever comes
    SKIP = "skip"  # what comes of it does not count


def _told(description: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=description, **limits)


class _Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="kebab", kw_only=True):
    """A mapping of the file: no other keys than its fields."""


class RunnerGroup(_Part, frozen=True):
    """Runners by group, by labels, or both: as ``runs-on`` of a GitHub workflow."""

    group: str | None = None
    labels: str | list[str] | None = None


class DeviceSpec(_Part, frozen=True):
    """One column of the matrix."""

    profile: Annotated[str, _told("The GPU: an id, or a name as NVML gives it; `gpumatrix devices` lists them")]
    runs_on: Annotated[
        str | list[str] | RunnerGroup | None, _told("The runner that has it: as runs-on of a GitHub workflow")
    ] = None
    require: Annotated[
        Literal["native", "emulated", "compiled"],
        _told("The weakest evidence that counts; with weaker evidence the device is missing"),
    ] = "native"
    count: Annotated[int, _told("How many of this GPU the runner has", ge=1, le=1024)] = 1


class ExpectationSpec(_Part, frozen=True):
    """What tests are expected to do on some devices."""

    test: Annotated[str, _told("Node ids; * stands for any text, ? for one character", min_length=1)]
    devices: Annotated[
        str | list[str],
        _told('A device, a list of devices, or a specifier over the compute capability: "<9.0"'),
    ]
    expect: Annotated[
        Expect, _told("fail: it fails; crash: it crashes or hangs; flaky: it passes or not; skip: it does not count")
    ]
    cause: Annotated[Category | None, _told("Only a failure of this cause is the expected one")] = None
    reason: str = ""
    until: Annotated[datetime.date | None, _told("The last day on which it holds: 2027-06-01")] = None
    strict: Annotated[bool, _told("Whether an unexpected pass is red")] = True


class MetricSpec(_Part, frozen=True):
    """How metrics are compared with the base, and between devices. The first entry that matches a metric holds."""

    name: Annotated[str, _told("Names of metrics; * stands for any text, ? for one character", min_length=1)]
    test: Annotated[str, _told("Node ids; * stands for any text, ? for one character", min_length=1)] = "*"
    threshold: Annotated[
        Annotated[str, msgspec.Meta(pattern=PERCENT)] | None, _told('A change counts from here on: "10%" of the base')
    ] = None
    absolute: Annotated[
        Annotated[float, msgspec.Meta(ge=0)] | None, _told("A change of no more than this does not count, in its unit")
    ] = None
    tolerance: Annotated[
        Annotated[str, msgspec.Meta(pattern=PERCENT)] | Annotated[float, msgspec.Meta(ge=0)] | None,
        _told('How far devices may differ: "1%" of the reference device\'s value, or a number in its unit'),
    ] = None
    drift: Annotated[str | None, _told("The reference device; else the first device that has a value")] = None
    better: Annotated[Literal["lower", "higher"] | None, _told("Whatever the test says")] = None


class FileSpec(_Part, frozen=True):
    """gpumatrix.yml: the devices of the matrix, what is expected of tests and metrics, and what fails a run."""

    version: Literal[1]
    devices: dict[Annotated[str, msgspec.Meta(pattern=DEVICE_NAME)], DeviceSpec]
    expectations: list[ExpectationSpec] = []
    metrics: list[MetricSpec] = []
    fail_on: tuple[FailOn, ...] = tuple(sorted(DEFAULT_FAIL_ON))


def json_schema() -> str:
    """The JSON Schema of gpumatrix.yml as text; ``SCHEMA_FILE`` holds it."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpumatrix.yml",
        **msgspec.json.schema(FileSpec),
    }
    return json.dumps(schema, indent=2) + "\n"
