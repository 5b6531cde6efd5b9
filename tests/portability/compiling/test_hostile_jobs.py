"""A tape may come from anybody: what it holds is compiled, and does nothing else to the machine that compiles."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.portability.compiling import pool
from pytest_gpumatrix.portability.compiling.assembler_options import refused_assembler_option
from pytest_gpumatrix.portability.compiling.compile_cuda import compile_cuda
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.pool import CompilingProcess, compiling_environment, run_jobs
from pytest_gpumatrix.portability.compiling.type_check import refused_type
from pytest_gpumatrix.portability.recording.nvrtc_options import program_options
from pytest_gpumatrix.portability.tape.launch import CudaProgram, FunctionReference, TritonKernel
from pytest_gpumatrix.portability.tape.sources import generated_hash
from pytest_gpumatrix.portability.tape.values import encode

MARKER = "MARKER"  # in an attack: the file that it writes
HEAD = "import triton\nimport triton.language as tl\nfrom torch._inductor.runtime import triton_helpers\n"
SYSTEM = 'vars(globals()["__builtins__"]["__import__"]("os"))["system"]("touch MARKER")'
BY_ATTRIBUTES = 'triton.runtime.cache.os.system("touch MARKER")'
BY_GETATTR = 'getattr(getattr(getattr(tl.load, "__globals__")["inspect"], "os"), "system")("touch MARKER")'
IMPORT = '__import__("os").system("touch MARKER")'
# Triton looks for the first line that begins with "def". Here it stands in a text: what follows is another function
# than Python's, whose docstring is its code.
HIDDEN = '''
DECORATOR"""
def k(x):
    """)
def k(x):
    """
    EVIL
    """
    tl.store(x, 1.0)  # """
