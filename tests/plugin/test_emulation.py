"""A run on an H200 that poses as an RTX 3090, for the tests that another process runs again."""

from __future__ import annotations

import json

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
    result.stdout.fnmatch_lines(
        [
            "gpumatrix: note: rtx-3090: the run for it ended with exit code 7",
            "*rtx-3090 *1 crashed (emulated) * 3 unknown",
            "*no result came: 3 (test_it.py::test_first on rtx-3090)*",
        ]
    )
    cells = emulating.cells("rtx-3090")
    assert {name: cell.outcome.value for name, cell in cells.items()} == {
        "test_first": "unknown",  # its launches were not judged
        "test_dies": "crashed",
        "test_last": "unknown",
    }
    assert cells["test_first"].message == "the run ended before its launches were judged"
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


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("os._exit(3)", "exit code 3"),
        ("os._exit(1)", "exit code 1, and no test is to blame"),
        ("os._exit(0)", None),
    ],
)
def test_an_end_of_the_process_after_its_results_counts(emulating: Project, end: str, how: str | None) -> None:
    conftest = f"""
import os, signal
def pytest_unconfigure(config):
    if config.getoption("--gpu-pose"):
        {end}
"""
    (emulating.path / "conftest.py").write_text(conftest)
    assert emulating.tests(SOUND).recorded(DEVICES).ret == (0 if how is None else 1)
    session = {name: cell for name, cell in emulating.cells("rtx-3090").items() if not name}
    expected = {"": ("unknown", f"the run for it ended with {how}")} if how is not None else {}
    assert {name: (cell.outcome.value, cell.message) for name, cell in session.items()} == expected
    told = {change["test"]: change["change"] for change in emulating.report("out")[1]["changes"]}
    assert told == ({"pytest": "unknown"} if how is not None else {})


COLLECTING = """
import os
import pytest

def test_everywhere(): ...

if os.environ.get("CUDA_VISIBLE_DEVICES"):  # set for the process that poses
    def test_there(): ...
else:
    @pytest.mark.gpu
    def test_here(gpu): ...

    @pytest.mark.parametrize("n", range(3))
    def test_here_too(n): ...
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_what_the_process_did_not_collect_has_not_run(emulating: Project, workers: tuple[str, ...]) -> None:
    result = emulating.tests(COLLECTING).recorded(DEVICES, *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["gpumatrix: note: 1 tests were collected for rtx-3090 alone (test_it.py::test_there)", "1 more alike on*"]
    )
    cells = emulating.cells("rtx-3090")
    assert {name: cell.outcome.value for name, cell in cells.items()} == {
        "test_everywhere": "passed",
        "test_there": "passed",
        "test_here": "not-run",
        **{f"test_here_too[{n}]": "not-run" for n in range(3)},
    }
    assert (cells["test_here"].message, cells["test_here"].requirement) == ("not collected while posing", "gpu()")


def test_a_file_that_skips_itself_while_posing_has_not_run(emulating: Project) -> None:
    source = "import sys, pytest\nif any('--gpu-pose' in argument for argument in sys.argv):\n"
    source += "    pytest.skip('another card', allow_module_level=True)\ndef test_it(): ...\n"
    result = emulating.tests(source).recorded(DEVICES)
    assert result.ret == 0, result.stdout.str()
    assert emulating.outcomes("rtx-3090") == {"test_it": "not-run"}


def test_the_dots_of_a_quiet_run_end_before_the_next_begins(emulating: Project) -> None:
    result = emulating.tests(SOUND).run("--gpu-matrix", DEVICES, "-q")
    assert "gpumatrix: the tests again, with NVIDIA H200 posing as rtx-3090 (RTX 3090)" in result.outlines


def test_the_process_says_what_its_launches_are_held_against(emulating: Project) -> None:
    result = emulating.tests(SOUND).run("--gpu-matrix", DEVICES)
    result.stdout.fnmatch_lines(["rtx-3090 | gpumatrix: each launch is held against rtx-3090 (RTX 3090)"])
    result.stdout.no_fnmatch_line("rtx-3090 | gpumatrix: compiled for*")


def test_a_run_that_ended_early_emulates_nothing_and_says_so(emulating: Project) -> None:
    result = emulating.tests("def test_it():\n    raise KeyboardInterrupt\n").recorded(DEVICES)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["gpumatrix: note: this run ended early, so rtx-3090 (RTX 3090) is not emulated"])


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
