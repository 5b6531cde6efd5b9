"""Whole tapes, hostile and huge ones too; nothing is compiled here."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.compiling.cache import CompileCache
from pytest_gpumatrix.portability.compiling.compile_job import Job
from pytest_gpumatrix.portability.compiling.compiling_process import compiling_environment
from pytest_gpumatrix.portability.judging.compile_launches import Compiling
from pytest_gpumatrix.portability.judging.judgement import Fit
from pytest_gpumatrix.portability.judging.tapes import Findings, judge_tapes
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem, TritonKernel
from pytest_gpumatrix.portability.tape.sources import file_hash
from pytest_gpumatrix.portability.tape.tape import SCHEMA, End, Header, Line
from tests.portability.judging.builders import KERNEL, figures, of_triton

DEVICES = {name: catalogue.load().resolve(name) for name in ("rtx-3090", "h100-sxm")}
OBSTACLE = msgspec.structs.replace(KERNEL, obstacle="defined inside a function")


@pytest.fixture(autouse=True)
def _in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tape(path: Path, lines: Iterable[Line], **fields: Any) -> Path:
    header = Header(schema=SCHEMA, rootdir=str(path.parent), sys_path=())
    with path.open("wb") as file:
        count = 0
        for line in (msgspec.structs.replace(header, **fields), *lines):
            count += file.write(msgspec.json.encode(line) + b"\n") > 0
        file.write(msgspec.json.encode(End(lines=count)) + b"\n")
    return path


def judged(*paths: Path, cache_dir: Path | None = None, rootdir: Path | None = None) -> Findings:
    compiling = Compiling(
        jobs=1,
        budget_seconds=0.0,
        cache_dir=cache_dir or paths[0].parent / "cache",
        environ=os.environ,
        progress=lambda *_: None,
        note=pytest.fail,
    )
    return judge_tapes(paths, DEVICES, compiling, rootdir=rootdir, own_path=[])


def launch(test: str = "t", kernel: Any = OBSTACLE) -> Launch:
    return Launch(test=test, kernel=kernel)


def of_file(source: Path) -> TritonKernel:
    """The kernel as it is recorded from this file, in the rootdir."""
    source.write_text("def f(): ...")
    reference = msgspec.structs.replace(KERNEL.function, file=source.name, files={source.name: file_hash(source)})
    return msgspec.structs.replace(KERNEL, function=reference)


def test_a_tape_without_launches_is_not_green(tmp_path: Path) -> None:
    findings = judged(tape(tmp_path / "tape", []))
    assert (findings.rows, findings.exit_code) == ([], 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a tape"),
        (b"\x00\xff\x80" * 1000, "not a tape"),
        (b"\x7fELF\n\n", "not a tape"),
        (b'{"record":"header","schema":99,"rootdir":"/","sys_path":[]}\n', "a tape of schema 99"),
        (b'HEADER{"record":"poem","test":"t"}\n', "tape:2: a line of kind 'poem'"),
        (b'HEADER{"record":"launch","test":"t","kernel":{"kind":"opencl"}}\n', "tape:2: a kernel of kind 'opencl'"),
        (b'HEADER{"record":"launch","test":"t"', None),
    ],
)
def test_what_is_no_tape_of_ours(tmp_path: Path, content: bytes, message: str | None) -> None:
    path = tape(tmp_path / "tape", [])
    path.write_bytes(content.replace(b"HEADER", path.read_bytes().splitlines(keepends=True)[0]))
    if message is not None:
        with pytest.raises(GpuMatrixError, match=message):
            judged(path)
        return
    findings = judged(path)
    assert [found.cut_off for found in findings.tapes] == [True]
    assert findings.exit_code == 3


def test_a_tape_that_is_cut_at_the_end_of_a_line_is_not_green(tmp_path: Path) -> None:
    path = tape(tmp_path / "tape", [launch()])
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert [found.cut_off for found in judged(path).tapes] == [True]


@pytest.mark.parametrize("capability", ["99.9", "0.0", "song"])
def test_a_gpu_of_which_nothing_is_known_is_refused(tmp_path: Path, capability: str) -> None:
    with pytest.raises(GpuMatrixError, match=r"/tape: .*capability"):
        judged(tape(tmp_path / "tape", [launch()], capability=capability))


def test_fields_that_are_not_known_change_nothing(tmp_path: Path) -> None:
    path = tape(tmp_path / "tape", [launch()])
    path.write_bytes(
        path.read_bytes().replace(b'"test":', b'"mood":["new"],"test":').replace(b'"kind":', b'"x":1,"kind":')
    )
    [row] = judged(path).rows
    assert row.devices["rtx-3090"].judgement.reason == "defined inside a function"


def test_what_is_not_known_is_not_green(tmp_path: Path) -> None:
    assert judged(tape(tmp_path / "tape", [launch()])).exit_code == 3
    problem = Problem(test="t", message="a launch of f: OSError")
    findings = judged(tape(tmp_path / "with", [problem]))
    assert (findings.problems, findings.exit_code) == ([problem], 3)


def test_a_module_outside_of_the_rootdir_is_not_imported(tmp_path: Path) -> None:
    attack = tmp_path / "attack.py"
    attack.write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()")
    root = tmp_path / "root"
    root.mkdir()
    reference = msgspec.structs.replace(KERNEL.function, module="attack", file="../attack.py")
    line = launch(kernel=msgspec.structs.replace(KERNEL, function=reference))
    [row] = judged(tape(root / "tape", [line], sys_path=(str(tmp_path), "/"))).rows
    assert {found.judgement.fit for found in row.devices.values()} == {Fit.UNKNOWN}
    assert row.devices["rtx-3090"].judgement.reason.startswith("cannot be rebuilt: ../attack.py is outside of ")
    assert not (tmp_path / "ran").exists()


def test_tapes_of_different_folders_need_one_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        tape(tmp_path / name / "tape", [launch(name)])
    paths = (tmp_path / "one" / "tape", tmp_path / "two" / "tape")
    with pytest.raises(GpuMatrixError, match=r"one by one, or say by --rootdir"):
        judged(*paths)
    [row] = judged(*paths, rootdir=tmp_path).rows
    assert row.tests == ("one", "two")


def test_a_kernel_of_two_tapes_is_held_against_the_gpu_that_ran(tmp_path: Path) -> None:
    kernel = of_file(tmp_path / "m.py")
    cache = CompileCache(tmp_path / "cache" / "compiled", compiling_environment(os.environ))
    for arch in ("sm_80", "sm_86", "sm_90"):
        cache.put(Job(kernel=kernel, arch=arch), of_triton({"spill_stores": 0 if arch == "sm_80" else 64}))
    interpreted = tape(tmp_path / "interpreted", [launch("cpu", kernel)])
    native = tape(tmp_path / "native", [launch("gpu", kernel)], capability="8.0")
    for paths in ((interpreted, native), (native, interpreted)):
        findings = judged(*paths)
        assert [str(found.path.name) for found in findings.tapes] == ["native", "interpreted"]
        [row] = findings.rows
        assert str(row.devices["rtx-3090"].held_against) == "8.0"
        assert row.tests == ("gpu", "cpu")


def test_what_the_cache_knows_does_not_stand_for_edited_sources(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    kernel = of_file(source)
    cache = CompileCache(tmp_path / "cache" / "compiled", compiling_environment(os.environ))
    for arch in ("sm_86", "sm_90"):
        cache.put(Job(kernel=kernel, arch=arch), of_triton())
    path = tape(tmp_path / "tape", [launch(kernel=kernel)])
    assert judged(path).exit_code == 0
    source.write_text("# edited")
    findings = judged(path)
    [row] = findings.rows
    assert {found.judgement.reason for found in row.devices.values()} == {
        "sources differ: m.py has changed since it was recorded"
    }
    assert findings.exit_code == 3


def test_deep_and_huge_constants_are_judged_or_refused(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"tuple": [deep]}
    huge = {"int": "9" * 1_000_000}
    kernels = [msgspec.structs.replace(OBSTACLE, constants=(((0,), value),)) for value in (deep, huge)]
    path = tape(tmp_path / "tape", [launch(kernel=kernel) for kernel in kernels])
    assert len(judged(path).rows) == 2
    assert all(len(row.encoded) < 8192 for row in judged(path).rows)
    line = (
        path.read_bytes()
        .splitlines(keepends=True)[1]
        .replace(b'{"tuple":[1]}', b'{"tuple":[' * 2000 + b"1" + b"]}" * 2000)
    )
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(GpuMatrixError, match="tape:5: a broken line"):
        judged(path)


def program(number: int) -> CudaProgram:
    return CudaProgram(
        name="k",
        source=f"// {number} " + "x" * 20_000,
        code_type="c++",
        target_type="cubin",
        arch="sm_90",
        follows_device=True,
        options={},
        launch=CudaLaunch(kernel="k", block=(128, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0),
    )


def peak_of(path: Path) -> int:
    tracemalloc.start()
    try:
        findings = judged(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert findings.rows
    return peak


def test_memory_stays_flat_over_many_launches_of_few_kernels(tmp_path: Path) -> None:
    """2,000 launches of sources of 20 kB are 40 MB."""
    kernels = [msgspec.structs.replace(program(number), obstacle="not compiled here") for number in range(4)]
    path = tape(tmp_path / "tape", (launch(f"t{n % 50}", kernels[n % 4]) for n in range(2000)))
    assert path.stat().st_size > 40_000_000
    judged(path)  # what is loaded once, the catalogue say, is not of the tape
    assert peak_of(path) < 4_000_000


def test_memory_grows_little_with_kernels_that_the_cache_knows(tmp_path: Path) -> None:
    """1,000 kernels of 20 kB are 20 MB: of each no more than 4 kB is kept, on two devices."""
    cache = CompileCache(tmp_path / "cache" / "compiled", compiling_environment(os.environ))
    built = of_triton(kernels={"k": figures()})
    path = tape(tmp_path / "tape", (launch(f"t{number}", program(number)) for number in range(1000)))
    for number in range(1000):
        for arch in ("sm_86", "sm_90"):
            cache.put(Job(kernel=program(number), arch=arch), built)
    [*rows] = judged(path).rows
    assert {found.judgement.fit for row in rows for found in row.devices.values()} == {Fit.FITS}
    assert peak_of(path) < 4_000_000 + 1000 * 4096
