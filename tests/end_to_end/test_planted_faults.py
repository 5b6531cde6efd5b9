"""Faults planted in a small project come out of the whole path, from pytest to the report's JSON, as what they are.

The hardware is faked where NVML is asked for it; the operator dispatches by the capability that the plugin reports.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.project import Project

OPERATOR = """
HOPPER_FACTOR, GENERAL_FACTOR = 2.0, 2.0

def double_on_hopper(values):
    return [HOPPER_FACTOR * value for value in values]

def double_anywhere(values):
    return [value * GENERAL_FACTOR for value in values]

def double(values, capability):
    kernel = double_on_hopper if (capability.major, capability.minor) == (9, 0) else double_anywhere
    return kernel(values)
"""

TESTS = """
import pytest
from operator_under_test import double

@pytest.mark.gpu(">=8.0")
def test_double(gpu):
    assert double([1.0, 2.0], gpu.capability) == [2.0, 4.0]

@pytest.mark.gpu
def test_other(gpu): ...
"""


def run_on_both(project: Project, folder: str, *, operator: str = OPERATOR, tests: str = TESTS) -> None:
    """One run on each card, as two runners would do it."""
    project.matrix()
    (project.path / "operator_under_test.py").write_text(operator)
    (project.path / "test_operator.py").write_text(tests)
    for device in ("h100", "rtx3090"):
        out = f"--gpu-matrix-out={folder}"
        project.on(device).run("--gpu-matrix", f"--gpu-devices={device}", "--gpu-native", out)


def only_change(report: dict[str, Any]) -> dict[str, Any]:
    (change,) = report["changes"]
    assert isinstance(change, dict)
    return change


def test_a_green_run_against_itself(project: Project) -> None:
    run_on_both(project, "head")
    code, report = project.report("head", "--base", "head")
    assert (code, report["verdict"], report["changes"]) == (0, "ok", [])
    assert {device["device"]: device["evidence"] for device in report["devices"]} == {
        "h100": "native",
        "rtx3090": "native",
    }


@pytest.mark.parametrize(
    ("planted", "scope", "bad"),
    [
        (
            OPERATOR.replace("HOPPER_FACTOR, GENERAL_FACTOR = 2.0", "HOPPER_FACTOR, GENERAL_FACTOR = 3.0"),
            "Hopper only",
            "h100",
        ),
        (OPERATOR.replace("= 2.0, 2.0", "= 2.0, 3.0"), "Ampere only", "rtx3090"),
    ],
    ids=["a Hopper kernel that returns wrong values", "a broken fallback"],
)
def test_a_regression_of_one_architecture_is_one_red_line(project: Project, planted: str, scope: str, bad: str) -> None:
    run_on_both(project, "base")
    run_on_both(project, "head", operator=planted)
    code, report = project.report("head", "--base", "base")
    change = only_change(report)
    assert (code, report["verdict"]) == (1, "regression")
    assert (change["test"], change["change"], change["scope"], change["red"]) == (
        "test_operator.py::test_double",
        "new-failure",
        scope,
        True,
    )
    assert list(change["devices"]) == [bad]
    assert change["devices"][bad]["outcome"] == "failed"
    assert change["devices"][bad]["evidence"] == "native"
    assert change["devices"][bad]["cause"]["category"] == "genuine_failure"
    assert f"--gpu-devices={bad}" in change["reproduce"]
    assert scope in report["headline"]


def test_a_fault_everywhere_has_that_scope(project: Project) -> None:
    run_on_both(project, "base")
    run_on_both(project, "head", operator=OPERATOR.replace("= 2.0, 2.0", "= 3.0, 3.0"))
    _, report = project.report("head", "--base", "base")
    assert only_change(report)["scope"] == "everywhere"


def test_without_a_base_a_failure_is_failing_and_the_report_says_so(project: Project) -> None:
    run_on_both(project, "head", operator=OPERATOR.replace("= 2.0, 2.0", "= 2.0, 3.0"))
    code, report = project.report("head")
    assert (code, only_change(report)["change"], only_change(report)["scope"]) == (1, "failing", "Ampere only")


def test_a_test_that_every_device_skips_never_runs(project: Project) -> None:
    run_on_both(project, "head", tests=TESTS + '\n@pytest.mark.gpu(">=10.0")\ndef test_blackwell(gpu): ...\n')
    code, report = project.report("head", "--base", "head")
    assert (code, report["verdict"]) == (1, "regression")
    assert [row["test"] for row in report["never_run"]] == ["test_operator.py::test_blackwell"]


@pytest.mark.parametrize("kept", ["h100", "rtx3090"])
def test_a_device_whose_files_are_missing_is_named(project: Project, kept: str) -> None:
    run_on_both(project, "head")
    for path in (project.path / "head").iterdir():
        if not path.name.startswith(kept):
            path.unlink()
    code, report = project.report("head")
    assert (code, report["verdict"]) == (3, "incomplete")
    (missing,) = report["missing_devices"]
    assert missing["device"] == {"h100": "rtx3090", "rtx3090": "h100"}[kept]


def cut(path: Path, at: str) -> None:
    """Cut a journal off in the middle of a test, as a killed process leaves it."""
    text = path.read_text()
    path.write_text(text[: text.index(f'{{"event":"finish","test":"{at}"}}') - 30])
    path.with_suffix(".xml").unlink()


def test_a_journal_cut_off_in_mid_test(project: Project) -> None:
    run_on_both(project, "base")
    run_on_both(project, "head")
    cut(project.path / "head" / "h100.native.jsonl", "test_operator.py::test_double")
    code, report = project.report("head", "--base", "base")
    assert (code, report["verdict"]) == (1, "regression")
    changes = {change["test"]: change for change in report["changes"]}
    crashed = changes["test_operator.py::test_double"]
    assert (crashed["change"], crashed["devices"]["h100"]["outcome"]) == ("new-failure", "crashed")
    rest = changes["test_operator.py::test_other"]
    assert (rest["change"], rest["devices"]["h100"]["outcome"], rest["red"]) == ("unknown", "unknown", False)


SUBTEST = """
import unittest
class TestA(unittest.TestCase):
    def test_sub(self):
        for i in range(2):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
