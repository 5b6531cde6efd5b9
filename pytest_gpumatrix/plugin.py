"""The pytest plugin: options, marks, fixtures, and the hooks that bring in the rest when it is asked for.

What is imported here is paid by every pytest run of everyone who has the package, so it is next to nothing.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_gpumatrix.session.fixtures import GpuMetric, GpuUnderTest

_MARKS = (
    (
        "gpu(specifier=None, *, memory, count, shared_memory, modules, features, otherwise='skip', interpret): "
        'what the test needs of a GPU, e.g. gpu(">=9.0", memory="20GiB"); skipped elsewhere'
    ),
    (
        "gpu_xfail(where, *, cause, raises, reason, strict=True): the test is expected to fail on a device "
        'or capability, e.g. gpu_xfail("<8.9", cause="arch_feature", reason="e4m3 needs 8.9")'
    ),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the matrix."""
    group = parser.getgroup("gpu-matrix", "GPU matrix")
    group.addoption(
        "--gpu-matrix",
        action="store_true",
        help="Record the run, say for each device of gpumatrix.yml what would happen there, and show the matrix",
    )
    group.addoption(
        "--gpu-devices",
        metavar="NAMES",
        help="Devices of the matrix: names of gpumatrix.yml or profiles, e.g. h100,rtx3090 (default: all of the file)",
    )
    group.addoption(
        "--gpu-matrix-out",
        metavar="DIR",
        help="Write DIR/<device>.<evidence>.xml (JUnit), .jsonl (journal) and DIR/launches.tape.jsonl",
    )
    group.addoption(
        "--gpu-native",
        action="store_true",
        help="The one device named by --gpu-devices must be here, else the run ends with exit code 3",
    )
    # How a run starts the run of an emulated column; not for people.
    group.addoption("--gpu-pose", metavar="DEVICE", help=argparse.SUPPRESS)
    parser.addini(
        "gpu_interpret",
        type="bool",
        default=False,
        help="Where no GPU is, run tests marked gpu(interpret=True) on the CPU by Triton's interpreter",
    )
    parser.addini(
        "gpu_compile_budget",
        default="300",
        help="Seconds that the end of a --gpu-matrix run may spend on compiling launches for other devices",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest is imported: pose as a device; choose Triton's interpreter, as its decorator decides."""
    if device := early_config.known_args_namespace.gpu_pose:
        from pytest_gpumatrix.session.pose import start_posing

        start_posing(early_config, device, os.environ)
    if early_config.getini("gpu_interpret"):
        from pytest_gpumatrix.session.interpreter import choose_interpreter

        choose_interpreter(early_config, os.environ)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; under --gpu-matrix, the session."""
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)
    asked = [
        name for name in ("--gpu-devices", "--gpu-matrix-out", "--gpu-native", "--gpu-pose") if config.getoption(name)
    ]
    if config.getoption("--gpu-matrix"):
        from pytest_gpumatrix.session.start import start_matrix

        start_matrix(config)
    elif asked:
        raise pytest.UsageError(f"{asked[0]} is part of the matrix: add --gpu-matrix")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Read the marks of what was collected. One that cannot be read is an error of its collector."""
    report = yield
    marked = [node for node in report.result or () if isinstance(node, pytest.Item) and _is_marked(node)]
    if marked:
        from pytest_gpumatrix.session.marked import read_marks

        if problems := read_marks(marked):
            report.outcome, report.longrepr, report.result = "failed", "\n".join(problems), []
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gate, if any test is marked by now; other plugins may have added marks."""
    marked = [item for item in items if _is_marked(item)]
    if marked:
        from pytest_gpumatrix.session.start import start_gating

        start_gating(config, items, marked)


def _is_marked(item: pytest.Item) -> bool:
    return any(mark.name in ("gpu", "gpu_xfail") for mark in item.iter_markers())


@pytest.fixture
def gpu(request: pytest.FixtureRequest) -> GpuUnderTest:
    """The device under test: ``.torch_device``, ``.capability``, ``.profile``, ``.evidence``."""
    from pytest_gpumatrix.session.fixtures import gpu_under_test

    return gpu_under_test(request)


@pytest.fixture
def gpu_metric(request: pytest.FixtureRequest) -> GpuMetric:
    """Record a value of this test on this device: ``gpu_metric("loss", 2.31, "nats", better="lower")``."""
    from pytest_gpumatrix.session.fixtures import GpuMetric

    return GpuMetric(request.node)
