"""One leg: the user's arguments reach pytest as they are, its exit code and files come back."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.github.run import pytest_run
from pytest_gpumatrix.record.results import read_results
from tests.action.runner import Step

MATRIX = """\
version: 1
devices:
  h100: {profile: h100-sxm, runs-on: [self-hosted, h100]}
"""
TESTS = """\
import pytest

@pytest.mark.gpu
def test_kernel(gpu):
    assert str(gpu.capability) == "9.0"

def test_hostile():
    print("::error::pwned")
    print("::add-mask::a")
    print("##[set-output name=exit-code]0")
    assert HOSTILE
"""
INPUTS = {"device": "h100", "native": "true", "results": "out", "working-directory": "."}


def environ(**inputs: str) -> dict[str, str]:
    given = {**INPUTS, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    return {f"GPUMATRIX_{name.upper().replace('-', '_')}": value for name, value in given.items()}


def arguments(**inputs: str) -> tuple[str, ...]:
    return pytest_run(environ(**inputs), "python").command[3:]


@pytest.fixture
def leg(step: Step) -> Step:
    """A project on its H100."""
    (step.folder / "gpumatrix.yml").write_text(MATRIX)
    (step.folder / "test_it.py").write_text(TESTS.replace("HOSTILE", "True"))
    step.inputs = dict(INPUTS)
    step.gpu = "h100"
    return step


def test_the_command(tmp_path: Path) -> None:
    run = pytest_run(environ(working_directory=str(tmp_path), pytest_args="-k 'not slow' tests"), "/venv/bin/python")
    out = str(tmp_path / "out")
    own = ("-k", "not slow", "tests")
    options = ("--gpu-matrix", "--gpu-devices=h100", f"--gpu-matrix-out={out}", "--gpu-native")
    assert run.command == ("/venv/bin/python", "-m", "pytest", *options, *own)
    assert (run.folder, run.results) == (tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("tests\n--durations=5\n  -k 'a or b'\n", ("tests", "--durations=5", "-k", "a or b")),
        ("; rm -rf $HOME `id` $(id) > x & *", (";", "rm", "-rf", "$HOME", "`id`", "$(id)", ">", "x", "&", "*")),
        ('\'two\nlines\' "in \\"one\\""', ("two\nlines", 'in "one"')),
        ("tests/a.py::test_b[x#1] # no comment", ("tests/a.py::test_b[x#1]", "#", "no", "comment")),
    ],
)
def test_arguments_are_split_and_never_expanded(text: str, words: tuple[str, ...]) -> None:
    assert arguments(pytest_args=text)[4:] == words


@pytest.mark.parametrize("device", ["h100; touch pwned", "$(touch pwned)", "h100 --co", "--co", "a\nb"])
def test_a_device_is_one_argument_whatever_it_holds(device: str) -> None:
    assert arguments(device=device)[1] == f"--gpu-devices={device}"


def test_without_the_gpu_it_need_not_be_here() -> None:
    assert "--gpu-native" in arguments(native="true")
    assert "--gpu-native" not in arguments(native="false")


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({"device": " "}, "the input 'device' is empty"),
        ({"native": "yes"}, "the input 'native' is 'yes'; write true or false"),
        ({"native": ""}, "the input 'native' is empty"),
        ({"results": ""}, "the input 'results' is empty"),
        ({"pytest_args": "-k 'open"}, "the input 'pytest-args' cannot be split into arguments: No closing quotation"),
        ({"working_directory": "not-here"}, "not-here is no folder"),
    ],
)
def test_a_wrong_input_is_named(inputs: dict[str, str], complaint: str) -> None:
    with pytest.raises(GpuMatrixError) as error:
        pytest_run(environ(**inputs), "python")
    assert complaint in str(error.value)


def test_a_green_leg(leg: Step) -> None:
    done = leg.run("run")
    assert done.returncode == 0, done.stdout
    assert leg.outputs == {"results": str(leg.folder / "out"), "exit-code": "0"}
    (column,) = read_results(leg.folder / "out").columns
    assert (column.device, column.evidence.value) == ("h100", "native")
    assert {test.partition("::")[2] for test in column.cells} == {"test_kernel", "test_hostile"}


def test_a_red_leg_keeps_its_files_and_its_log_is_text(leg: Step) -> None:
    (leg.folder / "test_it.py").write_text(TESTS.replace("HOSTILE", "False"))
    done = leg.run("run")
    assert done.returncode == 1
    assert leg.outputs["exit-code"] == "1"
    assert {path.name for path in (leg.folder / "out").iterdir()} >= {"h100.native.xml", "h100.native.jsonl"}
    lines = done.stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert "::error::pwned" in lines[1:]
    assert token not in "\n".join(lines[1:])


def test_the_gpu_is_not_here(leg: Step) -> None:
    leg.gpu = "rtx3090"
    done = leg.run("run")
    assert done.returncode == 3
    assert leg.outputs["exit-code"] == "3"
    assert "h100 is not here: the first GPU is 'NVIDIA GeForce RTX 3090' (8.6)" in done.stdout


def test_without_a_gpu_and_not_native_its_column_is_compiled(leg: Step) -> None:
    leg.gpu = ""
    done = leg.run("run", native="false")
    assert done.returncode == 0, done.stdout
    found = {(column.device, column.evidence.value) for column in read_results(leg.folder / "out").columns}
    assert found == {("cpu", "native"), ("h100", "compiled")}


def test_results_that_are_there_already_are_not_taken_for_new_ones(leg: Step) -> None:
    (leg.folder / "out").mkdir()
    (leg.folder / "out" / "h100.native.xml").write_text("<testsuites/>")
    done = leg.run("run")
    assert done.returncode == 2
    assert "holds h100.native.xml already, which this run did not make" in done.stdout
    assert (leg.folder / "out" / "h100.native.xml").read_text() == "<testsuites/>"
    assert leg.outputs == {}


def test_another_folder_to_work_in(leg: Step) -> None:
    (leg.folder / "sub").mkdir()
    (leg.folder / "test_it.py").rename(leg.folder / "sub" / "test_it.py")
    done = leg.run("run", working_directory="sub", pytest_args="-k kernel")
    assert done.returncode == 0, done.stdout
    assert leg.outputs["results"] == str(leg.folder / "sub" / "out")


def test_nothing_of_the_checkout_is_imported_by_the_launcher(leg: Step) -> None:
    for name in ("pytest_gpumatrix.py", "shlex.py", "signal.py"):
        (leg.folder / name).write_text("raise SystemExit('pwned')")
    done = leg.run("run", device="")
    assert done.returncode == 2
    assert "the input 'device' is empty" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals as a runner on Linux sends them")
def test_a_cancelled_job_keeps_what_it_has(leg: Step) -> None:
    (leg.folder / "test_it.py").write_text(
        "import time\ndef test_done(): pass\ndef test_long():\n    print('waiting', flush=True)\n    time.sleep(600)\n"
    )
    leg.inputs["pytest-args"] = "-s"
    with subprocess.Popen(
        leg.command("run"), cwd=leg.folder, env=leg.environ(), stdout=subprocess.PIPE, encoding="utf-8"
    ) as launcher:
        assert launcher.stdout is not None
        log = ""
        while "waiting" not in log:
            line = launcher.stdout.readline()
            assert line, log
            log += line
        launcher.send_signal(signal.SIGINT)
        log += launcher.stdout.read()
    assert launcher.returncode == 2, log  # as pytest's, interrupted
    assert leg.outputs["exit-code"] == "2"
    (column,) = read_results(leg.folder / "out").columns
    outcomes = {test.partition("::")[2]: cell.outcome.value for test, cell in column.cells.items()}
    assert outcomes["test_done"] == "passed"
    assert outcomes["test_long"] != "passed"


def test_a_session_that_a_signal_ends(leg: Step) -> None:
    (leg.folder / "test_it.py").write_text("import os, signal\ndef test_it(): os.kill(os.getpid(), signal.SIGKILL)\n")
    done = leg.run("run")
    assert done.returncode == 128 + signal.SIGKILL
    assert leg.outputs["exit-code"] == "137"
    assert (leg.folder / "out" / "h100.native.jsonl").is_file()
