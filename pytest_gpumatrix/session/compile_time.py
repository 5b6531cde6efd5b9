"""How long a test compiles: in Triton (3.4 and later), and in torch.compile (torch 2.7 and later).

Triton tells its listener how long each compilation took. torch.compile is timed around
``CompilationCallbackHandler.install_callbacks``, which each of its compilations passes, that of a backward too.
(Callbacks themselves would not do: ``torch._dynamo.reset`` removes them.) What NVRTC or nvcc compile is not seen.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from pytest_gpumatrix.portability.patching.import_watcher import ImportWatcher
from pytest_gpumatrix.portability.patching.patches import Patches

# Of ``torch._dynamo.utils.counters``: a part of the compilation was read from a cache.
_CACHE_HITS = (("inductor", "fxgraph_cache_hit"), ("aot_autograd", "autograd_cache_hit"))


class CompileClock:
    """Sums up the seconds between ``start`` and ``stop``. What several threads compile at a time counts once."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._depth = 0
        self._began = 0.0
        self._spent = 0.0
        self._from_cache = False
        self._hits: Mapping[tuple[str, str], int] = {}

    def start(self) -> None:
        """Begin anew."""
        with self._lock:
            self._spent, self._from_cache, self._began = 0.0, False, self._now()
        self._hits = _cache_hits()

    def stop(self) -> float | None:
        """Seconds spent since ``start``. None if a part of it came from a cache: that time is comparable with nothing.

        What is still compiling, in another thread, counts up to now.
        """
        with self._lock:
            spent = self._spent + (self._now() - self._began if self._depth else 0.0)
            from_cache = self._from_cache
        return None if from_cache or _more_hits(self._hits, _cache_hits()) else spent

    @contextmanager
    def running(self) -> Iterator[None]:
        """A compilation, maybe inside another, or beside one in another thread."""
        with self._lock:
            if not self._depth:
                self._began = self._now()
            self._depth += 1
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if not self._depth:
                    self._spent += self._now() - self._began

    def add(self, seconds: float, *, from_cache: bool) -> None:
        """A compilation of Triton's that has ended.

        Inside torch.compile its time is counted already, and its cache is how Inductor's worker processes hand over
        what they compiled.
        """
        with self._lock:
            if not self._depth:
                self._from_cache |= from_cache
                self._spent += 0.0 if from_cache else seconds


class CompileTimes:
    """Follows both compilers in this process, whenever they are imported, and imports neither."""

    def __init__(self) -> None:
        self.clock = CompileClock()
        self._patches = Patches()
        self._knobs: Any = None  # triton.knobs, once it is loaded
        self._listener: _Listener | None = None
        self._watcher = ImportWatcher(
            {"triton.knobs": self._follow_triton, "torch._dynamo.callback": self._follow_dynamo}
        )

    def install(self) -> None:
        """Begin to follow."""
        self._watcher.install()

    def uninstall(self) -> None:
        """Put everything back as it was."""
        self._watcher.uninstall()
        self._patches.undo()
        self._let_go()

    def start(self) -> None:
        """A test begins. Where somebody has set a listener of their own since, both are told."""
        if self._knobs is not None and self._knobs.compilation.listener is not self._listener:
            self._listen()
        self.clock.start()

    def _follow_triton(self, module: ModuleType) -> None:
        if hasattr(getattr(module, "compilation", None), "listener"):  # not in releases before 3.4
            self._knobs = module
            self._listen()

    def _listen(self) -> None:
        if self._listener is not None:
            self._listener.clock = None  # whoever kept it: it passes on what it is told, and counts nothing twice
        compilation = self._knobs.compilation
        self._listener = compilation.listener = _Listener(self.clock, compilation.listener)

    def _let_go(self) -> None:
        if self._listener is None:
            return
        self._listener.clock = None
        if self._knobs.compilation.listener is self._listener:
            self._knobs.compilation.listener = self._listener.previous
        self._listener = None

    def _follow_dynamo(self, module: ModuleType) -> None:
        handler = getattr(module, "CompilationCallbackHandler", None)
        if hasattr(handler, "install_callbacks"):  # not in releases before 2.5
            self._patches.replace(handler, "install_callbacks", self._timed)

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        @contextmanager
        def install_callbacks(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with self.clock.running(), original(*args, **kwargs) as inner:
                yield inner

        return install_callbacks


class _Listener:
    """Triton's listener: counts, and tells the one that was there before."""

    def __init__(self, clock: CompileClock, previous: Callable[..., None] | None) -> None:
        self.clock: CompileClock | None = clock
        self.previous = previous

    def __call__(self, *args: Any, **told: Any) -> None:
        if self.clock is not None and "times" in told and "cache_hit" in told:  # as Triton 3.4 to 3.7 call it
            self.clock.add(told["times"].total / 1e6, from_cache=told["cache_hit"])
        if self.previous is not None:
            self.previous(*args, **told)


def _cache_hits() -> Mapping[tuple[str, str], int]:
    """How often Inductor and AOTAutograd found something in their caches, in this process so far."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters is None:
        return {}
    return {(group, name): counters[group][name] for group, name in _CACHE_HITS if group in counters}


def _more_hits(before: Mapping[tuple[str, str], int], after: Mapping[tuple[str, str], int]) -> bool:
    """Whether there was a hit between the two. A test may have set the counters back to 0 in the meantime."""
    return any(hits > before.get(key, 0) or 0 < hits < before.get(key, 0) for key, hits in after.items())
