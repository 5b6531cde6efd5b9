"""The published JSON Schema of the report, and that each report is as it says."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it publishes no types
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.render.report_schema import SCHEMA_FILE, json_schema
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.everything import everything, metric_row
from tests.render.hostile import TEXTS
from tests.render.verdicts import verdicts
from tests.verdict.runs import plan, run, verdict


@cache
def validator() -> Any:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def report(found: Verdict) -> dict[str, Any]:
    """The report, valid."""
    content = json.loads(render_json(found))
    validator().validate(content)
    assert isinstance(content, dict)
    return content


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every object with named keys that a schema describes."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = [schema] if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) else []
    return own + [found for part in inner for found in objects(part)]


@pytest.mark.skipif(
    msgspec.__version__.startswith("0.19."), reason="0.19 writes the parts of the schema in another order"
)
def test_the_file_is_what_the_types_say() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == json_schema(), "write json_schema() into the file"


def test_no_object_takes_a_key_that_it_does_not_name() -> None:
    found = objects(json.loads(json_schema()))
    assert len(found) > 15
    assert all(part["additionalProperties"] is False for part in found)


def test_everything_is_valid_and_nothing_is_left_out() -> None:
    content = report(everything())
    empty = {name for name, value in content.items() if value in ([], {}, None)}
    assert empty == {"never_run"}  # not decided, for a device is missing


@pytest.mark.parametrize("note", ["plain", "\ud800 is no text"])
def test_a_value_that_json_has_not_is_null_by_either_writer(note: str) -> None:
    found = dataclasses.replace(
        everything(), metrics=(dataclasses.replace(metric_row(), base=math.inf),), notes=(note,)
    )

    def refuse(word: str) -> None:
        raise AssertionError(word)

    content = json.loads(render_json(found), parse_constant=refuse)
    validator().validate(content)
    assert (content["notes"], content["metrics"][0]["base"]) == ([note], None)
    assert content["history"]["new"]["h100"]["trends"]["loss"][1]["value"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": 1},
        {"verdict": "splendid"},
        {"more": 1},
        {"changes": [{"test": "t"}]},
        {"history": {"t": {"h100": {}}}},
    ],
)
def test_the_schema_refuses(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({**report(everything()), **wrong})


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_names_are_exact(text: str) -> None:
    found = report(verdict(plan("h100"), run({"h100": {text: "failed"}})))
    assert found["changes"][0]["test"] == text


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(verdicts())
def test_any_verdict_is_a_valid_report(found: Verdict) -> None:
    content = report(found)
    assert content["verdict"] == found.conclusion.value
    assert content["exit_code"] == found.exit_code
