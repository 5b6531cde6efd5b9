"""The command and the environment of a run in which the GPU poses as a device."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.detection import Gpu
from pytest_gpumatrix.session.emulated_run import Folders, cache_name, command, environment

FOLDERS = Folders(out=Path("/out"), scratch=Path("/scratch"), cache=Path("/kept"))
RTX_3090 = catalogue.load().resolve("rtx-3090")
H200 = catalogue.load().resolve("h200")
DEVICE = gate.Device(name="rtx", profile=RTX_3090, memory=RTX_3090.memory, count=1)


def gpu(uuid: str = "GPU-0") -> Gpu:
    return Gpu(
        index=0,
        name="NVIDIA H200",
        uuid=uuid,
        capability=H200.capability,
        memory=H200.memory,
        sm_count=H200.sm_count,
        mig=False,
        profile=H200,
    )


def arguments(config: pytest.Config, cache_dir: Path | None = None) -> list[str]:
    """What the command gives to pytest."""
    made = command(config, "rtx", FOLDERS, cache_dir)
    return made[made.index("-c") + 3 :]


def test_the_arguments_of_the_first_run_and_then_its_own(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig("-q", "--", "a_test.py")
    given = [str(argument) for argument in config.invocation_params.args]  # with a --basetemp of pytester's
    end = given.index("--")
    told = arguments(config)
    assert told[:end] == given[:end]
    assert told[end : end + 2] == ["--gpu-pose=rtx", "--gpu-matrix-out=/out"]
    assert told[-len(given[end:]) :] == given[end:]


@pytest.mark.parametrize(
    ("ini", "given", "own"),
    [
        ("", ("--junitxml=own.xml",), "--junitxml=/scratch/xmlpath"),
        ("addopts = --junitxml=own.xml", (), "--junitxml=/scratch/xmlpath"),
        ("", ("--basetemp=own",), "--basetemp=/scratch/basetemp"),
        ("", ("--log-file=own.log",), "--log-file=/scratch/log_file"),
        ("log_file = own.log", (), "--log-file=/scratch/log_file"),
        ("", ("--debug",), "--debug=/scratch/debug"),
        ("", ("--debug=own.log",), "--debug=/scratch/debug"),
    ],
)
def test_a_file_that_the_first_run_writes_is_written_elsewhere(
    pytester: pytest.Pytester, ini: str, given: tuple[str, ...], own: str
) -> None:
    pytester.makeini(f"[pytest]\n{ini}\n")
    told = arguments(pytester.parseconfig(*given))
    assert told.index(own) >= len(given)  # the last one counts


def test_no_more_options_than_there_are_files(pytester: pytest.Pytester) -> None:
    told = arguments(pytester.parseconfig("-p", "no:logging", "-p", "no:junitxml"))
    assert not [option for option in told if option.startswith(("--log-file", "--junitxml", "--debug", "--no-cov"))]


def test_coverage_stays_that_of_the_first_run(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig()
    config.pluginmanager.register(object(), "_cov")  # as pytest-cov does where it measures
    assert "--no-cov" in arguments(config)


def test_plugins_that_were_given_by_name_are_given_again(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(a_plugin="")
    pytester.syspathinsert()
    pytester.plugins = ["a_plugin", object()]
    told = arguments(pytester.parseconfig())
    assert told[told.index("-p") + 1] == "a_plugin"
    assert told.count("-p") == 1


@pytest.mark.parametrize(("cache_dir", "options"), [(Path("/copy"), ["-o", "cache_dir=/copy"]), (None, [])])
def test_pytests_cache_is_a_copy(pytester: pytest.Pytester, cache_dir: Path | None, options: list[str]) -> None:
    told = arguments(pytester.parseconfig(), cache_dir)
    assert [argument for argument in told if argument in ("-o", "cache_dir=/copy")] == options


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-O"],
        ["-OO", "-B", "-s"],
        ["-I"],
        ["-E", "-S", "-bb"],
        ["-W", "error::UserWarning", "-W", "ignore::DeprecationWarning:a.b"],
        ["-X", "dev", "-X", "utf8=1", "-X", "pycache_prefix=/a folder"],
        pytest.param(["-P"], marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="new in 3.11")),
    ],
    ids=" ".join,
)
def test_the_interpreter_is_told_what_this_one_was(options: list[str]) -> None:
    tell = "import json, sys; print(json.dumps([list(sys.flags), sys.warnoptions, sys._xoptions]))"
    again = (
        f"import sys; sys.path[:0] = {sys.path!r}; import subprocess\n"
        "from pytest_gpumatrix.session.emulated_run import interpreter_options\n"
        f"subprocess.run([sys.executable, *interpreter_options(), '-c', {tell!r}], check=True)"
    )
    first, second = (
        json.loads(subprocess.run([sys.executable, *options, "-c", source], capture_output=True, check=True).stdout)
        for source in (tell, again)
    )
    assert second == first


def test_the_search_path_is_that_of_this_process(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/added by a conftest", *sys.path])
    made = command(pytester.parseconfig(), "rtx", FOLDERS, None)
    assert made[0] == sys.executable
    start = made.index("-c")
    source = made[start + 1].replace("import pytest; sys.exit(pytest.main())", "print(sys.path[0], sys.argv)")
    output = subprocess.run([sys.executable, "-c", source, *made[start + 2 : start + 3], "-x"], capture_output=True)
    assert output.stdout.decode().split() == ["/added", "by", "a", "conftest", "['pytest',", "'-x']"]


def test_the_environment() -> None:
    own = {
        "HOME": "/home",
        "PYTEST_ADDOPTS": "-x",
        "PYTEST_CURRENT_TEST": "a_test.py::test_it (call)",
        "PYTEST_XDIST_TESTRUNUID": "1",
        "PYTEST_VERSION": "9",
        "CUDA_VISIBLE_DEVICES": "3,4,5",
        "TRITON_CACHE_DIR": "/native",
        "PYTHONBREAKPOINT": "a.debugger",
    }
    assert environment(own, [gpu("GPU-3"), gpu("GPU-4")], FOLDERS) == {
        "HOME": "/home",
        "PYTEST_ADDOPTS": "-x",
        "CUDA_VISIBLE_DEVICES": "GPU-3,GPU-4",
        "TRITON_CACHE_DIR": "/kept/triton",
        "TORCHINDUCTOR_CACHE_DIR": "/kept/inductor",
        "GPUMATRIX_SCRATCH": "/scratch",
        "PYTHONBREAKPOINT": "0",
    }


def test_what_is_compiled_for_the_one_is_for_no_other() -> None:
    names = [
        cache_name(DEVICE, gpu()),
        cache_name(replace(DEVICE, count=2), gpu()),
        cache_name(replace(DEVICE, profile=replace(RTX_3090, sm_count=68)), gpu()),
        cache_name(DEVICE, replace(gpu(), capability=ComputeCapability(10, 0))),
    ]
    assert len(set(names)) == len(names)
    assert all(name.startswith("rtx-3090-") for name in names)
    assert cache_name(replace(DEVICE, name="another"), gpu("GPU-7")) == names[0]
