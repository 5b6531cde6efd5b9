from __future__ import annotations

from typing import Any

import pytest

from pytest_gpumatrix.portability.recording.nvrtc_options import program_options


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--gpu-architecture=sm_90", "-arch=sm_90", "-arch", "sm_90"], {}),
        (["-I/a", "-I", "/b", "--include-path=/c"], {"include_path": ["/a", "/b", "/c"]}),
        (
            ["-DA", "-DB=1=2", "--define-macro=C=3", "-D", "E=4"],
            {"define_macro": ["A", ("B", "1=2"), ("C", "3"), ("E", "4")]},
        ),
        (["-UA", "--undefine-macro=B"], {"undefine_macro": ["A", "B"]}),
        (["-std=c++17"], {"std": "c++17"}),
        (["--std", "c++20"], {"std": "c++20"}),
        (["--use_fast_math", "-lineinfo", "-G"], {"use_fast_math": True, "lineinfo": True, "debug": True}),
        (["--ftz=true", "-ftz=false"], {"ftz": False}),
        (["--fmad=false", "-prec-div=true"], {"fma": False, "prec_div": True}),
        (["--maxrregcount=64", "-maxrregcount", "32"], {"max_register_count": 32}),
        (["-default-device"], {"device_as_default_execution_space": True}),
        (["--pre-include=a.h", "-Xptxas", "-v"], {"pre_include": ["a.h"], "ptxas_options": ["-v"]}),
        (
            ["-w", "--restrict", "-rdc=true"],
            {"disable_warnings": True, "restrict": True, "relocatable_device_code": True},
        ),
        (["--pch", "--time=-", "-DCUPY_USE_JITIFY"], {}),
        ([], {}),
    ],
)
def test_options_of_a_command_line_are_those_of_cuda_core(options: list[str], found: dict[str, Any]) -> None:
    assert program_options(options) == (found, None)


@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        (["-DA", "--fancy", "--other=1"], "option -fancy"),
        (["--other=1"], "option -other=1"),
        (["-dlto"], "option -dlto"),
    ],
)
def test_what_has_no_such_form_is_named(options: list[str], unknown: str) -> None:
    assert program_options(options)[1] == unknown


def test_cuda_core_takes_what_is_found() -> None:
    core = pytest.importorskip("cuda.core")
    if not hasattr(core, "ProgramOptions"):
        pytest.skip("an older cuda-core")
    options = ["-DA=1", "-UB", "-I/a", "-std=c++17", "--ftz=true", "--maxrregcount=64", "-default-device", "-lineinfo"]
    found, _ = program_options(options)
    assert core.ProgramOptions(arch="sm_80", **found)
