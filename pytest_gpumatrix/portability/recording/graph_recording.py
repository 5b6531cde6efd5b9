"""Follows CUDA graphs: a replay launches what was captured, and passes none of the places where launches are seen."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.tape.launch import Launch, Problem

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder


class GraphRecording:
    """Wraps ``torch.cuda.CUDAGraph``'s beginning and end of a capture, and its replay.

    Graphs that cuda-core or CuPy capture are not followed.
    """

    def __init__(self, recorder: Recorder, patches: Patches) -> None:
        self._recorder = recorder
        self._patches = patches
        self._captured: WeakKeyDictionary[Any, Sequence[Launch | Problem]] = WeakKeyDictionary()
        self._capturing: WeakKeyDictionary[Any, list[Launch | Problem]] = WeakKeyDictionary()
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {"torch.cuda.graphs": self._follow}

    def _follow(self, module: ModuleType) -> None:
        for name, make in (
            ("capture_begin", self._recording_begin),
            ("capture_end", self._recording_end),
            ("replay", self._recording_replay),
        ):
            self._patches.replace(module.CUDAGraph, name, make)

    def _recording_begin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            if self._patches.active:
                self._capturing[graph] = self._recorder.begin_capture()
            return result

        return capture_begin

    def _recording_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(graph, *args, **kwargs)
            finally:
                lines = self._capturing.pop(graph, None)
                if lines is not None:
                    self._recorder.end_capture(lines)
                    self._captured[graph] = tuple(lines)

        return capture_end

    def _recording_replay(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        @functools.wraps(original)
        def replay(graph: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.active and recorder.seen_objects.get(id(graph)) is not graph:
                recorder.seen_objects[id(graph)] = graph
                lines = self._captured.get(graph)
                if lines is None:
                    recorder.note_problem("replays a CUDA graph that was captured before launches were followed")
                else:
                    recorder.adopt(lines)
            return original(graph, *args, **kwargs)

        return replay
