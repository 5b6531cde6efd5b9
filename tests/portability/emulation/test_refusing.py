"""Operators refused in PyTorch's dispatcher: tried on the CPU's kernels, which stand in for those of a GPU."""

from __future__ import annotations

import importlib
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.emulation.refusing import Refusing

torch = pytest.importorskip("torch")

SENTENCE = "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+"


@contextmanager
def refusing(capability: str, key: str = "CPU") -> Iterator[Refusing]:
    made = Refusing(ComputeCapability.parse(capability), key)
    made.modules["torch"](torch)
    try:
        yield made
    finally:
        made.undo()


def scaled_mm(out: Any = None) -> Any:
    eye = torch.eye(32, dtype=torch.float32).to(torch.float8_e4m3fn)
    one = torch.ones((), dtype=torch.float32)
    return torch._scaled_mm(eye, eye.t(), scale_a=one, scale_b=one, out_dtype=torch.float32, out=out)


def test_an_operator_is_refused_in_the_librarys_words_and_afterwards_is_not() -> None:
    expected = scaled_mm()
    before = torch._C._dispatch_dump_table("aten::_scaled_mm")
    with refusing("8.6"):
        with pytest.raises(RuntimeError) as refusal:
            scaled_mm()
        assert str(refusal.value) == SENTENCE
        with pytest.raises(RuntimeError, match="only supported on CUDA devices"):
            scaled_mm(out=torch.empty(32, 32))
    assert torch._C._dispatch_dump_table("aten::_scaled_mm") == before
    assert torch.equal(scaled_mm(), expected)


def test_where_it_is_not_refused_the_own_kernel_runs() -> None:
    expected = scaled_mm()
    with refusing("8.9"):
        assert torch.equal(scaled_mm(), expected)
        assert torch.equal(scaled_mm(out=torch.empty(32, 32)), expected)


def test_no_other_operator_is_touched() -> None:
    before = {name: torch._C._dispatch_dump_table(f"aten::{name}") for name in ("mm", "addmm", "add.Tensor")}
    with refusing("7.5"):
        assert {name: torch._C._dispatch_dump_table(f"aten::{name}") for name in before} == before
        assert torch._C._len_torch_dispatch_stack() == 0


def test_it_is_refused_in_every_thread() -> None:
    said: list[str] = []

    def work() -> None:
        try:
            scaled_mm()
        except RuntimeError as error:
            said.append(str(error))

    with refusing("8.6"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert said == [SENTENCE]


def test_it_is_refused_in_a_backward_pass() -> None:
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda gradient: gradient + scaled_mm().sum())
    with refusing("8.6"), pytest.raises(RuntimeError, match="only supported on CUDA devices"):
        x.sum().backward()


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler on the CPU")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, of itself
@pytest.mark.filterwarnings("ignore::UserWarning")
class TestCompiledCode:
    """By Inductor, which compiles for real: one graph, whose code calls the operator where it cannot do without."""

    @pytest.fixture(autouse=True)
    def _own_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        importlib.import_module("torch._dynamo").reset()
        importlib.import_module("torch._dynamo.utils").counters.clear()

    @staticmethod
    def product(a: Any, b: Any, scale: Any) -> Any:
        return torch._scaled_mm(a, b, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16).relu() + 1

    @staticmethod
    def arguments() -> tuple[Any, Any, Any]:
        eye = torch.eye(32, dtype=torch.float32).to(torch.float8_e4m3fn)
        return eye, eye.t(), torch.ones((), dtype=torch.float32)

    def test_it_compiles_and_is_refused_when_it_runs(self) -> None:
        counters = importlib.import_module("torch._dynamo.utils").counters
        expected = self.product(*self.arguments())
        compiled = torch.compile(self.product, fullgraph=True)
        with refusing("8.6"), pytest.raises(RuntimeError, match="only supported on CUDA devices"):
            compiled(*self.arguments())
        assert counters["stats"]["unique_graphs"] == 1
        assert counters["inductor"]["fxgraph_cache_miss"] == 1  # Inductor was reached
        assert torch.equal(compiled(*self.arguments()), expected)
        assert counters["stats"]["unique_graphs"] == 1  # the same code, which was compiled while posing

    def test_what_was_compiled_before_is_refused_as_well(self) -> None:
        compiled = torch.compile(self.product, fullgraph=True)
        compiled(*self.arguments())
        with refusing("8.6"), pytest.raises(RuntimeError, match="only supported on CUDA devices"):
            compiled(*self.arguments())


