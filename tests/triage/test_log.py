"""Which exceptions, which fatal lines and which noise a log holds."""

# ruff: noqa: E501 - messages are as long as they are

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.triage.cause import Category, Confidence
from pytest_gpumatrix.triage.classify import classify_log
from pytest_gpumatrix.triage.failure_text import FailureText, Source
from pytest_gpumatrix.triage.log import parted, read_log
from pytest_gpumatrix.triage.log_lines import read_line

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
CHAINED = """\
Traceback (most recent call last):
  File "/app/kernels.py", line 3, in launch
    run()
ValueError: no plan

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/train.py", line 9, in step
    raise RuntimeError("step failed") from error
RuntimeError: step failed
"""
HANDLED_THEN_LAST = """\
Traceback (most recent call last):
  File "/app/a.py", line 3, in a
    launch()
RuntimeError: CUDA error: no kernel image is available for execution on the device
using the reference
Traceback (most recent call last):
  File "/app/b.py", line 3, in b
    x.view(3)
RuntimeError: shape '[3]' is invalid for input of size 4
"""
REPORTS = """\
=================================== FAILURES ===================================
____________________________________ test_a ____________________________________

    def test_a():
>       kernel()  # CUDA out of memory. Tried to allocate
E       RuntimeError: CUDA error: an illegal memory access was encountered

tests/test_a.py:3: RuntimeError
____________________________________ test_b ____________________________________

    def test_b():
>       torch.ones(1).cuda()
E       torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.

tests/test_a.py:7: OutOfMemoryError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_a - RuntimeError: CUDA error: an illegal memory access was encountered
"""


def exceptions(text: str) -> list[list[str]]:
    return [[one.text.split("\n")[0] for one in failure] for failure in read_log(text).failures]


def test_a_chain_has_the_innermost_first() -> None:
    assert exceptions(CHAINED) == [["ValueError: no plan", "RuntimeError: step failed"]]


def test_of_several_tracebacks_the_last_goes_first() -> None:
    found = exceptions(HANDLED_THEN_LAST)
    assert [failure[0][:12] for failure in found] == ["RuntimeError", "RuntimeError"]
    assert "shape" in found[0][0]
    assert classify_log(HANDLED_THEN_LAST).category.value == "genuine_failure"


def test_of_several_reports_the_first_goes_first_and_source_code_is_not_read() -> None:
    assert [failure[0][:40] for failure in exceptions(REPORTS)] == [
        "RuntimeError: CUDA error: an illegal mem",
        "torch.OutOfMemoryError: CUDA out of memo",
    ]
    assert classify_log(REPORTS).category.value == "sticky_crash"


@pytest.mark.parametrize(
    "prefix",
    [
        "2025-01-01T10:00:00.1234567Z ",
        "[rank3]: ",
        "[1,2]<stderr>: ",
        "(EngineCore_0 pid=88) ERROR 07-01 12:00:00 [core.py:700] ",
        "ERROR:root:",
        "E0715 10:12:01.331 8812 launcher.py:8] ",
        "  | ",
        "2025-01-01 10:00:00,123 - ERROR - ",
        "[gw3] ",
        "\x1b[31m",
    ],
)
def test_what_a_launcher_writes_before_a_line_is_put_aside(prefix: str) -> None:
    lines = ["Traceback (most recent call last):", '  File "/app/a.py", line 1, in <module>', OOM]
    assert exceptions("\n".join(prefix + line for line in lines)) == [[OOM]]


@pytest.mark.parametrize(
    "line",
    [
        "WARNING  mylib:attn.py:33 no kernel image is available for execution on the device",
        "[warning] ptxas fatal : Value 'sm_89' is not defined for option 'gpu-name'",
        "W0101 10:00:00.000 88 x.py:3] CUDA out of memory. Tried to allocate 2 GiB",
        "a.py:3: UserWarning: no kernel image is available for execution on the device",
        "a.py:3: UserWarning: \nRTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n  warnings.warn(",
        "out of resource: shared memory, Required: 131072, Hardware limit: 101376. Ignoring this choice.",
        "no kernel image is available for execution on the device, falling back to torch",
        "INFO: CUDA out of memory. Tried to allocate 2 GiB; retried",
    ],
)  # fmt: skip
def test_a_warning_is_not_a_failure_beside_another(line: str) -> None:
    failed = 'Traceback (most recent call last):\n  File "/a.py", line 1, in f\nRuntimeError: layer 3 gave nothing\n'
    assert classify_log(f"{line}\n{failed}").category.value == "genuine_failure"
    assert classify_log(line).category.value != "genuine_failure"
    assert classify_log(line).confidence.value == "low"


