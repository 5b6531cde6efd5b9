from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Feature

CATALOGUE = catalogue.load()
BF16, FP8, FP4 = Feature.BF16, Feature.FP8, Feature.FP4
TMA, WGMMA, CLUSTERS, TCGEN05 = Feature.TMA, Feature.WGMMA, Feature.CLUSTERS, Feature.TCGEN05


@pytest.mark.parametrize(
    ("capability", "per_block", "per_sm", "threads", "blocks"),
    [
        ("7.0", 98_304, 98_304, 2048, 32),
        ("7.5", 65_536, 65_536, 1024, 16),
        ("8.0", 166_912, 167_936, 2048, 32),
        ("8.6", 101_376, 102_400, 1536, 16),
        ("8.7", 166_912, 167_936, 1536, 16),
        ("8.9", 101_376, 102_400, 1536, 24),
        ("9.0", 232_448, 233_472, 2048, 32),
        ("10.0", 232_448, 233_472, 2048, 32),
        ("10.3", 232_448, 233_472, 2048, 32),
        ("11.0", 232_448, 233_472, 1536, 24),
        ("12.0", 101_376, 102_400, 1536, 24),
        ("12.1", 101_376, 102_400, 1536, 24),
    ],
)
def test_limits(capability: str, per_block: int, per_sm: int, threads: int, blocks: int) -> None:
    limits = CATALOGUE.limits(ComputeCapability.parse(capability))
    assert (limits.shared_memory_per_block, limits.shared_memory_per_sm) == (per_block, per_sm)
    assert (limits.threads_per_sm, limits.blocks_per_sm, limits.threads_per_block) == (threads, blocks, 1024)
    assert (limits.registers_per_thread, limits.registers_per_block, limits.registers_per_sm) == (
        255,
        65_536,
        65_536,
    )


def test_the_largest_clusters_are_told_where_a_source_tells_them() -> None:
    found = {str(capability): limits.blocks_per_cluster for capability, limits in CATALOGUE.architectures.items()}
    assert {name: blocks for name, blocks in found.items() if blocks is not None} == {"9.0": 16, "10.0": 16, "11.0": 8}
    unlisted = CATALOGUE.for_gpu("NVIDIA Unheard", ComputeCapability(9, 5), memory=1)
    assert unlisted.limits.blocks_per_cluster is None


@pytest.mark.parametrize(
    ("capability", "architecture", "features"),
    [
        ("7.0", "Volta", set()),
        ("7.5", "Turing", set()),
        ("8.0", "Ampere", {BF16}),
        ("8.6", "Ampere", {BF16}),
        ("8.7", "Ampere", {BF16}),
        ("8.9", "Ada", {BF16, FP8}),
        ("9.0", "Hopper", {BF16, FP8, TMA, WGMMA, CLUSTERS}),
        ("10.0", "Blackwell", {BF16, FP8, FP4, TMA, CLUSTERS, TCGEN05}),
        ("10.3", "Blackwell", {BF16, FP8, FP4, TMA, CLUSTERS, TCGEN05}),
        ("11.0", "Blackwell", {BF16, FP8, FP4, TMA, CLUSTERS, TCGEN05}),
        ("12.0", "Blackwell", {BF16, FP8, FP4, TMA, CLUSTERS}),
        ("12.1", "Blackwell", {BF16, FP8, FP4, TMA, CLUSTERS}),
    ],
)
def test_features(capability: str, architecture: str, features: set[Feature]) -> None:
    limits = CATALOGUE.limits(ComputeCapability.parse(capability))
    assert limits.architecture == architecture
    assert set(limits.features) == features


def test_limits_of_an_unknown_capability_are_refused() -> None:
    with pytest.raises(GpuMatrixError, match=r"13\.0 is not in the catalogue.*9\.0"):
        CATALOGUE.limits(ComputeCapability(13, 0))


@pytest.mark.parametrize(
    ("id_", "capability", "mib", "sm_count", "nvml_name"),
    [
        ("t4", "7.5", 15_360, 40, "Tesla T4"),
        ("a100-80gb", "8.0", 81_920, 108, "NVIDIA A100-SXM4-80GB"),
        ("a100-80gb", "8.0", 81_920, 108, "NVIDIA A100 80GB PCIe"),
        ("a10", "8.6", 23_028, 72, "NVIDIA A10"),
        ("rtx-3090", "8.6", 24_576, 82, "NVIDIA GeForce RTX 3090"),
        ("rtx-4090", "8.9", 24_564, 128, "NVIDIA GeForce RTX 4090"),
        ("l40s", "8.9", 46_068, 142, "NVIDIA L40S"),
        ("h100-sxm", "9.0", 81_559, 132, "NVIDIA H100 80GB HBM3"),
        ("h100-pcie", "9.0", 81_559, 114, "NVIDIA H100 PCIe"),
        ("h200", "9.0", 143_771, 132, "NVIDIA H200"),
        ("b200", "10.0", 183_359, 148, "NVIDIA B200"),
        ("rtx-5090", "12.0", 32_607, 170, "NVIDIA GeForce RTX 5090"),
    ],
)
def test_known_gpus(id_: str, capability: str, mib: int, sm_count: int, nvml_name: str) -> None:
    profile = CATALOGUE.for_gpu(nvml_name, ComputeCapability.parse(capability), memory=1)
    assert (profile.id, profile.memory, profile.sm_count) == (id_, mib * 2**20, sm_count)
    assert profile.note is None
    assert CATALOGUE.resolve(nvml_name) is profile


