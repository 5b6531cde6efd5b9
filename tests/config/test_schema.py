"""The JSON Schema for editors is the one that the types make, and says the same as the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it publishes no types
import pytest
import yaml

from pytest_gpumatrix.config.load import load_config
from pytest_gpumatrix.config.schema import SCHEMA_FILE, json_schema
from pytest_gpumatrix.errors import GpuMatrixError

REPOSITORY = Path(__file__).parents[2]
GOOD: dict[str, Any] = {"version": 1, "devices": {"h100": {"profile": "h100-sxm"}}}
EXPECTATION = {"test": "a*", "devices": "<9.0", "expect": "fail"}


def test_the_file_is_up_to_date() -> None:
    kept, made = (_any_order(json.loads(text)) for text in (SCHEMA_FILE.read_text(encoding="utf-8"), json_schema()))
    assert kept == made, (
        "write it anew: python -c 'from pytest_gpumatrix.config import schema as s; "
        "s.SCHEMA_FILE.write_text(s.json_schema())'"
    )


def _any_order(schema: Any) -> Any:
    """The schema with its ``anyOf`` sorted: releases of msgspec differ in their order."""
    if isinstance(schema, dict):
        return {
            key: sorted(map(_any_order, value), key=json.dumps) if key == "anyOf" else _any_order(value)
            for key, value in schema.items()
        }
    return [_any_order(item) for item in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"expectations": [EXPECTATION]}, True),
        ({"expectations": [{**EXPECTATION, "until": "2027-06-01", "cause": "device_oom"}]}, True),
        ({"expectations": [{**EXPECTATION, "expect": "flaky"}]}, True),
        ({"expectations": [{**EXPECTATION, "expect": "pass"}]}, False),
        ({"metrics": [{"name": "loss*", "tolerance": 0.5}]}, True),
        ({"metrics": [{"name": "loss*", "test": "t*", "threshold": "10%", "tolerance": "1.5%", "absolute": 1}]}, True),
        ({"metrics": [{"name": "loss*", "threshold": 10}]}, False),
        ({"metrics": [{"name": "loss*", "threshold": "10"}]}, False),
        ({"metrics": [{"name": "loss*", "threshold": "10%\n"}]}, False),
        ({"metrics": [{"name": "loss*", "tolerance": "10%\n"}]}, False),
        ({"metrics": [{"name": "loss*", "tolerance": -1}]}, False),
        ({"metrics": [{"test": "t"}]}, False),
        ({"fail-on": ["never-run"]}, True),
        ({"version": 2}, False),
        ({"other": 1}, False),
        ({"devices": {"a/b": {"profile": "l40s"}}}, False),
        ({"devices": {"h100": {"profile": "h100-sxm", "require": "none"}}}, False),
        ({"devices": {"h100": {"profile": "h100-sxm", "count": 0}}}, False),
        ({"expectations": [{**EXPECTATION, "who": "me"}]}, False),
        ({"fail-on": ["fixed"]}, False),
    ],
)
def test_schema_and_reader_agree(tmp_path: Path, change: dict[str, Any], valid: bool) -> None:
    value = GOOD | change
    validator = jsonschema.Draft202012Validator(json.loads(json_schema()))
    assert validator.is_valid(value) is valid
    path = tmp_path / "gpumatrix.yml"
    path.write_text(yaml.safe_dump(value), encoding="utf-8")
    if valid:
        load_config(path)
    else:
        with pytest.raises(GpuMatrixError):
            load_config(path)


def test_this_repository_s_own_file_is_valid() -> None:
    load_config(REPOSITORY / "gpumatrix.yml")
