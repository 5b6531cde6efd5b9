"""The forms that marks may take, and what is said of those they may not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.gate.marks import parse_gpu, parse_gpu_xfail
from pytest_gpumatrix.gate.requirement import Otherwise
from pytest_gpumatrix.gate.specifier import allows
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Feature
from pytest_gpumatrix.triage.cause import Category


@dataclasses.dataclass(frozen=True)
class Mark:
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


def mark(*args: Any, **kwargs: Any) -> Mark:
    return Mark(args, kwargs)


def test_a_bare_mark_asks_for_any_gpu() -> None:
    requirement = parse_gpu(mark())
    assert requirement.capabilities is None
    assert (requirement.target, requirement.memory, requirement.count) == (None, 0, 1)
    assert requirement.interpret is None


def test_all_keywords() -> None:
    requirement = parse_gpu(
        mark(
            ">=8.0",
            memory="20GiB",
            count=2,
            shared_memory="160KiB",
            modules=["flash_attn>=2.7", "a.b"],
            features=["fp8", "tma"],
            otherwise="xfail",
            interpret=True,
        )
    )
    assert requirement.capabilities is not None
    assert allows(requirement.capabilities, ComputeCapability(8, 0))
    assert requirement.memory == 20 * 2**30
    assert requirement.shared_memory == 160 * 2**10
    assert requirement.count == 2
    assert [module.name for module in requirement.modules] == ["flash_attn", "a.b"]
    assert requirement.features == {Feature.FP8, Feature.TMA}
    assert requirement.otherwise is Otherwise.XFAIL
    assert requirement.interpret is True
    assert requirement.text.startswith("'>=8.0', memory='20GiB', count=2")


@pytest.mark.parametrize(
    ("specifier", "yes", "no"),
    [
        (">=9.0", ["9.0", "10.0", "12.0"], ["8.9", "7.5"]),
        (">=8.9,<10", ["8.9", "9.0"], ["8.6", "10.0", "12.0"]),
        ("==9.0", ["9.0"], ["8.9", "9.1", "10.0"]),
        ("==8.*", ["8.0", "8.6", "8.9"], ["7.5", "9.0"]),
        ("!=8.6", ["8.0", "9.0"], ["8.6"]),
        ("<9", ["8.9"], ["9.0"]),
        ("~=8.6", ["8.6", "8.9"], ["8.0", "9.0"]),
        (" >= 8.0 , < 9.0 ", ["8.0", "8.9"], ["9.0"]),
    ],
)
def test_specifiers_compare_numbers(specifier: str, yes: list[str], no: list[str]) -> None:
    capabilities = parse_gpu(mark(specifier)).capabilities
    assert capabilities is not None
    assert [text for text in yes + no if allows(capabilities, ComputeCapability.parse(text))] == yes


@pytest.mark.parametrize(
    ("target", "runs_on"),
    [("sm_90a", ["9.0"]), ("SM90a", ["9.0"]), ("sm_100f", ["10.0", "10.3"]), ("sm_120a", ["12.0"])],
)
def test_targets(target: str, runs_on: list[str]) -> None:
    parsed = parse_gpu(mark(target)).target
    assert parsed is not None
    assert [str(capability) for capability in parsed.capabilities] == runs_on


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (mark("90"), r'">=9\.0"'),
        (mark("sm_80"), r'">=8\.0"'),
        (mark("120"), r'">=12\.0"'),
        (mark("sm_80a"), "begin with sm_90a"),
        (mark("sm_90f"), "no family target"),
        (mark("hopper"), "write gpu"),
        (mark(">=90"), r"9\.0"),
        (mark(">=120"), r"12\.0"),
        (mark(">=8.0.1"), "not a specifier"),
        (mark(""), "not a specifier"),
        (mark(9.0), "not a specifier: 9.0"),
        (mark(">=8.0", "<9.0"), "one specifier, not 2"),
        (mark(mem="20GiB"), "no keyword 'mem'; it takes memory"),
        (mark(memory="20"), "unit|write"),
        (mark(memory=20), 'text with a unit, such as "20GiB"'),
        (mark(count=0), "1 or more"),
        (mark(count=True), "1 or more"),
        (mark(features=["fp12"]), "known: bf16, fp8"),
        (mark(features="fp8"), "list of text"),
        (mark(features=[8]), "8 is none"),
        (mark(modules=["a b"]), "not a module"),
        (mark(modules=["flash-attn"]), "import name"),
        (mark(modules=["a[b]"]), "import name"),
        (mark(otherwise="fail"), '"skip" or "xfail"'),
        (mark(interpret="yes"), "True or False"),
    ],
)
def test_a_mark_that_cannot_be_read_says_the_right_form(bad: Mark, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_gpu(bad)


def test_gpu_xfail_by_specifier() -> None:
    expected = parse_gpu_xfail(mark("<8.9", cause="arch_feature", raises=RuntimeError, reason="e4m3 needs 8.9"))
    assert expected.capabilities is not None
    assert expected.device is None
    assert expected.cause is Category.ARCH_FEATURE
    assert expected.raises == (RuntimeError,)
    assert expected.strict is True


def test_gpu_xfail_by_device() -> None:
    expected = parse_gpu_xfail(mark("rtx3090", strict=False))
    assert expected.device == "rtx3090"
    assert expected.capabilities is None
    assert expected.raises == ()
    assert expected.strict is False


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (mark(), "one device or specifier"),
        (mark("", reason="x"), "one device or specifier"),
        (mark("<8.9", "rtx3090"), "one device or specifier"),
        (mark("80"), r'">=8\.0"'),
        (mark("sm_80"), r'">=8\.0"'),
        (mark("<8.9", cause="bug"), "known: no_kernel_image"),
        (mark("<8.9", raises="RuntimeError"), "exception class"),
        (mark("<8.9", raises=(RuntimeError, 3)), "exception class"),
        (mark("<8.9", reason=3), "reason must be text"),
        (mark("<8.9", strict="no"), "True or False"),
        (mark("<8.9", why="x"), "no keyword 'why'"),
    ],
)
def test_a_gpu_xfail_that_cannot_be_read_says_the_right_form(bad: Mark, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_gpu_xfail(bad)


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_gpu, parse_gpu_xfail):
        try:
            parse(mark(text))
        except ValueError as error:
            assert str(error)  # noqa: PT017 - no other exception may leave it
