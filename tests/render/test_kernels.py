"""The table of kernels on devices: what it says, and that it fits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.judging.kernel_rows import KernelFacts, KernelRow
from pytest_gpumatrix.portability.judging.plan import Judged
from pytest_gpumatrix.portability.judging.tapes import Findings, TapeFacts
from pytest_gpumatrix.portability.tape.launch import Problem
from pytest_gpumatrix.render.kernels import render_kernels
from pytest_gpumatrix.render.kernels_json import render_kernels_json
from pytest_gpumatrix.render.text import width

DEVICES = {name: catalogue.load().resolve(name) for name in ("rtx-3090", "rtx-4090", "h100-sxm")}
COMPILERS = {"triton": "3.7.1"}
FITS = Judgement(fit=Fit.FITS)


def fails(reason: str) -> Judgement:
    return Judgement(fit=Fit.FAILS, reason=reason)


def slow(reason: str) -> Judgement:
    return Judgement(fit=Fit.SLOW, reason=reason)


def row(
    *judgements: Judgement, tests: tuple[str, ...] = ("t.py::a",), configurations: int = 1, **facts: Any
) -> KernelRow:
    given = {"kind": "triton", "name": "matmul", "source_hash": "0" * 64, "file": "kernels.py", "line": 7, **facts}
    return KernelRow(
        encoded=msgspec.json.encode(KernelFacts(**given)),
        configurations=configurations,
        tests=tests,
        devices={name: Judged(judgement=found) for name, found in zip(DEVICES, judgements, strict=True)},
    )


def findings(*rows: KernelRow, capability: str | None = "9.0", **fields: Any) -> Findings:
    native = ComputeCapability.parse(capability) if capability else None
    facts = TapeFacts(path=Path("out/tape"), capability=native, versions={"triton": "3.6.0"}, **fields)
    return Findings(tapes=[facts], devices=DEVICES, rows=rows, problems=[])


NEEDS = "needs 147,456 B of shared memory per block, {} has 101,376 B"
TILES = (
    row(
        fails(NEEDS.format("RTX 3090")),
        fails(NEEDS.format("RTX 4090")),
        FITS,
        signature={"a": "*fp16", "b": "*fp16", "BLOCK": "constexpr"},
        constants={"BLOCK": 256},
        options={"num_warps": 8},
        tests=("t.py::a", "t.py::b"),
    ),
    row(
        slow("spills 8 B per thread (the build for 9.0: 0 B); no tensor cores"),
        FITS,
        FITS,
        signature={"a": "*fp16", "b": "*fp16", "BLOCK": "constexpr"},
        constants={"BLOCK": 64},
        options={"num_warps": 8},
    ),
    row(
        slow("spills 1,024 B per thread (the build for 9.0: 0 B)"),
        FITS,
        FITS,
        signature={"a": "*fp32", "b": "*fp32", "BLOCK": "constexpr"},
        constants={"BLOCK": 64},
        options={"num_warps": 8},
    ),
)


def test_a_whole_table() -> None:
    assert (
        render_kernels(findings(*TILES, row(FITS, FITS, FITS, name="scale")), COMPILERS)
        == """\
Recorded on a GPU of 9.0 (triton 3.6.0); compiled by triton 3.7.1. Slow is said
  against the build for 9.0, where it ran.
rtx-3090: RTX 3090 (8.6), rtx-4090: RTX 4090 (8.9), h100-sxm: H100 SXM (9.0)

                                                      rtx-3090 rtx-4090 h100-sxm
matmul, 3 specialisations
  1 of 3: fp16 BLOCK=256                              ✗        ✗        ⚙
  2 of 3: BLOCK=64                                    ⚙↓       ⚙        ⚙
scale, one specialisation                             ⚙        ⚙        ⚙
⚙ fits  ⚙↓ fits, slow there  ✗ fails

Fails:
matmul  kernels.py:7
  rtx-3090: needs 147,456 B of shared memory per block, RTX 3090 has 101,376 B;
      likewise rtx-4090
    1 of 3: fp16 BLOCK=256
    in t.py::a and 1 more

Slow:
matmul  kernels.py:7
  rtx-3090: at worst spills 1,024 B per thread (the build for 9.0: 0 B)
    2 of 3: BLOCK=64
    in t.py::a
  rtx-3090: no tensor cores
    1 of 3: fp16 BLOCK=64
    in t.py::a

