"""SARIF: valid by the official schema, stable, bounded."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it publishes no types
import pytest
from hypothesis import HealthCheck, given, settings

from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.render import sarif
from pytest_gpumatrix.render.annotations import annotate
from pytest_gpumatrix.render.sarif import render_sarif
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.everything import everything, failing
from tests.render.hostile import TEXTS
from tests.render.verdicts import verdicts
from tests.verdict.runs import cell, expectation, plan, run, verdict

SCHEMA = Path(__file__).parents[1] / "data" / "sarif" / "sarif-schema-2.1.0.json"


@cache
def validator() -> Any:
    return jsonschema.Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def log(found: Verdict) -> dict[str, Any]:
    """The one run, of a log that is valid."""
    content = json.loads(render_sarif(found))
    validator().validate(content)
    (only,) = content["runs"]
    assert isinstance(only, dict)
    return only


def results(found: Verdict) -> list[dict[str, Any]]:
    return list(log(found)["results"])


def test_the_schema_refuses_what_is_not_sarif() -> None:
    content = json.loads(render_sarif(everything()))
    content["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(content)


def test_what_has_a_place_is_a_finding_the_red_ones_first() -> None:
    run_ = log(everything())
    rules = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
    places = [item["locations"][0]["physicalLocation"] for item in run_["results"]]
    assert [
        (item["ruleId"], item["level"], place["artifactLocation"]["uri"], place["region"]["startLine"])
        for item, place in zip(run_["results"], places, strict=True)
    ] == [
        ("no_kernel_image", "error", "tests/test_a.py", 12),
        ("unexpected-pass", "error", "tests/test_x.py", 3),
        ("no_kernel_image", "warning", "tests/test_a.py", 30),
        ("stale-expectation", "warning", "gpumatrix.yml", 7),
    ]
    assert all(rules[item["ruleIndex"]] == item["ruleId"] for item in run_["results"])
    assert "toolExecutionNotifications" not in run_["invocations"][0]


def test_a_red_expectation_comes_before_failures_that_are_not_red() -> None:
    found = everything()
    changes = tuple(dataclasses.replace(row, red=False) for row in found.changes)
    stale = tuple(dataclasses.replace(row, red=True) for row in found.stale)
    levels = [item["level"] for item in results(dataclasses.replace(found, changes=changes, stale=stale))]
    assert levels == ["error", "warning", "note", "warning"]


def test_a_finding_says_what_where_and_how_it_is_known() -> None:
    first = results(everything())[0]
    assert first["message"]["text"] == "new-failure (at least Hopper only) on h100: new\nno image\nBuild for sm_86"
    assert first["properties"] == {
        "test": "new",
        "change": "new-failure",
        "scope": "at least Hopper only",
        "devices": ["h100"],
        "evidence": {"h100": "native"},
        "outcomes": {"h100": "failed"},
    }


def test_devices_that_share_a_place_and_a_cause_are_one_finding() -> None:
    here = ("tests/a.py", 1)
    head = {
        "h100": {"t": failing("t", *here)},
        "l40s": {"t": failing("t", *here)},
        "rtx3090": {"t": dataclasses.replace(failing("t", *here), cause=None)},
    }
    found = results(verdict(plan("h100", "rtx3090", "l40s"), run(head)))
    assert [(item["ruleId"], item["properties"]["devices"]) for item in found] == [
        ("no_kernel_image", ["h100", "l40s"]),
        ("unknown", ["rtx3090"]),
    ]


def fingerprint(test: str, line: int, *devices: str, message: str = "") -> str:
    head = {device: {test: failing(test, "tests/a.py", line, message=message)} for device in devices}
    (found,) = results(verdict(plan(*devices), run(head)))
    (value,) = found["partialFingerprints"].values()
    return str(value)


def test_a_fingerprint_stays_when_lines_and_messages_move_and_is_of_test_devices_and_cause() -> None:
    same = fingerprint("t", 1, "h100", "rtx3090", message="0x7f00")
    assert fingerprint("t", 99, "rtx3090", "h100", message="0x7fff") == same
    assert len({same, fingerprint("u", 1, "h100", "rtx3090"), fingerprint("t", 1, "h100")}) == 3
    assert len({fingerprint(f"t{number}", 1, "h100") for number in range(50)}) == 50


@pytest.mark.parametrize("outcome", ["passed", "skipped", "unknown", "xfailed"])
def test_what_does_not_fail_is_no_finding(outcome: str) -> None:
    at = Place(file="tests/a.py", line=1)
    found = verdict(plan("h100"), run({"h100": {"t": cell("t", outcome, place=at)}}), run({"h100": {"t": "failed"}}))
    assert results(found) == []


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("tests/a b%#?é.py", "tests/a%20b%25%23%3F%C3%A9.py"),
        ("/etc/passwd", None),
        ("a/../../b.py", None),
        ("C:x", None),
    ],
)
def test_a_place_is_an_address_inside_the_repository(file: str, uri: str | None) -> None:
    found = results(verdict(plan("h100"), run({"h100": {"t": failing("t", file)}})))
    locations = [item["locations"][0]["physicalLocation"] for item in found]
    wanted = [] if uri is None else [{"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}}]
    assert locations == wanted


def test_more_than_code_scanning_takes_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    head = run({"h100": {f"t{number}": failing(f"t{number}", "a.py", 1) for number in range(5)}})
    found = verdict(plan("h100"), head)
    for limit, value in (("MOST_RESULTS", 3), ("LARGEST", 3 * len(json.dumps(results(found)[0])))):
        with monkeypatch.context() as patched:
            patched.setattr(sarif, limit, value)
            cut = log(found)
        assert len(cut["results"]) == 3
        (said,) = cut["invocations"][0]["toolExecutionNotifications"]
        assert said["message"]["text"].startswith("2 more findings are in the JSON report")


def test_the_largest_log_fits() -> None:
    text = "\U0001f469" * 2000
    head = {f"{number}{text}": failing(f"{number}{text}", "a.py", 1, message=text) for number in range(600)}
    content = render_sarif(verdict(plan("h100"), run({"h100": head})))
    assert len(content) < sarif.LARGEST + 20_000
    assert len(json.loads(content)["runs"][0]["results"]) < 600


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_texts(text: str) -> None:
    head = run({"h100": {text or "t": failing(text or "t", "a.py", 1, message=text)}})
    (found,) = results(verdict(plan("h100"), head))
    assert "](" not in found["message"]["text"]  # a link, to a viewer of SARIF


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(verdicts())
def test_of_any_verdict_it_is_valid(found: Verdict) -> None:
    assert render_sarif(found).isascii()
    log(found)


def test_an_unexpected_pass_is_a_finding_where_it_is_expected_to_fail() -> None:
    config = plan("h100", expectations=(expectation("t", "h100"),))
    found = verdict(config, run({"h100": {"t": "passed"}}))
    (finding,) = results(found)
    assert (finding["ruleId"], finding["level"]) == ("unexpected-pass", "error")
    location = finding["locations"][0]["physicalLocation"]
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == ("gpumatrix.yml", 7)
    (item,) = annotate(found)
    assert (item.file, item.line) == ("gpumatrix.yml", 7)
