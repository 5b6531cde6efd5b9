"""The report as JSON: the shape that other programs read."""

from __future__ import annotations

import json

from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.triage.cause import Category
from tests.render.everything import everything
from tests.verdict.runs import cell, expectation, plan, run, verdict


def test_a_whole_report() -> None:
    config = plan(
        "h100",
        "rtx3090",
        "l40s",
        expectations=(expectation("e", "rtx3090"), expectation("gone", "h100")),
        require={"l40s": "compiled"},
    )
    base = run({"h100": {"a": "passed"}, "rtx3090": {"a": "passed"}})
    failed = cell("a", "failed", message="no image", cause=Category.NO_KERNEL_IMAGE)
    head = run(
        {
            "h100": {"a": failed, "e": "passed"},
            "h100:compiled": {"a": "failed"},
            "rtx3090": {"a": "passed", "e": "failed"},
        }
    )
    assert json.loads(render_json(verdict(config, head, base))) == {
        "schema": 2,
        "verdict": "regression",
        "exit_code": 1,
        "headline": "regression: 1 new-failure (at least Hopper only); l40s missing",
        "notes": ["which tests never run is not decided while a device is missing"],
        "devices": [
            {
                "device": "h100",
                "capability": "9.0",
                "architecture": "Hopper",
                "evidence": "native",
                "require": "native",
                "planned": True,
                "missing": None,
                "counts": {"passed": 1, "failed": 1},
                "counts_by_evidence": {"native": {"passed": 1, "failed": 1}},
            },
            {
                "device": "rtx3090",
                "capability": "8.6",
                "architecture": "Ampere",
                "evidence": "native",
                "require": "native",
                "planned": True,
                "missing": None,
                "counts": {"passed": 1, "failed": 1},
                "counts_by_evidence": {"native": {"passed": 1, "failed": 1}},
            },
            {
                "device": "l40s",
                "capability": "8.9",
                "architecture": "Ada",
                "evidence": "none",
                "require": "compiled",
                "planned": True,
                "missing": "no results",
                "counts": {},
                "counts_by_evidence": {},
            },
        ],
        "changes": [
            {
                "test": "a",
                "change": "new-failure",
                "scope": "at least Hopper only",
                "red": True,
                "devices": {
                    "h100": {
                        "outcome": "failed",
                        "evidence": "native",
                        "cause": {
                            "category": "no_kernel_image",
                            "action": "skip",
                            "advice": "do this",
                            "confidence": "high",
                            "evidence": "the line",
                            "rule": "r",
                        },
                        "message": "no image",
                        "before": {"outcome": "passed", "evidence": "native"},
                        "weaker": [{"outcome": "failed", "evidence": "compiled"}],
                    }
                },
                "reproduce": "pytest --gpu-matrix --gpu-devices=h100 a",
            }
        ],
        "expected": [
            {
                "test": "e",
                "devices": {"rtx3090": {"outcome": "failed", "evidence": "native", "cause": None, "message": ""}},
                "reason": "known",
                "place": "gpumatrix.yml:7",
            }
        ],
        "never_run": [],
        "slow": [],
        "never_run_decided": False,
        "never_run_natively": 0,
        "missing_devices": [{"device": "l40s", "reason": "no results"}],
        "broken": {},
        "commit": None,
        "base_commit": None,
        "refused": {},
        "base_refused": {},
        "metrics": [],
        "drift": [],
        "contradictions": [],
        "history": {},
        "stale_expectations": [
            {
                "place": "gpumatrix.yml:7",
                "test": "gone",
                "devices": "h100",
                "reason": "matches no test",
                "red": False,
            }
        ],
    }


def test_an_absent_cell_and_a_test_that_never_ran() -> None:
    base = run({"h100": {"gone": "passed", "s": "skipped"}})
    found = json.loads(render_json(verdict(plan("h100"), run({"h100": {"s": "skipped"}}), base)))
    (removed,) = found["changes"]
    assert removed["devices"]["h100"] == {
        "outcome": "not-run",
        "evidence": "none",
        "cause": None,
        "message": "absent",
        "before": {"outcome": "passed", "evidence": "native"},
    }
    (never,) = found["never_run"]
    assert (never["test"], never["red"], list(never["devices"])) == ("s", True, ["h100"])
    assert never["reproduce"] == "pytest --gpu-matrix --gpu-devices=h100 s"