a tape has no marks: what a mark skips on a device is judged for it too
4 kernels x 3 devices: 8 fit, 2 fit and are slow, 2 fail
"""
    )


@pytest.mark.parametrize(
    ("judgement", "kind", "marks", "source"),
    [
        (fails("why"), "triton", True, False),
        (slow("why"), "cuda", False, True),
        (Judgement(fit=Fit.UNKNOWN, reason="why"), "triton", False, False),
    ],
)
def test_what_could_be_taken_for_more_than_it_is_is_said(
    judgement: Judgement, kind: str, marks: bool, source: bool
) -> None:
    text = render_kernels(findings(row(judgement, FITS, FITS, kind=kind)), COMPILERS)
    assert ("a tape has no marks: what a mark skips on a device is judged for it too" in text) is marks
    assert ("CUDA C++ is judged by the source on the tape" in text) is source


def test_what_is_slow_is_told_at_the_worst_of_each_device() -> None:
    def spilling(count: str) -> Judgement:
        return slow(f"spills {count} B per thread (the build for 9.0: 0 B)")

    rows = [row(spilling("188"), spilling("32,368"), FITS), row(spilling("64"), spilling("8"), FITS)]
    text = render_kernels(findings(*rows), COMPILERS, width=120)
    assert "  rtx-4090: at worst spills 32,368 B per thread (the build for 9.0: 0 B); rtx-3090: 188 B\n" in text


def test_colour_and_ascii() -> None:
    whole = findings(*TILES, row(Judgement(fit=Fit.UNKNOWN, reason="why"), FITS, FITS, name="odd"))
    plain, coloured = render_kernels(whole, COMPILERS), render_kernels(whole, COMPILERS, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[31m✗\x1b[0m" in coloured
    assert "\x1b[33m⚙↓\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    ascii_only = render_kernels(whole, COMPILERS, encoding="ascii")
    assert "c fits  cv fits, slow there  ? not known  F fails" in ascii_only
    assert "  1 of 3: fp16 BLOCK=256                              F        F        c" in ascii_only
    assert ascii_only.isascii()


@pytest.mark.parametrize(
    ("capability", "said"),
    [
        (None, "Recorded on a CPU, without a GPU (triton 3.6.0); compiled by triton 3.7.1."),
        (None, "Slow is said against the build for 9.0, as nothing ran on a GPU."),
        ("8.0", "Slow is said against the build for 8.0, where it ran."),
    ],
)
def test_it_says_what_slow_is_held_against(capability: str | None, said: str) -> None:
    text = " ".join(render_kernels(findings(*TILES, capability=capability), COMPILERS).split())
    assert said in text


def test_reasons_that_only_name_the_device_are_told_once() -> None:
    texts = [
        f"no kernel image for {capability}: built for sm_100 only; it would build for {sm}"
        for capability, sm in (("8.6", "sm_86"), ("8.9", "sm_89"), ("9.0", "sm_90"))
    ]
    text = render_kernels(findings(row(*map(fails, texts))), COMPILERS, width=120)
    assert f"  rtx-3090: {texts[0]}; likewise rtx-4090, h100-sxm\n" in text
    assert text.count("no kernel image") == 1
    same = render_kernels(findings(row(*[fails("no such type")] * 3)), COMPILERS)
    assert "  rtx-3090, rtx-4090, h100-sxm: no such type\n" in same
    different = render_kernels(findings(row(fails("needs 8.9"), fails("needs 8.9"), FITS)), COMPILERS)
    assert "rtx-3090: needs 8.9" in different
    assert "rtx-4090: needs 8.9" in different


def test_a_reason_is_told_with_just_the_devices_and_specialisations_that_it_holds_for() -> None:
    rows = [
        row(fails("too old"), fails("too old"), FITS, options={"std": "17"}),
        row(fails("no bf16"), fails("too old"), FITS, options={"std": "20"}),
    ]
    text = render_kernels(findings(*rows), COMPILERS)
    assert "  rtx-3090, rtx-4090: too old\n    1 of 2: std=17\n" in text
    assert "  rtx-3090: no bf16\n    1 of 2: std=20\n" in text
    assert "  rtx-4090: too old\n    1 of 2: std=20\n" in text


def test_autotuned_kernels_say_how_many_configurations() -> None:
    text = render_kernels(findings(row(FITS, FITS, FITS, configurations=12)), COMPILERS)
    assert "matmul, one specialisation (12 configurations)" in text


def test_what_is_cut_off_or_was_not_recorded_is_said() -> None:
    found = findings(*TILES, cut_off=True)
    problems = [Problem(test=f"t{number}", message="a launch of f: OSError") for number in range(8)]
    text = render_kernels(
        Findings(tapes=found.tapes, devices=found.devices, rows=found.rows, problems=problems), COMPILERS
    )
    assert "out/tape is cut off: what came after its last line is not known" in text
    assert text.count("not recorded: t") == 5
    assert "... and 3 more that could not be recorded" in text


def test_many_kernels_are_bounded_and_counted() -> None:
    rows = [row(fails(f"reason {number}"), FITS, FITS, name=f"kernel_{number}") for number in range(500)]
    text = render_kernels(findings(*rows), COMPILERS)
    assert len(text.splitlines()) < 150
    assert "... and 460 more lines; --format json has all" in text
    assert "... and 485 more; --format json has all" in text
    assert len(json.loads("".join(render_kernels_json(findings(*rows), COMPILERS)))["kernels"]) == 500


@example(names=["\r"], reason="", values={}, columns=40)
@example(names=["\n\u2028k"], reason="", values={}, columns=40)
@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(max_size=100), min_size=1, max_size=3),
    st.text(max_size=300),
    st.dictionaries(st.text(max_size=20), st.recursive(st.integers() | st.text(), st.lists, max_leaves=5), max_size=3),
    st.integers(40, 120),
)
def test_hostile_names_neither_break_the_width_nor_reach_the_terminal(
    names: list[str], reason: str, values: dict[str, Any], columns: int
) -> None:
    rows = [
        row(fails(reason), slow(reason), FITS, name=name, file=name, constants=values, options=values, tests=(name,))
        for name in names
    ]
    text = render_kernels(findings(*rows, row(FITS, FITS, FITS, signature=values)), COMPILERS, width=columns)
    assert all(width(line) <= columns for line in text.splitlines())
    assert not set(text) & set("\x1b\x07\x9b\r\u202e\u2028")
    assert "".join(render_kernels_json(findings(*rows), COMPILERS)).isascii()
