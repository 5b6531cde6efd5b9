"""A run on an H200 that poses as an RTX 3090, for the tests that another process runs again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.project import Project

SOURCE = """
import os
import pytest

def total(gpu):
    return 3 if gpu.capability.major >= 9 else {fallback}

@pytest.mark.gpu
def test_total(gpu):
    assert total(gpu) == 3

@pytest.mark.gpu(">=9.0")
def test_hopper(gpu): ...

@pytest.mark.gpu(memory="40GiB")
def test_large(gpu): ...

def test_ordinary(): ...
"""
SOUND, FAULTY = (SOURCE.format(fallback=value) for value in ("1 + 2", "1 + 1"))


@pytest.fixture
def emulating(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(project.path / "cache"))
    return project.on("h200")


DEVICES = "--gpu-devices=h200,rtx-3090"


def test_a_fault_in_the_fallback_turns_the_devices_column_red_and_the_run_with_it(emulating: Project) -> None:
    result = emulating.tests(FAULTY).recorded(DEVICES)
    assert result.ret == 1
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "gpumatrix: h200 = NVIDIA H200 (9.0, 140.4 GiB, GPU-*",
            "gpumatrix: emulated when this has run: rtx-3090 (RTX 3090)",
            "gpumatrix: the tests again, with NVIDIA H200 posing as rtx-3090 (RTX 3090)",
            "rtx-3090 | gpumatrix: rtx-3090 = RTX 3090 (8.6, 24 GiB), posed by NVIDIA H200 (9.0, *",
            "rtx-3090 | *1 failed, 1 passed, 2 skipped*",
            "gpumatrix: exit code 1: emulated cells that are bad: 1 (rtx-3090)",
        ]
    )
    assert set(emulating.outcomes("h200").values()) == {"passed"}
    cells = emulating.cells("rtx-3090")
    assert {name: cell.outcome.value for name, cell in cells.items()} == {
        "test_total": "failed",
        "test_hopper": "skipped-requirement",
        "test_large": "skipped-requirement",
        "test_ordinary": "passed",
    }
    assert {cell.evidence.value for cell in cells.values()} == {"emulated"}
    assert "assert 2 == 3" in cells["test_total"].message
    assert {path.name for path in (emulating.path / "out").iterdir()} == {
        "h200.native.xml",
        "h200.native.jsonl",
        "launches.tape.jsonl",
        "rtx-3090.emulated.xml",
        "rtx-3090.emulated.jsonl",
        "rtx-3090.emulated",
    }


@pytest.mark.parametrize("arguments", [(), ("-n", "2"), ("--", "test_it.py")], ids=["alone", "workers", "dashes"])
def test_a_sound_fallback_is_green_and_emulated(emulating: Project, arguments: tuple[str, ...]) -> None:
    result = emulating.tests(SOUND).recorded(DEVICES, *arguments)
    assert result.ret == 0, result.stdout.str()
    cells = emulating.cells("rtx-3090")
    assert (cells["test_total"].outcome.value, cells["test_total"].evidence.value) == ("passed", "emulated")
    result.stdout.no_fnmatch_line("*reads them too*")


def test_the_matrix_is_shown_without_a_folder_as_well(emulating: Project) -> None:
    result = emulating.tests(FAULTY).run("--gpu-matrix", DEVICES)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["rtx-3090: test_it.py::test_total", "*assert 2 == 3*"])


def test_the_report_reads_it_as_emulated(emulating: Project) -> None:
    emulating.tests(FAULTY).recorded(DEVICES)
    code, report = emulating.report("out")
    assert code == 1
    assert "'emulated'" in str(report)


def test_what_is_not_named_is_compiled(emulating: Project) -> None:
    result = (
        emulating.matrix("version: 1\ndevices:\n  h200: {profile: h200}\n  rtx3090: {profile: rtx-3090}\n")
        .tests(SOUND)
        .recorded()
    )
    result.stdout.no_fnmatch_line("*posing as*")
    assert {cell.evidence.value for cell in emulating.cells("rtx3090").values()} == {"compiled"}


def test_a_device_that_is_newer_or_of_more_gpus_is_compiled_and_the_run_says_why(emulating: Project) -> None:
    matrix = "version: 1\ndevices:\n  h200: {profile: h200}\n  b200: {profile: b200}\n  two: {profile: t4, count: 2}\n"
    result = emulating.matrix(matrix).tests(SOUND).recorded("--gpu-devices=h200,b200,two")
    result.stdout.fnmatch_lines(
        [
            "gpumatrix: note: b200 is compiled, and not emulated: it is newer (10.0) than the NVIDIA H200 here (9.0)",
            "gpumatrix: note: two is compiled, and not emulated: it is 2 GPUs, and 1 of the NVIDIA H200 can be seen *",
        ]
    )
    for device in ("b200", "two"):
        assert {cell.evidence.value for cell in emulating.cells(device).values()} == {"compiled"}


def test_the_same_capability_and_another_card_is_emulated_and_not_native(emulating: Project) -> None:
    emulating.tests(SOUND).recorded("--gpu-devices=h200,h100-sxm")
    assert {cell.evidence.value for cell in emulating.cells("h100-sxm").values()} == {"emulated"}
    assert emulating.outcomes("h100-sxm")["test_hopper"] == "passed"


def test_the_native_leg_emulates_nothing(emulating: Project) -> None:
    result = emulating.tests(SOUND).recorded("--gpu-devices=rtx-3090", "--gpu-native")
    assert result.ret == 3


ASKING = """
import json, os, sys
import pytest