def test_words_that_only_follow_give_way_to_the_cause() -> None:
    text = f"[rank1]: {OOM}\n[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.\nChildFailedError: \n"
    assert classify_log(text).category.value == "device_oom"
    assert classify_log("RuntimeError: NCCL communicator was aborted on rank 0.").category.value == "genuine_failure"


def test_output_beside_an_exception_is_less_sure() -> None:
    text = "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.\n"
    log = f"nvcc fatal   : Unsupported gpu architecture 'compute_100'\n{text}"
    assert classify_log(log).category.value == "toolchain_unknown_arch"
    assert classify_log(log).confidence.value == "medium"


@pytest.mark.parametrize(
    ("line", "quiet"),
    [
        ("W: the disk is slow", True),
        ("WARN the disk is slow", True),
        ("DeprecationWarning: soon", True),
        ("no kernel image; FALLING BACK to torch", True),
        ("node:1 NCCL INFO no P2P", True),
        ("node:1 NCCL WARN Cuda failure", False),
        ("Window of 3 is too small", False),
        ("the feedback is negative", False),
        ("CUDA error: misaligned address", False),
    ],
)
def test_which_lines_are_quiet(line: str, quiet: bool) -> None:
    assert read_line(line).quiet is quiet


def test_a_candidate_that_a_log_ignores_is_taken_back() -> None:
    text = "step 3\nCUDA error: misaligned address\n  in kernel 3\nIgnoring this choice.\nstep 4"
    quiet = "CUDA error: misaligned address\n  in kernel 3\nIgnoring this choice."
    parts = [(part.source, part.text) for part in parted(FailureText(text=text, source=Source.OUTPUT))]
    assert parts[0] == (Source.OUTPUT, "step 3\nstep 4")
    assert sorted(parts[1][1].split("\n")) == sorted(quiet.split("\n"))


def test_captured_output_is_parted() -> None:
    text = FailureText(text="\x1b[1mCUDA error\x1b[0m\r\nWARNING: odd\n", source=Source.OUTPUT)
    assert [(part.source, part.text) for part in parted(text)] == [
        (Source.OUTPUT, "CUDA error"),
        (Source.WARNING, "odd"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "E       AssertionError: fp8e4nv data type is not supported on CUDA arch < 89\n\ntests/test_fp8.py:3: AssertionError",
        "E       assert 'no kernel image is available for execution on the device' in ''",
        "Failed: DID NOT RAISE <class 'torch.OutOfMemoryError'>",
        "AssertionError: got 'CUDA out of memory. Tried to allocate 3 GiB' instead",
    ],
)
def test_a_tests_own_assertion_only_quotes(text: str) -> None:
    assert classify_log(text).category.value == "genuine_failure"


def test_an_assertion_of_a_library_counts() -> None:
    text = "E       AssertionError: fp8e4nv data type is not supported on CUDA arch < 89\n\n/venv/site-packages/tests/a.py:3: AssertionError"
    assert classify_log(text).category.value == "arch_feature"


def test_the_end_of_a_long_log_is_read() -> None:
    log = "\n".join(f"step {number} loss 3.2" for number in range(200_000)) + f"\n{OOM}\n"
    assert exceptions(log) == [[OOM]]


def test_the_middle_of_a_long_log_is_read() -> None:
    quiet = "\n".join(f"step {number} loss 3.2" for number in range(100_000))
    assert exceptions(f"{quiet}\n{OOM}\n{quiet}") == [[OOM]]


@settings(deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("E> :\n\r\x1b[]()=_-|WTraceback(most recent call last)Error:0123\"'"), max_size=600
    )
)
def test_any_log_is_read(text: str) -> None:
    cause = classify_log(text)
    assert "\n" not in cause.evidence


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([*CHAINED.split("\n"), *REPORTS.split("\n"), *HANDLED_THEN_LAST.split("\n"), ""]), max_size=40
    )
)
def test_any_order_of_lines_is_read(lines: list[str]) -> None:
    log = read_log("\n".join(lines))
    assert all(failure for failure in log.failures)


def test_a_text_without_a_failure_is_answered_at_low_confidence() -> None:
    cause = classify_log("collected 3 items\n3 passed in 0.1s\n")
    assert (cause.category, cause.confidence) == (Category.GENUINE_FAILURE, Confidence.LOW)
    assert "no failure" in cause.advice


def test_one_of_several_failures_is_said_to_be_one() -> None:
    one = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: bad shape {}\n\n'
    assert classify_log(one.format(1)).note == ""
    assert classify_log(one.format(1) + one.format(2)).note.startswith("of 2 failures")
