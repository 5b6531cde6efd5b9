"""What msgspec says of a wrong value -> an error with its line and the right form."""

from __future__ import annotations

import re

import msgspec

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.config.schema import DeviceSpec, Expect, ExpectationSpec, FileSpec, MetricSpec, RunnerGroup
from pytest_gpumatrix.config.yaml_document import YamlDocument, YamlPath
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.triage.cause import Category

_CHOICES = {
    "cause": [item.value for item in Category],
    "expect": [item.value for item in Expect],
    "fail-on": [item.value for item in FailOn],
    "better": ["lower", "higher"],
    "require": ["native", "emulated", "compiled"],
    "version": ["1"],
}
_FORMS = {
    FileSpec: "version: 1, devices: {...}, expectations: [...], metrics: [...], fail-on: [regression, ...]",
    DeviceSpec: "h100: {profile: h100-sxm, runs-on: [self-hosted, h100]}",
    ExpectationSpec: '{test: "tests/test_a.py::test_b*", devices: "<9.0", expect: fail, reason: "..."}',
    MetricSpec: '{name: "loss*", threshold: "10%", absolute: 0.5, tolerance: "1%"}',
}
_LISTS: dict[str | int, type[msgspec.Struct]] = {"expectations": ExpectationSpec, "metrics": MetricSpec}


def located(message: str, spec: type[msgspec.Struct], at: YamlPath, document: YamlDocument) -> GpuMatrixError:
    """msgspec's sentence, with the line that it speaks of and the right form."""
    text, _, where = message.partition(" - at `$")
    inner = tuple(int(index) if index else key for key, index in re.findall(r"\.([\w-]+)|\[(\d+)\]", where))
    path: YamlPath = (*at, *inner)
    if unknown := re.search(r"unknown field `(.*)`", text, re.DOTALL):
        keys = sorted(_fields(spec, inner))
        text = f"unknown key {unknown[1]!r}; the keys here are {', '.join(keys)}"
        place = document.place((*path, unknown[1]))
    else:
        place = document.place(path)
        named = next((step for step in reversed(path) if isinstance(step, str)), "")
        if named in _CHOICES and "enum" in text:
            text += f"; one of {', '.join(_CHOICES[named])}"
        elif named == "until":
            text += "; write a date: 2027-06-01"
        elif form := _FORMS.get(_part(spec, inner)):
            text += f"; write {form}"
    subject = ".".join(str(step + 1 if isinstance(step, int) else step) for step in path) or "the file"
    return GpuMatrixError(f"{place}: {subject}: {text}")


def _part(spec: type[msgspec.Struct], inner: YamlPath) -> type[msgspec.Struct]:
    """The type of the mapping that a path within a spec leads to."""
    if "runs-on" in inner:
        return RunnerGroup
    if spec is FileSpec and len(inner) > 1:
        return _LISTS.get(inner[0], spec)
    return spec


def _fields(spec: type[msgspec.Struct], inner: YamlPath) -> tuple[str, ...]:
    return _part(spec, inner).__struct_encode_fields__