@pytest.mark.gpu(count={count})
def test_it(gpu):
    names = ("CUDA_VISIBLE_DEVICES", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "GPUMATRIX_LIFELINE")
    told = {{name: os.environ.get(name) for name in names}}
    told |= {{"capability": str(gpu.capability), "evidence": gpu.evidence.value, "torch_device": gpu.torch_device}}
    told |= {{"memory": gpu.profile.memory, "device": gpu.device, "torch": "torch" in sys.modules, "argv": sys.argv}}
    with open("told." + gpu.device, "w") as file:
        json.dump(told, file)
"""


def told(project: Project, device: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((project.path / f"told.{device}").read_text())
    return found


def test_what_the_process_gets(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(project.path / "cache"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(project.path / "own"))
    project.on("h200", "h200", "h200").tests(ASKING.format(count=2))
    matrix = "version: 1\ndevices:\n  h200: {profile: h200, count: 3}\n  pair: {profile: rtx-3090, count: 2}\n"
    assert project.matrix(matrix).recorded("--gpu-devices=h200,pair").ret == 0
    native, posed = told(project, "h200"), told(project, "pair")
    uuids = [f"GPU-{number:08d}-0000-0000-0000-000000000000" for number in range(2)]
    assert (native["CUDA_VISIBLE_DEVICES"], posed["CUDA_VISIBLE_DEVICES"]) == (None, ",".join(uuids))
    assert native["TRITON_CACHE_DIR"] == str(project.path / "own")
    assert str(posed["TRITON_CACHE_DIR"]).startswith(str(project.path / "cache" / "emulated" / "rtx-3090-"))
    assert str(posed["TORCHINDUCTOR_CACHE_DIR"]).startswith(str(project.path / "cache" / "emulated" / "rtx-3090-"))
    assert (native["capability"], posed["capability"]) == ("9.0", "8.6")
    assert (posed["evidence"], posed["torch_device"], posed["memory"]) == ("emulated", "cuda:0", 24 * 2**30)
    assert posed["GPUMATRIX_LIFELINE"] is None
    assert posed["torch"] is False  # nobody here imports it
    assert {cell.outcome.value for cell in project.cells("pair").values()} == {"passed"}


def test_each_device_has_caches_of_its_own(emulating: Project) -> None:
    emulating.tests(ASKING.format(count=1)).recorded("--gpu-devices=h200,rtx-3090,t4")
    folders = {told(emulating, device)["TRITON_CACHE_DIR"] for device in ("h200", "rtx-3090", "t4")}
    assert len(folders) == 3


def test_a_cache_that_cannot_be_written(emulating: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (emulating.path / "file").touch()
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(emulating.path / "file"))
    assert emulating.tests(ASKING.format(count=1)).recorded(DEVICES).ret == 0
    assert "gpumatrix-" in str(told(emulating, "rtx-3090")["TRITON_CACHE_DIR"])


DYING = """
import os
import pytest