"""
METRIC = "def test_metric(gpu_metric):\n    gpu_metric('loss', object(), 'nats')"
WORKER = "import os\ndef test_dies():\n    os._exit(1)"


@pytest.mark.parametrize(
    ("source", "outcome"),
    [(SUBTEST, "failed"), (METRIC, "failed"), (WORKER, "crashed")],
    ids=["subTest", "metric", "worker"],
)
def test_what_xdist_or_pytest_would_lose_is_red(project: Project, source: str, outcome: str) -> None:
    tests = TESTS + "\n" + "\n".join(f"def test_good_{i}(): ..." for i in range(4))
    (project.path / "test_lost.py").write_text(source)
    run_on_both(project, "unused", tests=tests)
    project.on("h100").run("--gpu-matrix", "--gpu-devices=h100", "--gpu-matrix-out=head", "-n", "2")
    code, report = project.report("head")
    assert code == 1
    change = only_change(report)
    assert change["devices"]["h100"]["outcome"] == outcome
    h100 = next(device for device in report["devices"] if device["device"] == "h100")
    assert sum(h100["counts"].values()) == 7


class TestBadInput:
    def report(self, project: Project, *arguments: str) -> tuple[int, str]:
        result = project.pytester.runpython_c(
            f"import sys; from pytest_gpumatrix.cli import main; sys.exit(main({['report', *arguments]!r}))"
        )
        return int(result.ret), result.stderr.str()

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("h100.native.xml", "<html/>", "not JUnit"),
            ("h100.native.xml", "plain text", "not XML"),
            ("h100.native.xml", '<!DOCTYPE a [<!ENTITY b "c">]><testsuites/>', "DOCTYPE"),
            ("h100.native.jsonl", "not json\n", "not a line of a journal"),
        ],
    )
    def test_a_file_that_is_refused(self, project: Project, name: str, content: str, said: str) -> None:
        run_on_both(project, "head")
        (project.path / "head" / name).write_text(content)
        code, found = project.report("head")
        assert (code, found["verdict"]) == (2, "incomplete")
        assert "1 file refused" in found["headline"]
        ((file, reason),) = found["refused"].items()
        assert said in reason
        assert file.endswith(name)

    def test_results_of_two_commits(self, project: Project) -> None:
        run_on_both(project, "head")
        for device, commit in (("h100", "a" * 40), ("rtx3090", "b" * 40)):
            path = project.path / "head" / f"{device}.native.xml"
            text = path.read_text().replace(
                '<property name="gpumatrix_schema"',
                f'<property name="commit" value="{commit}" /><property name="gpumatrix_schema"',
            )
            path.write_text(text)
        code, error = self.report(project, "head")
        assert code == 2
        assert "2 commits" in error

    def test_no_such_base(self, project: Project) -> None:
        run_on_both(project, "head")
        code, error = self.report(project, "head", "--base", "nowhere")
        assert code == 2
        assert "--base nowhere: no such folder" in error

    def test_an_output_that_cannot_be_written_leaves_what_was_there(self, project: Project) -> None:
        run_on_both(project, "head")
        (project.path / "folder").mkdir()
        code, error = self.report(project, "head", "--output", "folder")
        assert code == 2
        assert "folder" in error
        assert list((project.path / "folder").iterdir()) == []

    def test_a_malformed_config(self, project: Project) -> None:
        run_on_both(project, "head")
        project.matrix("version: 1\ndevices:\n  h100: {profile: h100-sxm}\n  h100: {profile: h100-sxm}\n")
        code, error = self.report(project, "head")
        assert code == 2
        assert "gpumatrix.yml:4" in error
