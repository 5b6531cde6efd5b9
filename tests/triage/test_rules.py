"""The rules as data: read strictly, ordered, each of use, and safe on hostile text."""

# ruff: noqa: E501 - messages are as long as they are

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.triage import rules as rules_module
from pytest_gpumatrix.triage.cause import Action, Category
from pytest_gpumatrix.triage.classify import classify_log
from pytest_gpumatrix.triage.rules import Rule, load_rules
from pytest_gpumatrix.triage.situation import Condition
from tests.triage.corpus import EXAMINED, FAMILIES, corpus, held_out

FOLDER = Path(rules_module.__file__).with_name("rules")
# What the held-out texts do not reach.
OTHERS = {
    "limit-exceeded": "needs 300 threads per block, the device has 100",
    "cluster-size": "CUDA error: cudaErrorInvalidClusterSize",
    "dsl-arch": "OpError: expects arch to be sm_100a",
    "compiler-arch-support": "wgmma requires sm_90a",
    "llvm-cannot-select": "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.wait.st",
    "triton-clusters": "ValueError: num_ctas > 1 not supported for this GPU",
    "mig": "MIG mode is not supported by this test",
    "nvls-state": "NVLink fabric is not ready",
    "named-symbol-not-found": "CUDA error: named symbol not found",
    "gpu-error-without-a-name": "CUDA error: unknown error",
    "died-in-symmetric-memory": "exit code -8 (SIGFPE) inside symm_mem.rendezvous()",
    "windows": "RuntimeError: Windows not yet supported for torch.compile",
    "wsl": "NCCL WARN Could not find real path of /sys/class/pci_bus/0000:21",
    "nccl-says-no-more": "RuntimeError: NCCL Error 1: unhandled cuda error",
    "no-room-for-cache": "ValueError: No available memory for the cache blocks.",
    "build-without-device": "RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    "nvml-fails": "Failed to initialize NVML: Unknown Error",
}
PATTERNS = [
    (rule, pattern)
    for rule in load_rules()
    for pattern in (
        *rule.any_,
        rule.unless,
        *(case.with_ for case in rule.cases),
        *(case.without for case in rule.cases),
    )
    if pattern
]


def test_the_order_is_that_of_the_table() -> None:
    order = yaml.safe_load((FOLDER / "order.yml").read_text(encoding="utf-8"))
    assert order == [
        "toolchain_unknown_arch", "driver_platform", "broken_install", "arch_feature", "arch_gate", "no_kernel_image",
        "library_no_engine", "onchip_limit", "device_oom_shared", "host_memory", "device_oom", "gpu_topology", "device_state",
        "sticky_crash", "numeric_mismatch", "ambiguous", "genuine_failure",
    ]  # fmt: skip
    assert {path.stem for path in FOLDER.glob("*.yml")} == {*order, "order"}


def test_names_are_unique() -> None:
    names = [rule.rule for rule in load_rules()]
    assert len(set(names)) == len(names)


def test_every_rule_is_hit_by_an_example() -> None:
    cases = [*corpus(), *held_out(FAMILIES), *held_out(EXAMINED)]
    hit = {case.cause().rule for case in cases} | {classify_log(text).rule for text in OTHERS.values()}
    assert {rule.rule for rule in load_rules()} - hit == set()


@pytest.mark.parametrize(("rule", "text"), OTHERS.items())
def test_a_rule_is_hit(rule: str, text: str) -> None:
    assert classify_log(text).rule == rule


@pytest.mark.parametrize(("rule", "pattern"), PATTERNS, ids=lambda value: value.rule if isinstance(value, Rule) else "")
def test_a_pattern_is_in_lower_case_and_never_without_a_bound(rule: Rule, pattern: str) -> None:
    plain = re.sub(r"\\w\+|\\.|\[(?:\\.|[^\]])*\]", "", pattern)
    assert plain == plain.lower(), "texts are searched in lower case"
    assert not set("*+") & set(plain), "a repetition states how often; only one of word characters may go on"
    assert rule.advice.endswith(".")


def test_every_condition_is_asked_by_a_rule() -> None:
    assert {condition for rule in load_rules() for case in rule.cases for condition in case.when} == set(Condition)


def test_a_row_that_cannot_be_read_is_refused() -> None:
    row = {"rule": "x", "category": "arch_gate", "any": ["x"], "action": "skip", "advice": "."}
    assert msgspec.convert(row, Rule).category is Category.ARCH_GATE
    for wrong in ({**row, "when": ["sunny"]}, {**row, "action": "ignore"}, {**row, "cases": [{"when": ["sunny"]}]}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, Rule)


@pytest.mark.parametrize("text", ["first then second", "second then first"])
def test_of_several_patterns_the_first_place_in_the_text_decides(text: str) -> None:
    rule = Rule(rule="x", category=Category.ARCH_GATE, any_=("first", "second"), action=Action.SKIP, advice=".")
    match = rule.find(text)
    assert match is not None
    assert match.start() == 0


_FRAGMENTS = sorted({word for case in held_out(FAMILIES) for word in re.findall(r"\S{2,24}", case.text)})


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(_FRAGMENTS), min_size=1, max_size=4), st.integers(1_000, 60_000), st.sampled_from(" \n")
)
def test_a_long_hostile_text_is_answered(fragments: list[str], length: int, between: str) -> None:
    text = (between.join(fragments) + between) * (length // 8)
    cause = classify_log(text[:length])
    assert len(cause.evidence) <= 300
