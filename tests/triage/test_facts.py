"""Facts as people and tools write them."""

# ruff: noqa: E501 - messages are as long as they are

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.facts import DeviceFacts
from pytest_gpumatrix.triage.toolkits import build_has_device

GIB = 2**30


@pytest.mark.parametrize(
    ("given_facts", "field", "value"),
    [
        ({"compute_capability": "8.6"}, "capability", "8.6"),
        ({"cc": 8.6}, "capability", "8.6"),
        ({"sm": 86}, "capability", "8.6"),
        ({"arch": "sm_90a"}, "capability", "9.0"),
        ({"Device Capability": [12, 0]}, "capability", "12.0"),
        ({"device": {"name": "L4", "compute-capability": "8.9"}}, "capability", "8.9"),
        ({"hardware": "8x RTX 4090 (sm_89)"}, "capability", "8.9"),
        ({"hardware": "8x RTX 4090 (sm_89)"}, "count", 8),
        ({"hardware": "Tesla T4 16 GB, works on L20"}, "capability", None),
        ({"hardware": "Tesla T4"}, "capability", "7.5"),
        ({"hardware": "Quadro RTX 5000"}, "capability", "7.5"),
        ({"hardware": "RTX 5000 Ada"}, "capability", "8.9"),
        ({"hardware": "NVIDIA RTX A5000"}, "capability", "8.6"),
        ({"hardware": "RTX PRO 6000 Blackwell"}, "capability", "12.0"),
        ({"hardware": "NVIDIA GeForce RTX 5090"}, "capability", "12.0"),
        ({"hardware": "GB200 NVL72"}, "capability", "10.0"),
        ({"hardware": "pre-sm_89 GPU"}, "capability", None),
        ({"hardware": "A100 with a cache produced on V100"}, "capability", None),
        ({"hardware": "RTX 3090 (sm_86) and RTX 4090 (sm_89)"}, "capability", None),
        ({"gpu": "NVIDIA H200"}, "capability", "9.0"),
        ({"gpu": "NVIDIA H200", "cc": "8.0"}, "capability", "8.0"),
        ({"hardware": "RTX 3070 Ti, WSL2"}, "wsl", True),
        ({"hardware": "2x A100 MIG 3g.40gb"}, "mig", True),
        ({"framework": "torch 2.7.0.dev+cu124 nightly"}, "cuda", "12.4"),
        ({"framework": "torch 2.7.0.dev+cu124 nightly"}, "torch", "2.7.0.dev+cu124"),
        ({"framework": "driver 460.80, CUDA 11.3 build"}, "driver", "460.80"),
        ({"free_memory": "23.5 GiB"}, "memory_free", int(23.5 * GIB)),
        ({"memory_free_mib": 512}, "memory_free", 512 * 2**20),
        ({"free_memory_at_start": 0}, "memory_free_at_start", 0),
        ({"memory": {"total": "24 GB"}}, "memory_total", 24 * 10**9),
        ({"other_processes": [{"pid": 3, "memory": "2 GiB"}, {"pid": 4, "used_memory": GIB}]}, "memory_of_others", 3 * GIB),
        ({"arch_list": "sm_80 sm_90"}, "torch_archs", ("sm_80", "sm_90")),
        ({"signal": -11}, "exit_signal", "SIGSEGV"),
        ({"signal": "segv"}, "exit_signal", "SIGSEGV"),
        ({"display_watchdog": "no"}, "display_watchdog", False),
        ({"earlier_sticky_error": "CUDA error: an illegal memory access"}, "earlier_sticky", True),
        ({"gpus": ["L4", "L4"]}, "count", 2),
        ({"other_processes": [881, 902]}, "other_processes", 2),
        ({"other_processes": True}, "other_processes", 1),
        ({"hardware": "one GPU, parallel test run"}, "other_processes", 1),
        ({"unheard_of": object(), "driver": None}, "driver", ""),
    ],
)  # fmt: skip
def test_a_fact_is_read(given_facts: dict[str, Any], field: str, value: Any) -> None:
    found = getattr(DeviceFacts.parse(given_facts), field)
    assert (str(found) if field == "capability" and found is not None else found) == value


@pytest.mark.parametrize(
    ("given_facts", "message"),
    [
        ({"capability": "fast"}, "fact 'capability': 'fast' is not a compute capability: write '8.6'"),
        ({"capability": True}, "fact 'capability': True is not a compute capability"),
        ({"memory_free": "much"}, "fact 'memory_free': 'much' is not a size: write '23.5 GiB'"),
        ({"memory_free": -1}, "is not a size"),
        ({"device_count": "two"}, "fact 'device_count': 'two' is not a whole number"),
        ({"arch_list": 90}, "is not a list of architectures"),
        ({"driver": ["5"]}, "is not a text"),
        ({"wsl": 3}, "is not true or false"),
        ({"other_processes": 3.5}, "is not a number or a list of processes"),
        ({"other_processes": [{"memory": "much"}]}, "is not a size"),
        ({"exit_signal": [1]}, "is not a signal"),
        ({"hardware": 3j}, "fact 'hardware'"),
    ],
)
def test_a_wrong_type_names_the_key(given_facts: dict[str, Any], message: str) -> None:
    with pytest.raises(GpuMatrixError) as caught:
        DeviceFacts.parse(given_facts)
    assert message in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["gpu", "cc", "memory", "other_processes", "signal", "hardware", "arch_list", "exit_code"]),
        _JSON,
    )
)
def test_any_facts_are_read_or_refused(given_facts: dict[str, Any]) -> None:
    try:
        facts = DeviceFacts.parse(given_facts)
    except GpuMatrixError as error:
        assert str(error).startswith("fact ")  # noqa: PT017 - what may be raised is what is under test
    else:
        assert isinstance(facts.died, bool)


@pytest.mark.parametrize(
    ("capability", "archs", "has"),
    [
        ("8.6", ("sm_80",), True),
        ("8.0", ("sm_86",), False),
        ("9.0", ("sm_80",), False),
        ("9.0", ("sm_90a",), True),
        ("10.0", ("sm_90a",), False),
        ("10.3", ("sm_100a",), False),  # of one architecture, and of no later one of its kind
        ("12.0", ("sm_80", "compute_80"), True),
        ("12.0", ("8.0+ptx",), True),
        ("12.0", ("nonsense",), False),
        ("12.0", (), None),
    ],
)
def test_whether_a_build_holds_code_for_a_device(capability: str, archs: tuple[str, ...], has: bool | None) -> None:
    assert build_has_device(DeviceFacts(capability=ComputeCapability.parse(capability), torch_archs=archs)) is has
