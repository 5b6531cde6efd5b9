"""Attempts before the one that counts: pytest-rerunfailures and flaky."""

from __future__ import annotations

import pytest

from tests.project import Project

FLAKY = """
tries = []

def test_passes_in_the_end(gpu_metric):
    tries.append(1)
    gpu_metric("loss", len(tries), "nats")
    assert len(tries) > 2

def test_never_passes():
    assert 1 == 2

def test_passes_at_once(): ...
"""

# What pytest-rerunfailures reports, made of pytest's own hooks: attempts that fail have the outcome "rerun".
RERUNS = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            if report.failed and attempt < 2:
                report.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=report)
                item._initrequest()
                break
            item.ihook.pytest_runtest_logreport(report=report)
        else:
            break
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True

def pytest_report_teststatus(report):
    if report.outcome == "rerun":
        return "rerun", "R", ("RERUN", {"yellow": True})
"""


def check(project: Project) -> None:
    cells = project.cells("h100")
    assert {test: (cell.outcome.value, cell.reruns) for test, cell in cells.items()} == {
        "test_passes_in_the_end": ("passed", 2),
        "test_never_passes": ("failed", 2),
        "test_passes_at_once": ("passed", 0),
    }
    assert [metric.value for metric in cells["test_passes_in_the_end"].metrics] == [3.0]  # of the last attempt alone
    assert cells["test_passes_in_the_end"].cause is None
    assert cells["test_passes_in_the_end"].place is None
    cause = cells["test_never_passes"].cause
    assert cause is not None
    assert cause.category.value == "genuine_failure"


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_reports_of_reruns(project: Project, workers: tuple[str, ...]) -> None:
    project.pytester.makeconftest(RERUNS)
    project.matrix().on("h100").tests(FLAKY).recorded(*workers)
    check(project)
    # The journal alone tells the same.
    (project.path / "out" / "h100.native.xml").unlink()
    check(project)


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_pytest_rerunfailures(project: Project, workers: tuple[str, ...]) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.matrix().on("h100").tests(FLAKY).recorded("-p", "no:flaky", "--reruns", "2", *workers)
    check(project)


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_flaky(project: Project, workers: tuple[str, ...]) -> None:
    """It keeps the reports of the attempts that fail to itself."""
    pytest.importorskip("flaky")
    options = ("-p", "no:rerunfailures", "--force-flaky", "--max-runs=3", "--no-flaky-report")
    project.matrix().on("h100").tests(FLAKY).recorded(*options, *workers)
    check(project)
