"""The hooks that skip a test where its requirement is not met, and that expect a failure where a mark does."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_gpumatrix.gate.expectation import ExpectedFailure, expected_failure, not_met_because
from pytest_gpumatrix.gate.modules import missing_module
from pytest_gpumatrix.gate.requirement import Otherwise, Unmet, unmet, unmet_on_cpu
from pytest_gpumatrix.session.columns import Running
from pytest_gpumatrix.session.failure import examine, forget_finding
from pytest_gpumatrix.session.machine import Machine, machine_of, worker_id
from pytest_gpumatrix.session.marked import NEED, XFAIL_MARKS
from pytest_gpumatrix.session.matrix import Matrix

SKIPPED_BY_REQUIREMENT = pytest.StashKey[bool]()
_EXPECTED = pytest.StashKey[ExpectedFailure]()


class Gate:
    """Applies the marks to each test, for the GPU of this process."""

    def __init__(self, config: pytest.Config, running: Running, matrix: Matrix) -> None:
        self._machine: Machine = machine_of(config)
        self._running = running
        self._matrix = matrix
        worker = worker_id(config)
        self._where = f" [{worker}]" if worker else ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a test whose requirement this device does not meet."""
        unmet_here = self._unmet(item)
        if unmet_here is not None and unmet_here.otherwise is Otherwise.SKIP:
            item.stash[SKIPPED_BY_REQUIREMENT] = True
            pytest.skip(unmet_here.reason + self._where)
        if expected := self.expected(item):
            item.stash[_EXPECTED] = expected

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turn an expected failure of the test itself into xfailed; its setup and teardown are not excused."""
        forget_finding(item)
        report = yield
        if call.when == "setup" and report.skipped and item.stash.get(SKIPPED_BY_REQUIREMENT, False):
            path, line, _ = item.location
            report.longrepr = (path, (line or 0) + 1, str(call.excinfo.value) if call.excinfo else "")
        expected = item.stash.get(_EXPECTED, None)
        if expected is not None and call.when == "call" and not hasattr(report, "wasxfail"):
            _apply(expected, item, report, call.excinfo.value if call.excinfo else None)
        return report

    def expected(self, item: pytest.Item) -> ExpectedFailure | None:
        """The failure that is expected of a test on this device."""
        if self._running.view is None:
            return None
        unmet_here = self._unmet(item)
        if unmet_here is not None and unmet_here.otherwise is Otherwise.XFAIL:
            return ExpectedFailure(reason=unmet_here.reason)
        marks = item.stash.get(XFAIL_MARKS, ())
        return expected_failure(marks, self._running.view, self._matrix.is_device)

    def _unmet(self, item: pytest.Item) -> Unmet | None:
        need = item.stash.get(NEED, None)
        if need is None:
            return None
        if self._running.view is not None:
            return unmet(need, self._running.view, missing_module)
        machine = self._machine
        reason = unmet_on_cpu(
            need, machine.why_no_gpu, interpreting=machine.interpreting, missing_module=missing_module
        )
        return None if reason is None else Unmet(reason=reason, otherwise=Otherwise.SKIP)


def _apply(
    expected: ExpectedFailure, item: pytest.Item, report: pytest.TestReport, error: BaseException | None
) -> None:
    if report.failed:
        cause = examine(item, report.sections, error).cause if error is not None else None
        why_not = not_met_because(expected, cause, error)
        if why_not is None:
            report.outcome = "skipped"
            report.wasxfail = expected.reason
        else:
            report.sections.append(("gpu_xfail", f"not the expected failure ({expected.reason}): {why_not}"))
    elif report.passed and expected.strict:
        report.outcome = "failed"
        report.longrepr = f"[XPASS(strict)] {expected.reason}"
    elif report.passed:
        report.wasxfail = expected.reason