def test_names_are_exact_and_the_text_is_ascii() -> None:
    name = "t.py::\ud800\u202e\n|é"
    text = render_json(verdict(plan("h100"), run({"h100": {name: "failed"}})))
    assert text.isascii()
    assert json.loads(text)["changes"][0]["test"] == name


def test_a_long_message_is_cut_and_says_so() -> None:
    head = run({"h100": {"a": cell("a", "failed", message="m" * 1_000_000)}})
    message = json.loads(render_json(verdict(plan("h100"), head)))["changes"][0]["devices"]["h100"]["message"]
    assert message == "m" * 4000 + "... (996,000 more characters)"


def test_each_cell_says_how_it_is_known_and_what_of_it_is_slow() -> None:
    slow = ("scale: spills 8 B per thread",)
    head = run(
        {
            "h100": {"a": "failed", "b": "passed"},
            "rtx3090:emulated": {"a": "failed"},
            "l40s:compiled": {
                "a": cell("a", "failed", "compiled", slow=slow),
                "b": cell("b", "compiled", "compiled", slow=slow),
            },
        }
    )
    report = json.loads(render_json(verdict(plan("h100", "rtx3090", "l40s"), head)))
    devices = {name: cell for change in report["changes"] for name, cell in change["devices"].items()}
    assert {name: found["evidence"] for name, found in devices.items()} == {
        "h100": "native",
        "rtx3090": "emulated",
        "l40s": "compiled",
    }
    assert [found.get("slow") for found in devices.values()] == [None, None, list(slow)]
    assert report["slow"] == [{"finding": slow[0], "devices": {"l40s": ["a", "b"]}}]


def test_each_further_part_is_exact() -> None:
    found = json.loads(render_json(everything()))
    (change,) = (change for change in found["changes"] if change["test"] == "new")
    part = change["devices"]["h100"]
    assert change["renamed_from"] == "older"
    assert part["place"] == {"file": "tests/test_a.py", "line": 12}
    assert part["cause"] == {
        "category": "no_kernel_image",
        "action": "environment",
        "advice": "Build for sm_86",
        "confidence": "medium",
        "evidence": "CUDA error: no kernel image is available",
        "rule": "no-image",
        "reason": "arch_list",
        "note": "the text demands 8.0, the device is 8.6",
    }
    assert found["metrics"][0] == {
        "test": "t.py::m", "device": "h100", "name": "loss", "unit": "nats", "better": "lower", "base": 2.0,
        "head": 3.0, "base_repeats": 3, "head_repeats": 4, "threshold": 0.1, "noise": 0.02, "worse": True,
        "red": True, "reproduce": "pytest t.py::m",
    }  # fmt: skip
    assert found["drift"][0] == {
        "test": "t.py::m", "name": "loss", "unit": "nats", "values": {"h100": 2.0, "rtx3090": 2.5},
        "reference": "h100", "apart": ["rtx3090"], "tolerance": "1%", "before": None, "red": True,
        "reproduce": "pytest t.py::m",
    }  # fmt: skip
    assert found["contradictions"] == [
        {
            "test": "two",
            "device": "h100",
            "evidence": "native",
            "results": [
                {"file": "a/h100.xml", "outcome": "failed"},
                {"file": "b/h100.xml", "outcome": "passed"},
            ],
        }
    ]
    assert found["refused"] == {"results/b200.native.xml": "it declares a DOCTYPE"}
    assert (found["verdict"], found["exit_code"]) == ("regression", 2)
    assert found["history"] == {
        "new": {
            "h100": {
                "failing_since": {"commit": "c" * 40, "time": 1_700_000_000.0, "outcome": "failed", "reruns": 0},
                "results": 2,
                "flakes": 1,
                "flake_rate": 0.5,
                "trends": {"loss": [{"commit": "c" * 40, "value": 2.0}, {"commit": "", "value": None}]},
            }
        }
    }
