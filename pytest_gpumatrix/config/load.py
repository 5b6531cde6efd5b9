"""gpumatrix.yml -> Config."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.device import Device, RunsOn
from pytest_gpumatrix.config.expectation import DeviceSelector, Expectation
from pytest_gpumatrix.config.located import located
from pytest_gpumatrix.config.metric_rule import MetricRule, Tolerance
from pytest_gpumatrix.config.pattern import NamePattern, TestPattern
from pytest_gpumatrix.config.schema import (
    DEVICE_NAME,
    DeviceSpec,
    ExpectationSpec,
    FileSpec,
    MetricSpec,
    RunnerGroup,
)
from pytest_gpumatrix.config.yaml_document import YamlDocument, YamlPath, parse_yaml
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.gate.specifier import parse_capabilities
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Evidence

FILE_NAME = "gpumatrix.yml"
_SPECIFIER = re.compile(r"\s*[<>=!~]")
_Spec = TypeVar("_Spec", bound=msgspec.Struct)


def find_config(start: Path) -> Path | None:
    """The nearest gpumatrix.yml: in a folder, or one above it up to the top of its repository."""
    for folder in (start.absolute(), *start.absolute().parents):
        if (path := folder / FILE_NAME).is_file():
            return path
        if (folder / ".git").exists():
            return None
    return None


def config_for(start: Path, given: Path | None = None) -> Config:
    """The file that is given, else the nearest one from a folder on; an empty configuration where there is none."""
    path = given or find_config(start)
    return load_config(path) if path is not None else Config()


def load_config(path: Path) -> Config:
    """Read gpumatrix.yml. GpuMatrixError names the file and line, what is wrong there, and the right form."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise GpuMatrixError(f"{path}: cannot be read: {error.strerror or error}") from error
    document = parse_yaml(content, _shown(path))
    spec = _read(document)
    devices = tuple(_device(name, part, document) for name, part in spec.devices.items())
    config = Config(devices=devices, fail_on=frozenset(spec.fail_on), source=document.source)
    expectations = tuple(
        _expectation(part, document, ("expectations", index), config) for index, part in enumerate(spec.expectations)
    )
    metrics = tuple(_metric_rule(part, document, ("metrics", index), config) for index, part in enumerate(spec.metrics))
    return replace(config, expectations=expectations, metrics=metrics)


def _shown(path: Path) -> str:
    """The path as a reader would write it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _read(document: YamlDocument) -> FileSpec:
    """The file as typed values. Devices one by one first: msgspec's errors do not name the key of a dict."""
    devices = document.value.get("devices") if isinstance(document.value, dict) else None
    if isinstance(devices, dict):
        _check_names(devices, document)
        for name, value in devices.items():
            _convert(value, DeviceSpec, ("devices", name), document)
    return _convert(document.value, FileSpec, (), document)


def _check_names(names: dict[str, object], document: YamlDocument) -> None:
    seen: dict[str, str] = {}
    for name in names:
        place = document.place(("devices", name))
        if not re.fullmatch(DEVICE_NAME, name):
            raise GpuMatrixError(
                f"{place}: device {name!r}: a device's name begins with a letter or digit and has "
                "letters, digits, '.', '_' and '-' only"
            )
        last = name.rpartition(".")[2].lower()
        if name.lower() == CPU or (last != name.lower() and last in {item.value for item in Evidence}):
            raise GpuMatrixError(f"{place}: device {name!r}: the name is reserved; choose another")
        if (other := seen.setdefault(name.lower(), name)) != name:
            raise GpuMatrixError(
                f"{place}: device {name!r} differs from {other!r} in case only; files of the two would be one"
            )


def _convert(value: object, spec: type[_Spec], at: YamlPath, document: YamlDocument) -> _Spec:
    try:
        return msgspec.convert(value, spec)
    except msgspec.ValidationError as error:
        raise located(str(error), spec, at, document) from error


