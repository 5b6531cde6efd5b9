from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pytest_gpumatrix.session.compile_time import CompileClock, CompileTimes


class Time:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def clock(time: Time) -> CompileClock:
    clock = CompileClock(time)
    clock.start()
    return clock


class TestClock:
    def test_sums_up_what_was_compiled_since_the_start(self, clock: CompileClock, time: Time) -> None:
        with clock.running():
            time.now += 2
        time.now += 100
        clock.add(0.5, from_cache=False)
        assert clock.stop() == 2.5
        clock.start()
        assert clock.stop() == 0

    def test_one_inside_another_counts_once(self, clock: CompileClock, time: Time) -> None:
        with clock.running():
            time.now += 1
            with clock.running():
                time.now += 2
            clock.add(2, from_cache=False)
        assert clock.stop() == 3

    def test_what_two_threads_compile_at_a_time_counts_once(self, clock: CompileClock, time: Time) -> None:
        begun, end = threading.Event(), threading.Event()

        def compile_beside() -> None:
            with clock.running():
                begun.set()
                end.wait(30)

        beside = threading.Thread(target=compile_beside)
        with clock.running():
            beside.start()
            assert begun.wait(30)
            time.now += 2
        time.now += 3
        assert clock.stop() == 5  # it is still going on
        end.set()
        beside.join()
        assert clock.stop() == 5

    def test_what_began_in_an_earlier_test_counts_from_the_start(self, clock: CompileClock, time: Time) -> None:
        with clock.running():
            time.now += 7
            clock.start()
            time.now += 1
        assert clock.stop() == 1

    def test_one_that_fails_took_its_time(self, clock: CompileClock, time: Time) -> None:
        with pytest.raises(ValueError), clock.running():  # noqa: PT011, PT012 - raised here
            time.now += 1
            raise ValueError
        assert clock.stop() == 1

    def test_a_part_from_a_cache_makes_the_time_incomparable(self, clock: CompileClock) -> None:
        clock.add(5, from_cache=False)
        clock.add(0.01, from_cache=True)
        assert clock.stop() is None
        clock.start()
        clock.add(5, from_cache=False)
        assert clock.stop() == 5

    def test_what_inductors_workers_hand_over_is_no_cache(self, clock: CompileClock, time: Time) -> None:
        with clock.running():
            time.now += 4
            clock.add(0.01, from_cache=True)
        assert clock.stop() == 4

    @pytest.mark.parametrize("group", ["inductor", "aot_autograd"])
    def test_a_hit_in_torchs_caches(self, monkeypatch: pytest.MonkeyPatch, clock: CompileClock, group: str) -> None:
        name = {"inductor": "fxgraph_cache_hit", "aot_autograd": "autograd_cache_hit"}[group]
        counters: dict[str, Counter[str]] = defaultdict(Counter)
        monkeypatch.setitem(sys.modules, "torch._dynamo.utils", SimpleNamespace(counters=counters))
        counters[group][name] = 2
        clock.start()
        assert clock.stop() == 0
        counters[group][name] += 1
        assert clock.stop() is None
        clock.start()
        counters.clear()  # as torch's own tests do before each
        assert clock.stop() == 0
        counters[group][name] += 1
        assert clock.stop() is None