@pytest.mark.gpu
def test_first(gpu): ...

@pytest.mark.gpu
def test_dies(gpu):
    if gpu.evidence.value == "emulated":
        os._exit(7)

@pytest.mark.gpu
def test_last(gpu): ...
"""


def test_a_process_that_dies_leaves_what_it_had_and_unknown_tests(emulating: Project) -> None:
    result = emulating.tests(DYING).recorded(DEVICES)
    assert result.ret == 1
    assert emulating.outcomes("rtx-3090") == {"test_first": "passed", "test_dies": "crashed", "test_last": "unknown"}
    assert emulating.outcomes("h200") == dict.fromkeys(("test_first", "test_dies", "test_last"), "passed")


def test_a_process_that_leaves_nothing_is_unknown_and_never_green(emulating: Project) -> None:
    conftest = "import os, sys\nif any('--gpu-pose' in argument for argument in sys.argv):\n    os._exit(9)\n"
    (emulating.path / "conftest.py").write_text(conftest)
    result = emulating.tests(SOUND).recorded(DEVICES)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no result came: 1 (pytest on rtx-3090)*"])


def test_dying_after_the_tests_is_not_an_end_in_good_order(emulating: Project) -> None:
    conftest = """
import os, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if session.config.getoption("--gpu-pose"):
        os._exit(0)
"""
    (emulating.path / "conftest.py").write_text(conftest)
    assert emulating.tests(SOUND).recorded(DEVICES).ret == 1
    assert "unknown" in emulating.outcomes("rtx-3090").values()


def test_files_that_the_run_itself_writes_are_not_written_over(emulating: Project) -> None:
    only = "import pytest\n@pytest.mark.gpu\ndef test_it(gpu):\n    assert gpu.evidence.value == 'native'\n"
    emulating.tests(only).recorded(DEVICES, "--junitxml=junit.xml", "--basetemp=base", "-p", "cacheprovider")
    assert 'failures="0"' in (emulating.path / "junit.xml").read_text()


def test_the_tests_that_failed_last_are_the_same_ones(emulating: Project) -> None:
    emulating.tests("import pytest, os\ndef test_a():\n    assert os.path.exists('mended')\ndef test_b(): ...\n")
    arguments = ("-p", "no:hypothesispytest", "--gpu-matrix", "--gpu-matrix-out=out", DEVICES)
    emulating.pytester.runpytest_subprocess(*arguments)
    (emulating.path / "mended").touch()
    result = emulating.pytester.runpytest_subprocess(*arguments, "--lf")
    result.assert_outcomes(passed=1)
    assert emulating.outcomes("rtx-3090") == {"test_a": "passed"}


def test_a_run_that_ended_early_emulates_nothing_and_says_so(emulating: Project) -> None:
    result = emulating.tests("def test_it():\n    raise KeyboardInterrupt\n").recorded(DEVICES)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["gpumatrix: note: this run ended early, so rtx-3090 (RTX 3090) is not emulated"])


WAITING = """
import os, pytest, time

@pytest.mark.gpu
def test_first(gpu): ...

@pytest.mark.gpu
def test_waits(gpu):
    if gpu.evidence.value == "emulated":
        with open("waiting", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
"""


def _waiting(project: Project) -> tuple[subprocess.Popen[str], int]:
    """A run whose emulated part is in the middle of a test, and that part's process."""
    project.tests(WAITING)
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


def test_it_does_not_outlive_the_run_that_started_it(emulating: Project) -> None:
    run, process = _waiting(emulating)
    run.kill()
    run.communicate(timeout=60)
    while _is_alive(process):
        time.sleep(0.05)
    assert emulating.outcomes("rtx-3090")["test_waits"] == "crashed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gpu-pose=rtx-3090",), "no such device in this matrix"),
        (("--gpu-matrix", DEVICES, "--gpu-pose=b200"), "no such device in this matrix"),
        (("--gpu-matrix", "--gpu-devices=b200", "--gpu-pose=b200"), "b200 cannot be posed as: it is newer"),
    ],
)
def test_posing_by_hand_where_it_cannot_be(emulating: Project, arguments: tuple[str, ...], message: str) -> None:
    result = emulating.tests(SOUND).run(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{message}*"])
