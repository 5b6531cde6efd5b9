"""A tape may come from anybody: its CUDA C++ reads and writes no file of the machine that compiles it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.portability.compiling.compile_cuda import compile_cuda
from pytest_gpumatrix.portability.compiling.compile_job import Status
from pytest_gpumatrix.portability.recording.nvrtc_options import program_options
from pytest_gpumatrix.portability.tape.launch import CudaProgram
from tests.portability.compiling.hostile_jobs import SOURCE, do, program


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A rootdir, which is the current folder, with a header, and a secret outside of it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "value.h").write_text("#define VALUE 1\n")
    (root / "leads.h").write_text("#include WHERE\n#define VALUE 1\n")
    (outside / "secret").write_text("TOKEN=hunter2\n")
    (root / "link").symlink_to(outside / "secret")
    monkeypatch.chdir(root)
    return {"root": root, "outside": outside, "secret": outside / "secret"}


SPELLINGS = {
    "absolute": '#include "{secret}"',
    "angled": "#include <{secret}>",
    "upwards": '#include "../outside/secret"',
    "by_a_link": '#include "link"',
    "digraph": '%:include "{secret}"',
    "joined": '#inc\\\nlude "{secret}"',
    "joined_after_a_return": '#inc\\\r\nlude "{secret}"',
    "after_a_comment": '/* a\n b */ # /* c */ include /* d */ "{secret}"',
    "between_texts": 'const char *a = "/*";\n#include "{secret}"\nconst char *b = "*/";',
    "macro": '#define X "{secret}"\n#include X',
    "next": '#include_next "{secret}"',
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_file_of_this_machine_is_included(places: dict[str, Path], spelling: str) -> None:
    pytest.importorskip("cuda.core")
    source = SPELLINGS[spelling].format(secret=places["secret"]) + "\n" + SOURCE
    found = compile_cuda(program(source, {}), "sm_86", places["root"], pytest.fail)
    assert found.status is Status.UNKNOWN
    assert found.message.startswith("not compiled: it includes ")
    assert "TOKEN" not in found.message


@pytest.mark.parametrize(
    ("source", "options", "fields", "message"),
    [
        (SOURCE, {"pre_include": "{secret}"}, {}, "it includes {secret}"),
        ('#include "secret"', {"include_path": ["{outside}"]}, {}, "the include path {outside} is outside of {root}"),
        (SOURCE, {}, {"name_expressions": ('k;\n#include "{secret}"\n',)}, "'k;\\n#include "),
        (SOURCE, {"define_macro": 'X\n#include "{secret}"'}, {}, "the option define_macro is not taken from a tape"),
        (SOURCE, {"ptxas_options": ["-v", "--options-file={secret}"]}, {}, "--options-file="),
        (SOURCE, {"std": "c++17 --pre-include={secret}"}, {}, "the option std is not taken from a tape"),
        (SOURCE, {"extra_sources": "{secret}"}, {}, "the option extra_sources is not taken from a tape"),
        (SOURCE, {"of_tomorrow": True}, {}, "the option of_tomorrow is not taken from a tape"),
        # Past the look at the source: a header of the rootdir includes what a macro names.
        ('#include "leads.h"\n', {"define_macro": ("WHERE", '"{secret}"')}, {}, "a header includes a file that is no"),
    ],
)
def test_no_option_reads_a_file_of_this_machine(
    places: dict[str, Path], source: str, options: dict[str, Any], fields: dict[str, Any], message: str
) -> None:
    pytest.importorskip("cuda.core")

    def filled(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(filled(item) for item in value)
        return value.format(**places) if isinstance(value, str) else value

    hostile = program(
        source,
        {name: filled(value) for name, value in options.items()},
        **{name: filled(value) for name, value in fields.items()},
    )
    found = compile_cuda(hostile, "sm_86", places["root"], lambda: None)
    assert found.status is Status.UNKNOWN
    assert found.message.startswith(f"not compiled: {message.format(**places)}"), found.message
    assert "TOKEN" not in found.message


def test_a_program_is_not_named_so_that_its_includes_are_elsewhere(places: dict[str, Path]) -> None:
    pytest.importorskip("cuda.core")
    named = program('#include "secret"\n' + SOURCE, {}, name=str(places["outside"] / "p.cu"))
    found = compile_cuda(named, "sm_86", places["root"], lambda: None)
    assert found.status is Status.UNKNOWN
    assert found.message.startswith("not compiled: secret is not found here")


def test_options_that_only_write_files_are_left_out(places: dict[str, Path]) -> None:
    pytest.importorskip("cuda.core")
    written = ("time", "fdevice_time_trace", "create_pch")
    options = {**{name: str(places["outside"] / name) for name in written}, "pch": True, "define_macro": ("VALUE", "1")}
    found = compile_cuda(program(SOURCE, options), "sm_86", places["root"], lambda: None)
    assert (found.status, found.message) == (Status.COMPILED, "")
    assert [file.name for file in places["outside"].iterdir()] == ["secret"]


def test_what_programs_use_is_taken(places: dict[str, Path]) -> None:
    """As PyTorch and CuPy give it: folders of CUDA that may not be here, macros, and options of the assembler."""
    pytest.importorskip("cuda.core")
    given = ["-I/usr/local/cuda-0.0/include", "-I", str(places["root"]), "-DN=4", "--std=c++17", "-lineinfo"]
    given += ["--ptxas-options=-v", "-Xptxas", "-O2", "--maxrregcount=64", "--use_fast_math", "-default-device"]
    options, unknown = program_options(given)
    assert unknown is None
    source = '// #include <value.h> and others\n#include "value.h"\n#include <cstddef.h>\n'.replace(
        "<cstddef.h>", "<value.h>"
    )
    found = compile_cuda(program(source + SOURCE, options), "sm_86", places["root"], lambda: None)
    assert (found.status, found.message) == (Status.COMPILED, "")


def test_what_is_nested_too_deeply_costs_its_own_job_alone(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = {"list": [deep]}
    nested = msgspec.structs.replace(program(SOURCE, {}), options={"define_macro": deep})
    sound = program(SOURCE, {"define_macro": ("VALUE", "1")})
    depths = [_nested(sound, depth) for depth in range(100, 1100, 100)]
    found = do(tmp_path, sound, nested, *depths, sound)
    pytest.importorskip("cuda.core")
    assert [found[0].status, found[-1].status] == [Status.COMPILED, Status.COMPILED]
    assert {compiled.status for compiled in found[1:-1]} == {Status.UNKNOWN}
    assert found[1].message == "not compiled: the tape nests its options or constants too deeply"


def _nested(program: CudaProgram, depth: int) -> CudaProgram:
    value: Any = {"function": 1}
    for _ in range(depth):
        value = {"list": [value]}
    return msgspec.structs.replace(program, options={"define_macro": value})
