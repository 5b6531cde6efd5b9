from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.portability.compiling.cache import CompileCache, compiler_version
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, FunctionReference, TritonKernel

COMPILED = Compiled(status=Status.COMPILED, shared_memory=1024)

LAUNCH = CudaLaunch(kernel="k", block=(128, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0)


def job(arch: str = "sm_86", **fields: Any) -> Job:
    program = CudaProgram(
        name="k", source="code", code_type="c++", target_type="cubin", arch="sm_90", follows_device=True, options={}
    )
    return Job(kernel=msgspec.structs.replace(program, **fields), arch=arch)


def test_what_is_put_is_got_by_the_same_job_alone(tmp_path: Path) -> None:
    CompileCache(tmp_path, {}).put(job(), COMPILED)
    cache = CompileCache(tmp_path, {"HOME": "/elsewhere", "TRITON_CACHE_DIR": "/elsewhere"})
    assert cache.get(job()) == COMPILED
    assert cache.get(job(launch=LAUNCH)) == COMPILED  # how it is launched does not change what is compiled
    for other in (job("sm_80"), job(source="other code"), job(options={"std": "c++20"})):
        assert cache.get(other) is None


def test_another_compiler_or_setting_of_it_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CompileCache(tmp_path, {}).put(job(), COMPILED)
    assert CompileCache(tmp_path, {"TRITON_DEFAULT_FP_FUSION": "0"}).get(job()) is None
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{version(name)}.1")
    assert CompileCache(tmp_path, {}).get(job()) is None


@pytest.mark.parametrize("status", [Status.CRASHED, Status.UNKNOWN])
def test_what_may_go_better_next_time_is_not_kept(tmp_path: Path, status: Status) -> None:
    cache = CompileCache(tmp_path, {})
    cache.put(job(), Compiled(status=status))
    assert cache.get(job()) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"options": {"pre_include": "mine.h"}},
        *(
            {"source": source}
            for source in (
                '#include "mine.h"',
                '# include "mine.h"',
                '#\t/* which\none */ include "mine.h"',
                '%:include "mine.h"',
                '??=include "mine.h"',
                '#\\\ninclude "mine.h"',
                '# \\\r\n inc\\\r\nlude "mine.h"',
                '#in??/\nclude "mine.h"',
                '#if __has_include("mine.h")\n#endif',
                'int a[] = {\n#embed "mine.bin"\n};',
            )
        ),
    ],
    ids=repr,
)
def test_a_program_that_includes_headers_is_not_kept(tmp_path: Path, fields: dict[str, Any]) -> None:
    cache = CompileCache(tmp_path, {})
    cache.put(job(**fields), COMPILED)
    assert cache.get(job(**fields)) is None


def test_a_kernel_that_reads_what_has_no_hash_is_not_kept(tmp_path: Path) -> None:
    reference = FunctionReference(module="m", qualname="f", file="m.py", line=1, source_hash="0")
    kernel = TritonKernel(function=reference, signature={}, constants=(), attributes=(), options={})
    cache = CompileCache(tmp_path, {})
    for lasting in (True, False):
        found = Job(kernel=msgspec.structs.replace(kernel, lasting=lasting), arch="sm_86")
        cache.put(found, COMPILED)
        assert (cache.get(found) is not None) is lasting


def test_a_folder_that_cannot_be_written_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def full(path: Path, content: bytes) -> None:
        tries.append((path, content))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytest_gpumatrix.portability.compiling.cache.write_atomically", full)
    cache = CompileCache(tmp_path, {})
    for arch in ("sm_80", "sm_86"):
        cache.put(job(arch), COMPILED)
        assert cache.get(job(arch)) is None
    assert len(tries) == 1
    assert cache.failure is not None
    assert cache.failure.strerror == "No space left on device"


@pytest.mark.parametrize("content", [b"", b"{", b'{"status":"great"}', b"\xff"])
def test_a_broken_file_is_compiled_again(tmp_path: Path, content: bytes) -> None:
    cache = CompileCache(tmp_path, {})
    cache.put(job(), COMPILED)
    [file] = tmp_path.rglob("*.json")
    file.write_bytes(content)
    assert cache.get(job()) is None
    cache.put(job(), COMPILED)
    assert cache.get(job()) == COMPILED


def test_the_compilers_version_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    installed = compiler_version({})
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert compiler_version({}) != installed


def test_what_is_not_known_for_want_of_a_disassembler_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvdisasm"
    tool.touch()
    monkeypatch.setattr("pytest_gpumatrix.portability.compiling.cache.disassemblers", lambda: iter(()))
    without = compiler_version({})
    monkeypatch.setattr("pytest_gpumatrix.portability.compiling.cache.disassemblers", lambda: iter((tool,)))
    assert compiler_version({}) != without


def test_a_tool_that_a_setting_names_counts_by_what_it_is(tmp_path: Path) -> None:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("one")
    before = compiler_version({"TRITON_PTXAS_PATH": str(ptxas)})
    assert before == compiler_version({"TRITON_PTXAS_PATH": str(ptxas)})
    ptxas.write_text("another")
    assert before != compiler_version({"TRITON_PTXAS_PATH": str(ptxas)})


@pytest.mark.parametrize("name", ["CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"])
def test_where_cuda_is_found_counts(name: str) -> None:
    assert compiler_version({name: "/first"}) != compiler_version({name: "/second\udcff"})


@pytest.mark.parametrize(
    "package", ["triton", "cuda-core", "cuda-bindings", "cuda-toolkit", "nvidia-cuda-nvrtc", "nvidia-nvjitlink-cu12"]
)
def test_the_release_of_each_compiler_counts(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    def with_release(release: str) -> str:
        monkeypatch.setattr(importlib.metadata, "version", lambda name: release if name == package else "1")
        return compiler_version({})

    assert with_release("1") != with_release("2")
