"""``gpumatrix compile``, with real compilers but no GPU."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem
from pytest_gpumatrix.portability.tape.tape import SCHEMA, End, Header, Line
from pytest_gpumatrix.render.text import wrap
from tests.portability.nvrtc_words import NEEDS_89
from tests.portability.sample_run import recorded

SOURCE = 'extern "C" __global__ void %s(float *x) { %s }'
E5M2 = 'unsigned short r; asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(x[0]), "f"(x[1])); x[2] = r;'


def program(name: str, body: str = "x[0] = 1;", **fields: Any) -> CudaProgram:
    shape = CudaLaunch(kernel=name, block=(128, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0)
    given: dict[str, Any] = {"arch": "sm_90", "follows_device": True, "options": {}, "launch": shape, **fields}
    return CudaProgram(name=name, source=SOURCE % (name, body), code_type="c++", target_type="cubin", **given)


PLAIN, FP8 = (
    Launch(test="t.py::plain", kernel=program("plain")),
    Launch(test="t.py::fp8", kernel=program("to_fp8", E5M2)),
)


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "command-cache"))
    monkeypatch.setenv("COLUMNS", "80")


def tape(path: Path, *lines: Line, **fields: Any) -> str:
    header = Header(schema=SCHEMA, rootdir=str(path.parent), sys_path=())
    whole = (msgspec.structs.replace(header, **fields), *lines, End(lines=1 + len(lines)))
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in whole))
    return str(path)


def test_a_whole_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.core")
    again = Launch(test="t.py::fp8_again", kernel=FP8.kernel)
    path = tape(tmp_path / "tape", PLAIN, FP8, again, capability="9.0", versions={"triton": "3.6.0"})
    assert main(["compile", path, "--devices", "rtx-3090,8.0,9.0"]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("Recorded on a GPU of 9.0 (triton 3.6.0); compiled by triton 3.")
    assert lines[1:] == [
        *lines[1 : lines.index("") - 1],
        "rtx-3090: RTX 3090 (8.6), 8.0: any GPU of it, 9.0: any GPU of it",
        "",
        "                                                                rtx-3090 8.0 9.0",
        "to_fp8, one specialisation                                      ✗        ✗   ⚙",
        "plain, one specialisation                                       ⚙        ⚙   ⚙",
        "⚙ fits  ✗ fails",
        "",
        "Fails:",
        next(line for line in lines if line.startswith("to_fp8  CUDA C++, SHA-256 ")),
        *wrap(f"rtx-3090, 8.0: {NEEDS_89}", 80, indent="  ", hanging="      "),
        "    one specialisation",
        "    in t.py::fp8 and 1 more",
        "",
        "CUDA C++ is judged by the source on the tape, whatever the files hold now",
        "a tape has no marks: what a mark skips on a device is judged for it too",
        "2 kernels x 3 devices: 4 fit, 2 fail",
    ]
    assert "Slow is said against the build for 9.0, where it ran." in " ".join(" ".join(lines).split())


def test_the_same_as_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.core")
    path = tape(tmp_path / "tape", PLAIN, FP8)
    assert main(["compile", path, "--devices", "rtx3090,h100-sxm", "--format", "json"]) == 1
    text = capfd.readouterr().out
    assert text.isascii()
    report = json.loads(text)
    kernels = report.pop("kernels")
    assert report.pop("compilers")["cuda-core"]
    assert report == {
        "schema": 1,
        "tapes": [{"path": path, "recorded_on": None, "versions": {}, "cut_off": False}],
        "devices": {
            "rtx-3090": {"capability": "8.6", "profile": "rtx-3090"},
            "h100-sxm": {"capability": "9.0", "profile": "h100-sxm"},
        },
        "exit_code": 1,
        "problems": [],
    }
    plain, fp8 = kernels
    assert (plain["name"], plain["kind"], plain["tests"], plain["configurations"]) == (
        "plain",
        "cuda",
        ["t.py::plain"],
        1,
    )
    fits = plain["devices"]["rtx-3090"]
    assert (fits["verdict"], fits["reason"], fits["held_against"]) == ("fits", "", "9.0")
    expected = {"shared_memory": 0, "threads": 128, "spill_stores": 0, "tensor_path": "none", "compare_and_swaps": 0}
    assert {name: fits["figures"][name] for name in expected} == expected
    assert fits["figures"]["registers"] > 0
    fails = {"verdict": "fails", "reason": NEEDS_89, "held_against": "9.0", "figures": None}
    assert fp8["devices"]["rtx-3090"] == fails
    assert fp8["devices"]["h100-sxm"]["verdict"] == "fits"


@pytest.mark.parametrize(
    ("lines", "code", "last"),
    [
        ([PLAIN], 0, "1 kernel x 1 device: 1 fit"),
        ([PLAIN, FP8], 1, "2 kernels x 1 device: 1 fit, 1 fail"),
        ([PLAIN, Launch(test="t", kernel=program("odd", obstacle="odd"))], 3, "1 fit, 1 not known"),
        ([FP8, Problem(test="t", message="m")], 1, "1 kernel x 1 device: 1 fail"),
        ([PLAIN, Problem(test="t", message="a launch of f: OSError")], 3, "1 kernel x 1 device: 1 fit"),
        ([], 3, "no kernel launch on the tape: nothing can be said of any device"),
    ],
)
def test_exit_codes(tmp_path: Path, capfd: pytest.CaptureFixture[str], lines: list[Line], code: int, last: str) -> None:
    pytest.importorskip("cuda.core")
    assert main(["compile", tape(tmp_path / "tape", *lines), "--devices", "8.6"]) == code
    out, err = capfd.readouterr()
    assert out.splitlines()[-1].endswith(last)
    assert ("not recorded: t: " in out) is any(isinstance(line, Problem) for line in lines)
    assert err == ""  # no progress, for this is no terminal


def test_the_budget(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(tmp_path / "empty"))
    assert main(["compile", tape(tmp_path / "tape", PLAIN), "--devices", "8.6", "--budget", "0"]) == 3
    assert "8.6: not compiled within the budget of 0 s" in capfd.readouterr().out


def test_a_tape_that_is_cut_off_is_judged_and_not_green(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.core")
    path = tmp_path / "tape"
    tape(path, PLAIN)
    path.write_bytes(path.read_bytes() + b'{"record":"laun')
    assert main(["compile", str(path), "--devices", "8.6"]) == 3
    out = " ".join(capfd.readouterr().out.split())
    assert "is cut off: what came after" in out
    assert "1 fit" in out


MATRIX = "version: 1\ndevices:\n  small: {profile: rtx-3090}\n  '8.0': {profile: h100-sxm}\n"


@pytest.mark.parametrize(
    ("matrix", "arguments", "devices"),
    [
        (MATRIX, [], {"small": "rtx-3090", "8.0": "h100-sxm"}),
        (MATRIX, ["--devices", "small, a100-80gb"], {"small": "rtx-3090", "a100-80gb": "a100-80gb"}),
        (MATRIX, ["--devices", "RTX 3090"], {"small": "rtx-3090"}),
        (MATRIX, ["--devices", "8.0"], {"8.0": "h100-sxm"}),  # a name of the file comes first
        (None, ["--devices", "8.0,sm_120"], {"8.0": "8.0", "12.0": "12.0"}),
    ],
)
def test_devices(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    matrix: str | None,
    arguments: list[str],
    devices: dict[str, str],
) -> None:
    if matrix is not None:
        (tmp_path / "gpumatrix.yml").write_text(matrix)
    assert main(["compile", tape(tmp_path / "tape"), "--format", "json", *arguments]) == 3
    found = json.loads(capfd.readouterr().out)["devices"]
    assert {name: device["profile"] for name, device in found.items()} == devices


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no device to look at: name some by --devices (rtx-3090,h100-sxm or 8.6,9.0), or in gpumatrix.yml"),
        (["--devices", " , "], "--devices is empty"),
        (["--devices", "rtx-9090"], "no GPU profile 'rtx-9090'"),
        (["--devices", "5.0"], "compute capability 5.0 is not in the catalogue. Known: 7."),
        (["--devices", "8.6", "--rootdir", "missing"], "--rootdir missing: no such folder"),
        (["--devices", "8.6", "--output", "missing/file"], "--output missing/file: cannot be written"),
    ],
)
def test_mistakes(tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["compile", tape(tmp_path / "tape"), *arguments]) == 2
    assert capfd.readouterr().err.startswith(f"gpumatrix: error: {message}")


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--jobs", "x"], ["--budget", "-1"], ["--budget", "nan"]])
def test_numbers_that_are_none(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compile", "tape", *arguments])
    assert ended.value.code == 2
    assert f"'{arguments[1]}' is no number of" in capfd.readouterr().err


def test_another_file_of_a_run_is_told_for_what_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    journal = Path(__file__).parents[1] / "data" / "h200" / "base" / "h200.native.jsonl"
    assert main(["compile", str(journal), "--devices", "8.6"]) == 2
    assert "not a tape, but a journal: a tape is launches.tape.jsonl" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["compile", "scan", "report"])
def test_the_help_says_which_exit_code_comes_first(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    codes = re.sub(r".*exit codes, the first that holds: ", "", " ".join(capfd.readouterr().out.split()))
    assert re.findall(r"(?:^|, )([0-3]) ", codes) == ["2", "1", "3", "0"]


def test_a_file_that_is_no_tape_leaves_the_output_as_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tape").write_bytes(b"\x00\x01")
    (tmp_path / "kernels.json").write_text("before")
    assert main(["compile", "tape", "--devices", "8.6", "--format", "json", "--output", "kernels.json"]) == 2
    assert "tape: not a tape" in capfd.readouterr().err
    assert (tmp_path / "kernels.json").read_text() == "before"


def test_triton_kernels_of_another_checkout(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded by the interpreter; judged in its folder, then as if it came from another machine."""
    pytest.importorskip("triton")
    found = recorded(tmp_path, "launches.aligned", interpret=True)
    path = str(tmp_path / "launches.tape.jsonl")
    assert main(["compile", path, "--devices", "8.6"]) == 2
    assert "a tape may come from anybody" in capfd.readouterr().err
    monkeypatch.chdir(found.header.rootdir)
    assert main(["compile", path, "--devices", "8.6"]) == 0
    assert "kernels.py:" not in capfd.readouterr().out  # where it is matters for what does not fit
    away = msgspec.structs.replace(found.header, rootdir="/nowhere", sys_path=("/nowhere", "/nowhere/else"))
    moved = tape(tmp_path / "moved", *found.launches, **msgspec.structs.asdict(away))
    assert main(["compile", moved, "--devices", "8.6"]) == 2
    assert "was recorded in /nowhere, which is not here: say by --rootdir" in capfd.readouterr().err
    assert main(["compile", moved, "--devices", "8.6", "--rootdir", found.header.rootdir]) == 0
    assert main(["compile", moved, "--devices", "7.5", "--rootdir", str(tmp_path)]) == 3
    out = capfd.readouterr().out
    assert "is not there" in " ".join(out.split())  # a long path is shortened in its middle
    assert "scale  kernels.py:" in out


def test_what_is_cached_takes_no_compiler(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither triton nor cuda-core is imported, and no process is started, where everything is known."""
    pytest.importorskip("cuda.core")
    path = tape(tmp_path / "tape", PLAIN, FP8)
    arguments = ["compile", path, "--devices", "8.6,9.0"]
    assert main(arguments) == 1
    first = capfd.readouterr().out
    code = (
        "import subprocess, sys; from pytest_gpumatrix.cli import main; subprocess.Popen = None;"
        f"code = main({arguments!r}); heavy = {{'triton', 'torch', 'cuda', 'numpy'}} & sys.modules.keys();"
        "print(sorted(heavy), file=sys.stderr); sys.exit(code)"
    )
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout, again.stderr) == (1, first, "[]\n")