class TestAttention:
    """scaled_dot_product_attention on a GPU calls the kernel that C++ chose for the card: here, one of our own."""

    @pytest.fixture(autouse=True)
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        calls: list[str] = []
        library = torch.library.Library("aten", "IMPL")

        def flash(*arguments: Any, **_: Any) -> Any:
            calls.append("flash")
            query = arguments[0]
            nothing = torch.empty(0)
            torch.ops.aten._flash_attention_forward(query, query, query, None, None, 1, 1, 0.0, False, False)
            return query.clone(), nothing, nothing, nothing, 1, 1, nothing, nothing, nothing

        def inner(*arguments: Any, **_: Any) -> Any:
            calls.append("inner")
            return (arguments[0].clone(), *(torch.empty(0) for _ in range(4)))

        library.impl("_scaled_dot_product_flash_attention", flash, "CPU")
        library.impl("_flash_attention_forward", inner, "CPU")
        for name in ("can_use_flash_attention", "can_use_efficient_attention", "can_use_cudnn_attention"):
            monkeypatch.setattr(torch.backends.cuda, name, lambda *_: True)
        yield calls
        library._destroy()

    @staticmethod
    def attend(head_dim: int = 64, dtype: Any = torch.float32) -> Any:
        query = torch.ones(1, 2, 8, head_dim, dtype=dtype, requires_grad=True)
        return torch.ops.aten._scaled_dot_product_flash_attention(query, query, query, 0.0, False)[0]

    @contextmanager
    def only(self, *names: str) -> Iterator[None]:
        backends = torch.nn.attention.SDPBackend
        with torch.nn.attention.sdpa_kernel([getattr(backends, name) for name in names]):
            yield

    def test_it_is_refused_where_no_other_backend_is_left(self, calls: list[str]) -> None:
        with refusing("7.5"), self.only("FLASH_ATTENTION"):
            with pytest.raises(RuntimeError) as refusal:
                self.attend()
            assert str(refusal.value) == "No available kernel. Aborting execution."
        assert calls == []

    @pytest.mark.parametrize(
        ("capability", "others"),
        [("7.5", ["MATH"]), ("7.5", ["EFFICIENT_ATTENTION"]), ("8.6", []), ("8.6", ["CUDNN_ATTENTION"])],
    )
    def test_it_runs_where_the_device_or_another_backend_serves(
        self, calls: list[str], capability: str, others: list[str]
    ) -> None:
        with refusing(capability), self.only("FLASH_ATTENTION", *others):
            self.attend()
        assert calls == ["flash", "inner"]  # what the backend itself calls is not refused below 8.0

    def test_bf16_below_8_0_has_no_efficient_attention(self) -> None:
        with refusing("7.5"), self.only("FLASH_ATTENTION", "EFFICIENT_ATTENTION"), pytest.raises(RuntimeError):
            self.attend(dtype=torch.bfloat16)

    def test_large_heads_are_not_trained_on_8_6(self, calls: list[str]) -> None:
        with refusing("8.6"), self.only("FLASH_ATTENTION", "CUDNN_ATTENTION"):
            with pytest.raises(RuntimeError, match="No available kernel"):
                self.attend(head_dim=224)
            with torch.no_grad():
                self.attend(head_dim=224)
        assert calls == ["flash", "inner"]

    def test_called_by_itself_it_is_refused_by_its_own_words(self) -> None:
        query = torch.ones(1, 8, 2, 64)
        with refusing("7.5"), pytest.raises(RuntimeError, match="FlashAttention only supports Ampere GPUs or newer"):
            torch.ops.aten._flash_attention_forward(query, query, query, None, None, 1, 1, 0.0, False, False)


def test_a_torch_that_cannot_be_asked_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.library, "get_kernel")
    with refusing("8.6") as made:
        scaled_mm()
    assert "is too old for this" in made.notes[0]
