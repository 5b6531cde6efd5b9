"""What PyTorch says of the GPU while an H200 poses as a smaller card."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.emulation.posing import Posing, posing
from pytest_gpumatrix.portability.emulation.refusing import Refusing
from tests.portability.emulation.fake_card import FREE, TOTAL, FakeCard, Properties

torch = pytest.importorskip("torch")

GIB = 2**30
RTX_3090 = catalogue.load().resolve("rtx-3090")
T4 = catalogue.load().resolve("t4")
BUDGET = RTX_3090.memory - GIB // 2


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> FakeCard:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("torch._dynamo")  # it asks the build, not the card, when it is imported
    card = FakeCard(count=2)
    card.install(torch, monkeypatch)
    return card


@pytest.fixture
def posed(card: FakeCard) -> Iterator[FakeCard]:
    with posing(RTX_3090):
        yield card


@pytest.mark.parametrize(
    ("ask", "native", "told"),
    [
        (lambda: torch.cuda.get_device_capability(), (9, 0), (8, 6)),
        (lambda: torch.cuda.get_device_capability(1), (9, 0), (8, 6)),
        (lambda: torch.cuda.get_device_capability("cuda:1"), (9, 0), (8, 6)),
        (lambda: torch.cuda.get_device_capability(torch.device("cuda")), (9, 0), (8, 6)),
        (lambda: torch.cuda.get_device_name(0), "NVIDIA H200", "NVIDIA GeForce RTX 3090"),
        (lambda: torch.cuda.get_device_properties(0).major, 9, 8),
        (lambda: torch.cuda.get_device_properties(0).total_memory, TOTAL, RTX_3090.memory),
        (lambda: torch.cuda.get_device_properties(0).multi_processor_count, 132, 82),
        (lambda: torch.cuda.get_device_properties(0).shared_memory_per_block_optin, 232_448, 101_376),
        (lambda: torch.cuda.get_device_properties(0).shared_memory_per_multiprocessor, 233_472, 102_400),
        (lambda: torch.cuda.get_device_properties(0).max_threads_per_multi_processor, 2_048, 1_536),
        (lambda: torch.cuda.get_device_properties(0).gcnArchName, "NVIDIA H200", "NVIDIA GeForce RTX 3090"),
        (lambda: torch.cuda.get_device_properties(0).warp_size, 32, 32),
        (lambda: torch.cuda.get_device_properties(0).L2_cache_size, 62_914_560, 62_914_560),
        (lambda: torch.cuda.mem_get_info(0), (FREE, TOTAL), (BUDGET, RTX_3090.memory)),
        (lambda: torch.cuda.memory.mem_get_info("cuda:1"), (FREE, TOTAL), (BUDGET, RTX_3090.memory)),
        (lambda: torch.cuda.is_bf16_supported(including_emulation=False), True, True),
        (lambda: torch.cuda.is_tf32_supported(), True, True),
        (lambda: torch.cuda.device_count(), 2, 2),
        (lambda: torch.cuda.get_per_process_memory_fraction(0), 1.0, 1.0),
        (lambda: torch.get_device_module("cuda").get_device_properties(1).major, 9, 8),
        (lambda: torch.compiler.disable(torch.cuda.get_device_capability)(), (9, 0), (8, 6)),
        (lambda: torch._dynamo.disable(torch.cuda.get_device_capability, recursive=False)(), (9, 0), (8, 6)),
        (lambda: torch._disable_dynamo(torch.cuda.get_device_capability)(), (9, 0), (8, 6)),
    ],
)
def test_code_is_told_of_the_device_and_afterwards_of_the_card(
    card: FakeCard, ask: Callable[[], object], native: object, told: object
) -> None:
    assert ask() == native
    with posing(RTX_3090):
        assert ask() == told
    assert ask() == native
    assert set(card.fractions.values()) <= {1.0}


@pytest.mark.skipif(not hasattr(torch.accelerator, "get_memory_info"), reason="not in this PyTorch")
def test_any_accelerators_memory_is_the_devices_also_where_nobody_has_begun_cuda(card: FakeCard) -> None:
    assert torch.accelerator.get_memory_info(0) == (FREE, TOTAL)
    torch.cuda._initialized = False
    with posing(RTX_3090):
        card.reserved = 4 * GIB
        assert torch.accelerator.get_memory_info(0) == (BUDGET - 4 * GIB, RTX_3090.memory)
        assert torch.accelerator.memory.get_memory_info() == (BUDGET - 4 * GIB, RTX_3090.memory)
    assert torch.accelerator.get_memory_info(0) == (FREE, TOTAL)


def test_below_8_0_bf16_is_emulated_and_tf32_is_not_there(card: FakeCard) -> None:
    with posing(T4):
        assert not torch.cuda.is_bf16_supported(including_emulation=False)
        assert not torch.cuda.is_tf32_supported()
        assert torch.cuda.get_device_capability() == (7, 5)


def test_what_was_taken_from_torch_before_is_posed_as_well(card: FakeCard) -> None:
    early = torch.cuda.get_device_capability, torch.cuda.get_device_name
    with posing(RTX_3090):
        assert [ask() for ask in early] == [(8, 6), "NVIDIA GeForce RTX 3090"]


def test_every_attribute_is_put_back(card: FakeCard) -> None:
    torch.cuda.init()
    torch.cuda.device_count()  # kept from here on
    places = (torch.cuda, torch.cuda.memory, torch._C, torch.cuda._cudart)
    before = [dict(vars(place)) for place in places]
    with posing(RTX_3090):
        assert any(vars(place) != known for place, known in zip(places, before, strict=True))
    for place, known in zip(places, before, strict=True):
        assert {name for name, value in vars(place).items() if value is not known.get(name)} == set()


def test_cuda_is_not_begun_and_a_pose_that_ended_before_changes_nothing(card: FakeCard) -> None:
    with posing(RTX_3090):
        assert not torch.cuda.is_initialized()
    assert torch.cuda.get_device_capability() == (9, 0)
    assert card.fractions == {}


def test_the_properties_are_read_only_and_print_as_torchs(posed: FakeCard) -> None:
    properties = torch.cuda.get_device_properties(0)
    with pytest.raises(AttributeError):
        properties.major = 9
    assert "name='NVIDIA GeForce RTX 3090', " in repr(properties)


def test_the_allocator_gets_the_devices_memory_less_the_context(posed: FakeCard) -> None:
    torch.cuda.init()
    assert posed.fractions == {index: pytest.approx(BUDGET / TOTAL) for index in range(2)}
    posed.reserved = 20 * GIB
    assert torch.cuda.mem_get_info(0) == (BUDGET - 20 * GIB, RTX_3090.memory)
    posed.reserved = 40 * GIB
    assert torch.cuda.mem_get_info(0) == (0, RTX_3090.memory)


def test_a_card_that_others_have_filled_is_said(card: FakeCard) -> None:
    card.free = 2 * GIB
    with posing(RTX_3090) as pose:
        assert not pose.notes
        torch.cuda.init()
        assert torch.cuda.mem_get_info(0) == (2 * GIB, RTX_3090.memory)
    assert pose.notes[0].startswith("2 GiB of GPU 0 are free, and RTX 3090 would have 23.5 GiB")


def test_what_others_queued_and_failed_does_not_end_the_pose(posed: FakeCard) -> None:
    failing = [True]

    def fails_once() -> None:
        if failing.pop():
            failing.append(False)
            raise ValueError("not yet")

    torch.cuda._lazy_call(fails_once)
    with pytest.raises(torch.cuda.DeferredCudaCallError, match="not yet"):
        torch.cuda.init()
    assert torch.cuda.get_device_capability() == (8, 6)
    assert posed.fractions == {index: pytest.approx(BUDGET / TOTAL) for index in range(2)}


def test_a_begin_that_fails_is_undone(card: FakeCard, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(refusing: Refusing, torch: object) -> None:
        raise RuntimeError("half-way")

    torch.cuda.init()
    monkeypatch.setattr(Refusing, "_follow", fails)
    watching = list(sys.meta_path)
    with pytest.raises(RuntimeError, match="half-way"), posing(RTX_3090):
        raise AssertionError("it has begun")
    assert sys.meta_path == watching
    assert torch.cuda.get_device_capability() == (9, 0)
    assert set(card.fractions.values()) == {1.0}


def test_memory_that_cannot_be_given_back_does_not_keep_the_rest_posed(card: FakeCard) -> None:
    watching = list(sys.meta_path)
    pose = Posing(RTX_3090)
    pose.begin()
    torch.cuda.init()
    card.broken = True
    with pytest.raises(RuntimeError, match="illegal memory access"):
        pose.end()
    card.broken = False
    assert sys.meta_path == watching
    assert torch.cuda.get_device_capability() == (9, 0)


def test_a_card_has_one_object_of_properties(posed: FakeCard) -> None:
    first = torch.cuda.get_device_properties(0)
    assert torch.cuda.get_device_properties(0) is first
    assert torch.cuda.get_device_properties(1) is not first


@pytest.mark.parametrize(("before", "allowed"), [(0.5, RTX_3090.memory // 2), (0.0, 0), (1.0, BUDGET)])
def test_a_fraction_that_was_set_before_is_never_widened(card: FakeCard, before: float, allowed: int) -> None:
    card.fractions = {0: before}
    with posing(RTX_3090):
        torch.cuda.init()
        assert card.fractions[0] * TOTAL == pytest.approx(allowed)
        assert torch.cuda.get_per_process_memory_fraction(0) == before
        torch.cuda.set_per_process_memory_fraction(1.0, 0)
        assert card.fractions[0] * TOTAL == pytest.approx(BUDGET)
    assert card.fractions == {0: before, 1: 1.0}


def test_a_gpu_that_is_not_there_is_pytorchs_to_refuse(posed: FakeCard) -> None:
    torch.cuda.init()
    torch._C._cuda_setMemoryFraction(0.5, 7)  # where PyTorch's own raises, the card keeps what it was given
    assert posed.fractions[7] == torch._C._cuda_getMemoryFraction(7) == 0.5


@pytest.mark.parametrize(("fraction", "allowed"), [(0.5, RTX_3090.memory // 2), (1.0, BUDGET), (0.0, 0)])
def test_a_fraction_that_code_sets_is_of_the_devices_memory(posed: FakeCard, fraction: float, allowed: int) -> None:
    torch.cuda.set_per_process_memory_fraction(fraction, 0)
    assert posed.fractions[0] * TOTAL == pytest.approx(allowed)
    assert torch.cuda.get_per_process_memory_fraction(0) == fraction
    with pytest.raises(ValueError, match="Invalid fraction"):
        torch.cuda.set_per_process_memory_fraction(2.0, 0)


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("torch._inductor.utils", (9, 0)),
        ("torch.utils.cpp_extension", (9, 0)),
        ("torch._dynamo.device_interface", (9, 0)),
        ("torch._dynamo.variables.torch", (8, 6)),
        ("torch._dynamo.eval_frame", (8, 6)),  # it calls what code has wrapped
        ("torch.nn.attention.flex_attention", (8, 6)),
        ("a_users.module", (8, 6)),
    ],
)
def test_who_asks_decides_what_is_told(posed: FakeCard, module: str, told: tuple[int, int]) -> None:
    asking = types.ModuleType(module)
    source = "def ask(torch):\n    return torch.cuda.get_device_capability()\n"
    exec(source, vars(asking))  # noqa: S102 - a function whose module is the one that asks
    assert asking.ask(torch) == told


def test_a_torch_without_code_for_the_device_fails_as_there(card: FakeCard) -> None:
    card.archs = "sm_80 sm_90 compute_90"
    with posing(T4), pytest.raises(torch.cuda.DeferredCudaCallError, match=r"no kernel image is available.*T4 is 7\.5"):
        torch.cuda.init()
    card.archs = "sm_80 sm_90"  # code for 8.0 runs on 8.6
    with posing(RTX_3090):
        torch.cuda.init()


@pytest.mark.usefixtures("card")
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyTorch's own, of itself
class TestInsideCompiledCode:
    """Dynamo calls what it traces at other times and from other places than the code itself would."""

    @pytest.fixture(autouse=True)
    def _without_random_state(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("get_rng_state", "set_rng_state", "get_rng_state_all", "set_rng_state_all"):
            monkeypatch.setattr(torch.cuda, name, lambda *_: torch.zeros(16, dtype=torch.uint8))
        constants = importlib.import_module("torch._dynamo.utils").common_constant_types
        constants.add(Properties)  # as of PyTorch's own class
        monkeypatch.setattr(torch.cuda, "_CudaDeviceProperties", Properties)
        torch._dynamo.reset()

    @pytest.mark.parametrize(
        "ask",
        [
            lambda: torch.cuda.get_device_capability()[0],
            lambda: torch.cuda.get_device_properties(0).major,
            lambda: torch.cuda.get_device_properties("cuda:0").shared_memory_per_block_optin,
            lambda: torch.cuda.mem_get_info()[1],
        ],
    )
    @pytest.mark.parametrize("backend", ["eager", "aot_eager"])
    def test_code_that_is_compiled_as_a_whole_is_told_the_same(self, ask: Callable[[], int], backend: str) -> None:
        def add(x: Any) -> Any:
            return x + ask()

        x = torch.zeros(1, dtype=torch.float64)
        native = torch.compile(add, fullgraph=True, backend=backend)(x)
        assert native == ask()
        torch._dynamo.reset()
        with posing(RTX_3090):
            told = ask()
            assert torch.compile(add, fullgraph=True, backend=backend)(x) == told
            assert told != native
        torch._dynamo.reset()
        assert torch.compile(add, fullgraph=True, backend=backend)(x) == native

    def test_answers_that_torch_keeps_are_asked_again(self) -> None:
        kept = importlib.import_module("torch.utils._triton").has_triton_tma_device
        if "triton" not in sys.modules:
            importlib.import_module("triton")
        with posing(RTX_3090):
            posed_answer = kept()
        assert not posed_answer
        assert kept.cache_info().currsize == 0