@pytest.fixture
def knobs(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("triton.knobs")
    module.compilation = SimpleNamespace(listener=None)
    monkeypatch.setitem(sys.modules, "triton.knobs", module)
    return module


def compile_kernel(knobs: Any, seconds: float = 1.0, *, cache_hit: bool = False) -> None:
    """As ``triton.compile`` tells its listener."""
    if knobs.compilation.listener:
        times = SimpleNamespace(total=seconds * 1e6)
        knobs.compilation.listener(src=None, metadata={}, metadata_group={}, times=times, cache_hit=cache_hit)


class TestTriton:
    def test_is_timed_and_put_back(self, knobs: Any) -> None:
        times = CompileTimes()
        times.install()
        times.start()
        compile_kernel(knobs, 1.5)
        assert times.clock.stop() == 1.5
        times.uninstall()
        assert knobs.compilation.listener is None

    def test_a_listener_that_was_there_hears_all(self, knobs: Any) -> None:
        heard: list[object] = []
        own = knobs.compilation.listener = lambda **told: heard.append(told["cache_hit"])
        times = CompileTimes()
        times.install()
        times.start()
        compile_kernel(knobs)
        assert (heard, times.clock.stop()) == ([False], 1.0)
        times.uninstall()
        assert knobs.compilation.listener is own

    def test_a_listener_that_a_test_set_and_left(self, knobs: Any) -> None:
        heard: list[object] = []
        times = CompileTimes()
        times.install()
        times.start()
        ours = knobs.compilation.listener

        def theirs(**told: Any) -> None:
            heard.append(told["cache_hit"])
            ours(**told)  # they kept ours, and tell it too

        knobs.compilation.listener = theirs
        times.start()
        compile_kernel(knobs)
        assert (heard, times.clock.stop()) == ([False], 1.0)
        knobs.compilation.listener = theirs
        times.uninstall()
        assert knobs.compilation.listener is theirs  # not ours to remove
        compile_kernel(knobs)
        assert heard == [False, False]

    def test_a_release_without_a_listener(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "triton.knobs", ModuleType("triton.knobs"))
        times = CompileTimes()
        times.install()
        times.start()
        assert times.clock.stop() == 0
        times.uninstall()

    def test_the_real_one(self, real: Callable[[str], Any]) -> None:
        real_knobs = real("triton.knobs")
        before = real_knobs.compilation.listener
        times = CompileTimes()
        times.install()
        try:
            times.start()
            spent = real_knobs.CompileTimes(ir_initialization=1, lowering_stages=[("ttir", 2)], store_results=1)
            real_knobs.compilation.listener(src=None, metadata={}, metadata_group={}, times=spent, cache_hit=False)
            assert times.clock.stop() == 4e-6
        finally:
            times.uninstall()
        assert real_knobs.compilation.listener is before


@pytest.fixture
def real() -> Callable[[str], Any]:
    return lambda name: pytest.importorskip(name)


class TestTorchCompile:
    @pytest.fixture
    def times(self) -> Iterator[CompileTimes]:
        pytest.importorskip("torch")
        times = CompileTimes()
        times.install()
        yield times
        times.uninstall()

    def test_is_timed_once_though_the_test_resets(self, times: CompileTimes) -> None:
        import torch

        times.start()
        torch._dynamo.reset()

        @torch.compile(backend="eager")
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        double(torch.ones(2))
        spent = times.clock.stop()
        assert spent is not None
        assert spent > 0
        times.start()
        double(torch.ones(2))
        assert times.clock.stop() == 0  # it is compiled by now

    def test_uninstalled_it_is_torchs_own_again(self) -> None:
        torch = pytest.importorskip("torch")
        handler = torch._dynamo.callback.CompilationCallbackHandler
        before = handler.install_callbacks
        times = CompileTimes()
        times.install()
        assert handler.install_callbacks is not before
        times.uninstall()
        assert handler.install_callbacks is before

    def test_a_release_that_has_no_such_hook(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module: Any = ModuleType("torch._dynamo.callback")
        module.CompilationCallbackHandler = SimpleNamespace()
        monkeypatch.setitem(sys.modules, "torch._dynamo.callback", module)
        times = CompileTimes()
        times.install()
        times.uninstall()


def test_nothing_is_imported() -> None:
    import subprocess

    code = (
        "import sys\n"
        "from pytest_gpumatrix.session.compile_time import CompileTimes\n"
        "times = CompileTimes()\n"
        "times.install(); times.start(); times.clock.stop(); times.uninstall()\n"
        "print([name for name in ('torch', 'triton') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
