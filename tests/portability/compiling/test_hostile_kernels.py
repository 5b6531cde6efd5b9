"""A tape may come from anybody: what it calls a Triton kernel, and its options, do nothing to the machine."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.portability.compiling.assembler_options import refused_assembler_option
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Status
from pytest_gpumatrix.portability.compiling.type_check import refused_type
from pytest_gpumatrix.portability.tape.launch import FunctionReference, TritonKernel
from pytest_gpumatrix.portability.tape.sources import generated_hash
from pytest_gpumatrix.portability.tape.values import encode
from tests.portability.compiling.hostile_jobs import do

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