'''.replace("EVIL", BY_ATTRIBUTES)


def kernel(body: str = "pass", *, arguments: str = "x", returns: str = "", decorator: str = "@triton.jit") -> str:
    return f"{decorator}\ndef k({arguments}){returns}:\n    {body}\n    tl.store(x, 1.0)\n"


ATTACKS = {
    "default": kernel(arguments=f"x, z={SYSTEM}"),
    "default_of_a_keyword": kernel(arguments=f"x, *, z={SYSTEM}"),
    "default_of_a_plain_function": f"def h(z={SYSTEM}):\n    pass\n" + kernel(),
    "default_of_attributes": kernel(arguments="x, z=triton.runtime.cache.os.system('touch MARKER')"),
    "returns": kernel(returns=f" -> {IMPORT}"),
    "annotated_assignment": f"y: {IMPORT} = 1\n" + kernel(),
    "annotation_without_a_value": f"y: {SYSTEM}\n" + kernel(),
    "annotated_parameter": kernel(arguments=f"x: {SYSTEM}"),
    "annotated_rest": kernel(arguments=f"x, *rest: {SYSTEM}"),
    "decorator": kernel(decorator=f"@{SYSTEM}\n@triton.jit"),
    "argument_of_jit": kernel(decorator=f"@triton.jit(debug={SYSTEM})"),
    "class_body": f"class A:\n    y = {SYSTEM}\n" + kernel(),
    "base_class": f"class A({SYSTEM}):\n    pass\n" + kernel(),
    "text_with_a_value": 'y = f\'{__import__("os").system("touch MARKER")}\'\n' + kernel(),
    "comprehension": f"y = [{SYSTEM} for i in range(1)]\n" + kernel(),
    "subscript": f"y = [1][{SYSTEM}]\n" + kernel(),
    "constexpr": f"y = tl.constexpr({SYSTEM})\n" + kernel(),
    "shadowed_triton": "from triton.language import core as triton\n" + kernel(),
    "constexpr_that_is_another": "tl = triton_helpers\ny = tl.constexpr(1)\n" + kernel(),
    "star": "from os import *\nsystem('touch MARKER')\n" + kernel(),
    "star_of_triton": "from triton.runtime.cache import *\n" + kernel("os.system('touch MARKER')"),
    "other_module": "from triton.tools import compile as c\n" + kernel(),
    "module_of_the_same_beginning": "from triton_evil import x as c\n" + kernel(),
    "in_the_body": kernel(f"tl.static_print({SYSTEM})"),
    "in_the_body_by_getattr": kernel(BY_GETATTR),
    "name_that_may_have_no_value": kernel(f"if 0 == 1:\n        getattr = 1\n    {BY_GETATTR}"),
    "breakpoint": kernel("breakpoint()"),
    "lambda": kernel("(lambda: 1)()"),
    "nested_function": kernel("def inner():\n        pass"),
    "constexpr_function": f"@triton.constexpr_function\ndef h():\n    return {SYSTEM}\n" + kernel("h()"),
    "inductors_own_imports": "from torch._inductor.runtime import triton_heuristics\n"
    + kernel("triton_heuristics.os.system('touch MARKER')"),
    "attributes_of_helpers": kernel("triton_helpers.warnings.sys.modules['os'].system('touch MARKER')"),
    "call_of_a_call": kernel("tl.load(x)(x)"),
    "source_in_a_text": "from torch._inductor.runtime import triton_heuristics\n"
    + HIDDEN.replace("DECORATOR", "@triton.jit\n@triton_heuristics.pointwise(meta="),
    "source_in_a_text_of_jit": HIDDEN.replace("DECORATOR", "@triton.jit(debug="),
}
if sys.version_info >= (3, 12):
    ATTACKS["parameter_of_types"] = kernel().replace("def k(", f"def k[T: {IMPORT}](")
OPTIONS_OF_TRITON: list[tuple[dict[str, Any], str]] = [
    ({"ptx_options": "-o MARKER"}, "-o of ptx_options"),
    ({"ptx_options": "--options-file SECRET"}, "--options-file of ptx_options"),
    ({"ptx_options": "-O3,-optf=SECRET"}, "-optf=SECRET of ptx_options"),
    ({"extern_libs": {"libdevice": "SECRET"}}, "extern_libs names SECRET, and only Triton's own"),
    ({"ir_override": "SECRET.ttir"}, "the option ir_override"),
    ({"instrumentation_mode": "consan"}, "the option instrumentation_mode"),
    ({"backend_name": "other"}, "the option backend_name"),
    ({"arch": "sm_90"}, "the option arch"),
]
TAKEN_BY_TRITON: list[dict[str, Any]] = [
    {"num_warps": 8, "num_stages": 2, "maxnreg": 64, "enable_fp_fusion": False, "launch_pdl": True},
    {"ptx_options": "-O1 --maxrregcount=64 -v"},
    {"ir_override": None, "extern_libs": None, "backend_name": "cuda", "instrumentation_mode": ""},
]
TYPES = {
    "type_layout": "tensordesc<fp32[1],__import__('os').system('touch MARKER')>",
    "type_in_a_pointer": "*tensordesc<fp32[1],__import__('os').system('touch MARKER')>",
    "type_in_a_layout": "tensordesc<fp32[1],NVMMASharedLayout(__import__('os').system('touch MARKER'))>",
}
REFUSED_TYPE = "not compiled: .* is no type of a parameter"


def generated(text: str, **fields: Any) -> TritonKernel:
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    reference = FunctionReference(
        module="generated",
        qualname="k",
        file="generated.py",
        line=1,
        source_hash=generated_hash(text, torch.__version__),
        text=text,
    )
    options = {
        name: encode(value, lambda _: pytest.fail("a function")) for name, value in fields.pop("options", {}).items()
    }
    given = {"signature": {"x": "*fp32"}, "constants": (), "attributes": (), "options": options, **fields}
    return TritonKernel(function=reference, **given)


def do(folder: Path, *kernels: TritonKernel | CudaProgram) -> list[Compiled]:
    """Each as it is done in a compiling process."""
    own = {**compiling_environment(os.environ), "TRITON_CACHE_DIR": str(folder / "cache")}
    process = CompilingProcess(folder, sys.path, own)
    try:
        return [process.ask(Job(kernel=kernel, arch="sm_86")) for kernel in kernels]
    finally:
        process.stop()
        process.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Compiled]]:
    folder = tmp_path_factory.mktemp("attacked")
    kernels = [generated(HEAD + text.replace(MARKER, str(folder / name))) for name, text in ATTACKS.items()]
    kernels += [
        generated(HEAD + kernel(), signature={"x": kind.replace(MARKER, str(folder / name))})
        for name, kind in TYPES.items()
    ]
    return folder, dict(zip([*ATTACKS, *TYPES], do(folder, *kernels), strict=True))


@pytest.mark.parametrize("name", [*ATTACKS, *TYPES])
def test_what_a_tape_calls_a_kernel_runs_nothing(attacked: tuple[Path, dict[str, Compiled]], name: str) -> None:
    folder, found = attacked
    assert not (folder / name).exists()
    assert found[name].status is Status.UNKNOWN, found[name].message
    refused = (
        "cannot be rebuilt: the (generated module is not as|source of k is not)" if name in ATTACKS else REFUSED_TYPE
    )
    assert re.match(refused, found[name].message), found[name].message  # before it runs, and not by chance


def test_types_that_are_recorded_are_taken() -> None:
    layout = (
        "NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2, transposed=False, cga_layout=[[-1]])"
    )
    kinds = ["*fp16", "i32", "constexpr", "tensordesc<fp16[64, 64]>", f"tensordesc<fp16[64, 64],{layout}>", ["u1", []]]
    assert refused_type(kinds) is None


def test_options_that_name_files_are_not_taken_from_a_tape(tmp_path: Path) -> None:
    secret = tmp_path / "SECRET"
    secret.write_text("TOKEN=hunter2")
    rows = [(options, message) for options, message in OPTIONS_OF_TRITON]
    found = do(tmp_path, *(generated(HEAD + kernel(), options=options) for options, _ in rows))
    for (options, message), compiled in zip(rows, found, strict=True):
        assert compiled.status is Status.UNKNOWN, options
        assert compiled.message.startswith(f"not compiled: {message}"), options
    assert not (tmp_path / MARKER).exists()


def test_options_of_a_launch_are_taken(tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    library = Path(triton.__file__).parent / "backends/nvidia/lib/libdevice.10.bc"
    taken = [*TAKEN_BY_TRITON, {"extern_libs": {"libdevice": str(library)}}]
    found = do(tmp_path, *(generated(HEAD + kernel(), options=options) for options in taken))
    assert [(compiled.status, compiled.message) for compiled in found] == [(Status.COMPILED, "")] * len(taken)


def test_an_option_that_triton_does_not_know_ends_the_launch_as_ever(tmp_path: Path) -> None:
    [found] = do(tmp_path, generated(HEAD + kernel(), options={"num_wraps": 4}))
    assert (found.status, found.message) == (
        Status.REFUSED,
        "Keyword argument num_wraps was specified but unrecognised",
    )


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("", None),
        ("-v -O3 --fmad=false --maxrregcount 32,-dlcm=ca,-w", None),
        ("-O3 -o x", "-o"),
        ("--output-file=x", "--output-file=x"),
        ("-v,-optf,x", "-optf"),
        ("-v\n-o", "-o"),
        ("/etc/passwd", "/etc/passwd"),
        ("-maxrregcount=/etc/passwd", "-maxrregcount=/etc/passwd"),
    ],
)
def test_options_of_the_assembler(text: str, refused: str | None) -> None:
    assert refused_assembler_option(text) == refused


SOURCE = 'extern "C" __global__ void k(float *x) { x[0] = VALUE; }\n'


def program(source: str, options: Mapping[str, Any], name: str = "p", **fields: Any) -> CudaProgram:
    encoded = {name: encode(value, lambda _: pytest.fail("a function")) for name, value in options.items()}
    return CudaProgram(
        name=name,
        source=source,
        code_type="c++",
        target_type="cubin",
        arch="",
        follows_device=True,
        options=encoded,
        **fields,
    )


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


# Starts a process of its own, as Triton starts the assembler, and says which.
STARTING_WORKER = """
import os, pathlib, subprocess, sys, time, msgspec
from pytest_gpumatrix.portability.compiling.compile_job import Started

own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
pathlib.Path(sys.argv[2], "pids.part").write_text(f"{os.getpid()} {own.pid}")
os.rename(pathlib.Path(sys.argv[2], "pids.part"), pathlib.Path(sys.argv[2], "pids"))
os.write(1, msgspec.json.encode(Started()) + b"\\n")
END
"""


def pids_of(folder: Path) -> Iterator[int]:
    yield from map(int, (folder / "pids").read_text().split())


def has_ended(pid: int) -> bool:
    """Gone, or a zombie, which nobody here may reap."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for_end(pids: list[int]) -> None:
    while not all(map(has_ended, pids)):
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("end", ["time.sleep(3600)", "os.abort()"])
def test_what_a_compiling_process_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(pool, "_START", STARTING_WORKER.replace("END", end))
    jobs = [Job(kernel=program(SOURCE, {}), arch="sm_86")]
    while not (tmp_path / "pids").exists():  # a slow machine may need more time to come so far
        list(
            run_jobs(
                jobs,
                processes=1,
                start=lambda: CompilingProcess(tmp_path, sys.path, compiling_environment(os.environ)),
                budget_seconds=2.0,
            )
        )
    wait_for_end(list(pids_of(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_process_and_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    tape = tmp_path / "launches.tape.jsonl"
    header = {"record": "header", "schema": 4, "rootdir": str(tmp_path), "sys_path": [], "capability": None}
    launch = {"record": "launch", "test": "t", "kernel": msgspec.to_builtins(program(SOURCE, {}))}
    tape.write_bytes(b"\n".join(map(msgspec.json.encode, [{**header, "versions": {}}, launch])) + b"\n")
    script = (
        "import signal, sys\nfrom pytest_gpumatrix.portability.compiling import pool\n"
        "from pytest_gpumatrix import cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"pool._START = {STARTING_WORKER.replace('END', 'time.sleep(3600)')!r}\n"
        f"sys.exit(cli.main(['compile', {str(tape)!r}, '--devices', '8.6']))"
    )
    environment = {**os.environ, "TMPDIR": str(temporary), "GPUMATRIX_CACHE_DIR": str(tmp_path / "cache")}
    command = subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        while not (tmp_path / "pids").exists():
            assert command.poll() is None, command.communicate()
        command.send_signal(number)
        command.communicate()
    finally:
        command.kill()
    assert command.returncode == 128 + number
    wait_for_end(list(pids_of(tmp_path)))
    assert list(temporary.iterdir()) == []