@pytest.mark.parametrize(
    ("spelling", "id_"),
    [
        ("rtx-3090", "rtx-3090"),
        ("rtx3090", "rtx-3090"),
        ("RTX 3090", "rtx-3090"),
        ("GeForce RTX 3090", "rtx-3090"),
        ("nvidia geforce rtx 3090", "rtx-3090"),
        ("T4", "t4"),
        ("a100_80gb", "a100-80gb"),
        ("A100 80 GB", "a100-80gb"),
        ("H100 SXM", "h100-sxm"),
        ("h100_pcie", "h100-pcie"),
    ],
)
def test_spellings(spelling: str, id_: str) -> None:
    assert CATALOGUE.resolve(spelling).id == id_


@pytest.mark.parametrize(
    ("name", "near"),
    [("h100", "h100-sxm or h100-pcie"), ("rtx-390", "rtx-3090"), ("A100", "a100-80gb"), ("l40", "l40s")],
)
def test_a_name_that_is_not_known_names_near_ones(name: str, near: str) -> None:
    with pytest.raises(GpuMatrixError, match=f"no GPU profile '{name}'; did you mean {near}.*known: t4, a100"):
        CATALOGUE.resolve(name)


@pytest.mark.parametrize("name", ["", "-", "NVIDIA", "Radeon RX 7900 XTX"])
def test_a_name_like_no_other_gets_the_list(name: str) -> None:
    with pytest.raises(GpuMatrixError, match="known: t4, a100-80gb, a10, rtx-3090"):
        CATALOGUE.resolve(name)


@given(st.text())
def test_any_name_is_a_profile_or_the_users_mistake(name: str) -> None:
    with contextlib.suppress(GpuMatrixError):
        assert CATALOGUE.resolve(name) in CATALOGUE.profiles


def test_two_profiles_with_one_spelling_are_refused() -> None:
    first = CATALOGUE.profiles[0]
    twin = replace(first, id="t-4-twin", name="t_4")
    with pytest.raises(ValueError, match="'t4' could mean t4 or t-4-twin"):
        replace(CATALOGUE, profiles=(first, twin))


def test_an_unknown_card_has_the_limits_of_its_capability_and_says_so() -> None:
    profile = CATALOGUE.for_gpu("NVIDIA L4", ComputeCapability(8, 9), memory=23_034 * 2**20)
    assert profile.limits is CATALOGUE.limits(ComputeCapability(8, 9))
    assert (profile.id, profile.memory) == ("nvidia-l4", 23_034 * 2**20)
    assert (profile.sm_count, profile.bandwidth) == (None, None)
    assert profile.note is not None
    assert "'NVIDIA L4' is not a known GPU" in profile.note
    assert "compute capability 8.9" in profile.note


def test_a_known_name_with_another_capability_is_an_unknown_card() -> None:
    profile = CATALOGUE.for_gpu("NVIDIA H200", ComputeCapability(9, 5), memory=1, sm_count=7)
    assert profile.note is not None
    assert (profile.memory, profile.sm_count) == (1, 7)


def test_a_later_capability_stands_on_the_one_before_it_and_keeps_only_baseline_features() -> None:
    profile = CATALOGUE.for_gpu("NVIDIA R100", ComputeCapability(10, 7), memory=1)
    assert profile.capability == ComputeCapability(10, 7)
    assert profile.limits.shared_memory_per_block == 232_448
    assert profile.limits.features == {BF16, TMA, CLUSTERS}  # tcgen05, fp8 and fp4 are not known to be there
    assert profile.note is not None
    assert "compute capability 10.3, as 10.7 is not in the catalogue" in profile.note


@pytest.mark.parametrize("capability", ["6.1", "13.0"])
def test_a_capability_that_nothing_is_known_of_gets_the_smallest_limits_and_no_feature(
    capability: str,
) -> None:
    profile = CATALOGUE.for_gpu("NVIDIA Nova", ComputeCapability.parse(capability), memory=1)
    assert profile.limits.features == frozenset()
    assert profile.limits.shared_memory_per_block == 65_536
    assert (profile.limits.threads_per_sm, profile.limits.blocks_per_sm) == (1024, 16)
    assert profile.architecture == f"{capability.split('.')[0]}.x"
    assert profile.note is not None
    assert f"nothing is known of {capability}" in profile.note


@given(major=st.integers(0, 99), minor=st.integers(0, 9))
def test_no_made_up_profile_claims_a_feature_that_a_smaller_capability_lacks(major: int, minor: int) -> None:
    capability = ComputeCapability(major, minor)
    features = CATALOGUE.for_gpu("NVIDIA Nova", capability, memory=1).limits.features
    lower = [known for known in CATALOGUE.architectures if known <= capability and known.major == major]
    assert features <= (CATALOGUE.architectures[max(lower)].features if lower else frozenset())


def test_the_capability_can_be_had_without_the_data() -> None:
    code = (
        "import sys, pytest_gpumatrix.hardware.capability, pytest_gpumatrix.hardware.detection as d\n"
        "print([m for m in ('msgspec', 'yaml', 'pynvml', 'torch') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