def _device(name: str, spec: DeviceSpec, document: YamlDocument) -> Device:
    at: YamlPath = ("devices", name)
    try:
        profile = catalogue.load().resolve(spec.profile)
    except GpuMatrixError as error:
        raise GpuMatrixError(f"{document.place((*at, 'profile'))}: device {name!r}: {error}") from error
    _check_runs_on(spec.runs_on, document.place((*at, "runs-on")), name)
    runs_on: RunsOn | None = document.value["devices"][name].get("runs-on")
    return Device(name=name, profile=profile, runs_on=runs_on, require=Evidence(spec.require), count=spec.count)


def _check_runs_on(runs_on: str | list[str] | RunnerGroup | None, place: str, name: str) -> None:
    given: object = runs_on
    if isinstance(runs_on, RunnerGroup):
        given = runs_on.group or runs_on.labels
    words = given if isinstance(given, list) else [given]
    if runs_on is not None and not (words and all(words)):
        raise GpuMatrixError(
            f"{place}: device {name!r}: runs-on is empty; write a label, [labels] or {{group: ..., labels: ...}}"
        )


def _expectation(spec: ExpectationSpec, document: YamlDocument, at: YamlPath, config: Config) -> Expectation:
    return Expectation(
        test=TestPattern(text=spec.test),
        devices=_selector(spec.devices, document.place((*at, "devices")), config),
        expect=spec.expect,
        cause=spec.cause,
        reason=spec.reason,
        until=spec.until,
        strict=spec.strict,
        place=document.place(at),
    )


def _selector(given: str | list[str], place: str, config: Config) -> DeviceSelector:
    if isinstance(given, str) and _SPECIFIER.match(given):
        try:
            return DeviceSelector(text=given, capabilities=parse_capabilities(given))
        except ValueError as error:
            raise GpuMatrixError(f"{place}: {error}") from error
    wanted = [given] if isinstance(given, str) else given
    names: set[str] = set()
    for name in wanted or [""]:
        found = {CPU} if name == CPU else {device.name for device in config.named(name)}
        if not found:
            known = ", ".join(device.name for device in config.devices) or "none"
            raise GpuMatrixError(
                f"{place}: no device {name!r} (devices: {known}); write a device, a list of devices or '<9.0'"
            )
        names |= found
    return DeviceSelector(text=", ".join(wanted), names=frozenset(names))


def _metric_rule(spec: MetricSpec, document: YamlDocument, at: YamlPath, config: Config) -> MetricRule:
    for key, value in (("absolute", spec.absolute), ("tolerance", spec.tolerance)):
        if isinstance(value, float) and not math.isfinite(value):
            raise GpuMatrixError(f"{document.place((*at, key))}: {key}: {value} is no number; write one in its unit")
    return MetricRule(
        name=NamePattern(text=spec.name),
        test=TestPattern(text=spec.test),
        threshold=None if spec.threshold is None else _fraction(spec.threshold),
        absolute=spec.absolute,
        tolerance=None if spec.tolerance is None else _tolerance(spec.tolerance),
        reference=None if spec.drift is None else _reference(spec, document.place((*at, "drift")), config),
        better=spec.better,
        place=document.place(at),
    )


def _tolerance(given: str | float) -> Tolerance:
    if isinstance(given, str):
        return Tolerance(text=given, relative=_fraction(given))
    return Tolerance(text=f"{given:g}", absolute=given)


def _fraction(percent: str) -> float:
    return float(percent.removesuffix("%")) / 100


def _reference(spec: MetricSpec, place: str, config: Config) -> str:
    if spec.tolerance is None:
        raise GpuMatrixError(f'{place}: drift: without a tolerance no devices are compared; write tolerance: "1%"')
    named = config.named(spec.drift or "")
    if len(named) != 1:
        known = ", ".join(device.name for device in config.devices) or "none"
        problem = "means several devices" if named else "is no device"
        raise GpuMatrixError(f"{place}: drift: {spec.drift!r} {problem} (devices: {known}); write one of them")
    return named[0].name
