"""The process of an emulated column beside the run that starts it: its files, its cache, and how both end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.project import Project

DEVICES = "--gpu-devices=h200,rtx-3090"
PASSES = "import pytest\n@pytest.mark.gpu\ndef test_it(gpu): ...\n"
FAILS_WHILE_POSING = """
import logging
import pytest

@pytest.mark.gpu
def test_it(gpu):
    logging.getLogger().warning("this is %s", gpu.evidence.value)
    assert gpu.evidence.value == "native"
"""


@pytest.fixture
def emulating(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(project.path / "cache"))
    monkeypatch.setenv("TMPDIR", str(project.path / "tmp"))
    (project.path / "tmp").mkdir()
    return project.on("h200")


def left_behind(project: Project) -> list[Path]:
    """Folders of the plugin's own."""
    return sorted((project.path / "tmp").glob("gpumatrix-*"))


def with_cache(project: Project, *arguments: str) -> pytest.RunResult:
    plugins = ("-p", "no:hypothesispytest", "--gpu-matrix", "--gpu-matrix-out=out")
    return project.pytester.runpytest_subprocess(*plugins, *arguments)


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (("--junitxml=own",), 'failures="0"'),
        (("--log-file=own",), "this is native"),
        (("-o", "log_file=own"), "this is native"),
        (("--debug=own",), "pytest_sessionfinish"),
    ],
)
def test_a_file_that_the_run_writes_is_not_written_over(
    emulating: Project, arguments: tuple[str, ...], file: str
) -> None:
    assert emulating.tests(FAILS_WHILE_POSING).recorded(DEVICES, "--basetemp=base", *arguments).ret == 1
    assert emulating.outcomes("rtx-3090") == {"test_it": "failed"}
    text = (emulating.path / "own").read_text()
    assert file in text
    assert "this is emulated" not in text
    assert "--gpu-pose" not in text


@pytest.mark.parametrize("option", ["--pdb", "--trace"])
def test_nobody_is_asked_anything_while_posing(emulating: Project, option: str) -> None:
    result = emulating.tests(FAILS_WHILE_POSING).recorded(DEVICES, "--gpu-pose=rtx-3090", option)
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*PDB*")


def test_the_tests_that_failed_last_are_the_same_ones_for_each_device(emulating: Project) -> None:
    emulating.tests("import pytest, os\ndef test_a():\n    assert os.path.exists('mended')\ndef test_b(): ...\n")
    devices = f"{DEVICES},t4"
    with_cache(emulating, devices)
    (emulating.path / "mended").touch()
    with_cache(emulating, devices, "--lf").assert_outcomes(passed=1)
    assert emulating.outcomes("rtx-3090") == emulating.outcomes("t4") == {"test_a": "passed"}


def test_a_cache_that_is_not_whole_is_said_and_stops_nothing(emulating: Project) -> None:
    cache = emulating.path / ".pytest_cache"
    cache.mkdir()
    (cache / "dangling").symlink_to("gone")
    result = with_cache(emulating.tests(PASSES), DEVICES)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["gpumatrix: note: the emulated runs begin without a part of pytest's cache: *dangling*"]
    )


@pytest.mark.parametrize("name", ["pytest-cache", "results"])
def test_a_device_may_have_any_name(emulating: Project, name: str) -> None:
    emulating.matrix(f"version: 1\ndevices:\n  h200: {{profile: h200}}\n  {name}: {{profile: rtx-3090}}\n")
    arguments = ("-p", "no:hypothesispytest", "--gpu-matrix", f"--gpu-devices=h200,{name}")
    assert emulating.tests(PASSES).pytester.runpytest_subprocess(*arguments).ret == 0


def _waiting(project: Project) -> tuple[subprocess.Popen[str], int]:
    """A run whose emulated part is in the middle of a test, and that part's process."""
    project.tests("""
import os, pytest, time

@pytest.mark.gpu
def test_first(gpu): ...

@pytest.mark.gpu
def test_waits(gpu):
    if gpu.evidence.value == "emulated":
        with open("waiting", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
""")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    run = subprocess.Popen(
        [*command, "--gpu-matrix", "--gpu-matrix-out=out", DEVICES],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    marker = project.path / "waiting"
    while not (marker.exists() and marker.read_text()):
        assert run.poll() is None
        time.sleep(0.05)
    return run, int(marker.read_text())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interrupt_ends_the_process_and_what_it_had_is_kept(emulating: Project) -> None:
    run, process = _waiting(emulating)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 2, output
    assert not _is_alive(process)
    assert emulating.outcomes("rtx-3090") == {"test_first": "passed", "test_waits": "unknown"}
    assert left_behind(emulating) == []


def test_sigterm_ends_both_and_leaves_nothing_behind(emulating: Project) -> None:
    run, process = _waiting(emulating)
    assert len(left_behind(emulating)) == 1  # the process has its own below it
    run.send_signal(signal.SIGTERM)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGTERM, output
    assert not _is_alive(process)
    assert left_behind(emulating) == []
    assert emulating.outcomes("rtx-3090") == {"test_first": "unknown", "test_waits": "crashed"}
    assert emulating.outcomes("h200") == {"test_first": "passed", "test_waits": "passed"}


def test_a_process_that_is_killed_leaves_nothing_behind(emulating: Project) -> None:
    run, process = _waiting(emulating)
    os.kill(process, signal.SIGKILL)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1, output
    assert left_behind(emulating) == []


def test_it_does_not_outlive_the_run_that_started_it(emulating: Project) -> None:
    run, process = _waiting(emulating)
    run.kill()
    run.communicate(timeout=60)
    while _is_alive(process):
        time.sleep(0.05)
    assert emulating.outcomes("rtx-3090")["test_waits"] == "crashed"
