"""A replay of a CUDA graph launches what was captured, in whichever test: on a stand-in for torch.cuda.graphs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, Problem


class CUDAGraph:
    def __init__(self) -> None:
        self.error: Exception | None = None

    def capture_begin(self) -> None:
        if self.error is not None:
            raise self.error

    def capture_end(self) -> None:
        if self.error is not None:
            raise self.error

    def replay(self) -> str:
        return "replayed"


@pytest.fixture
def lines() -> list[Launch | Problem]:
    return []


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("torch.cuda.graphs")
    vars(module).update(CUDAGraph=type("CUDAGraph", (CUDAGraph,), dict(vars(CUDAGraph))))
    monkeypatch.setitem(sys.modules, "torch.cuda.graphs", module)
    return module


@pytest.fixture
def recorder(graphs: ModuleType, lines: list[Launch | Problem]) -> Iterator[Recorder]:
    before = dict(vars(graphs.CUDAGraph))
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    yield recorder
    recorder.uninstall()
    assert dict(vars(graphs.CUDAGraph)) == before


def launch(recorder: Recorder, name: str) -> None:
    """As a wrapped launch does it: what was seen in this test is passed over."""
    key = ("kernel", name)
    if not recorder.active or key in recorder.seen_objects:
        return
    recorder.seen_objects[key] = name
    kernel = CudaProgram(
        name=name, source=name, code_type="c++", target_type="cubin", arch="", follows_device=True, options={}
    )
    recorder.note(kernel)


def capture(recorder: Recorder, graph: Any, *names: str) -> None:
    graph.capture_begin()
    for name in names:
        launch(recorder, name)
    graph.capture_end()


def names(lines: list[Launch | Problem]) -> list[tuple[str, str]]:
    assert all(isinstance(line, Launch) for line in lines)
    return [(line.test, line.kernel.name) for line in lines if isinstance(line, Launch)]


def test_each_test_that_replays_has_what_was_captured(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    graph = graphs.CUDAGraph()
    with recorder.during("captures"):
        launch(recorder, "a")  # warming up: seen in this test, and part of the graph all the same
        capture(recorder, graph, "a", "b", "a")
        launch(recorder, "a")
        launch(recorder, "c")
    with recorder.during("replays"):
        for _ in range(2):
            assert graph.replay() == "replayed"
    with recorder.during("replays_too"):
        graph.replay()
    assert names(lines) == [
        ("captures", "a"),
        ("captures", "b"),
        ("captures", "c"),
        ("replays", "a"),
        ("replays", "b"),
        ("replays_too", "a"),
        ("replays_too", "b"),
    ]


def test_a_graph_of_no_recorded_test_is_followed_too(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    graph = graphs.CUDAGraph()
    launch(recorder, "before")
    capture(recorder, graph, "a")
    launch(recorder, "after")
    graph.replay()
    assert lines == []
    with recorder.during("replays"):
        graph.replay()
    assert names(lines) == [("replays", "a")]


def test_a_capture_of_a_fixture_is_the_fixtures(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    graph = graphs.CUDAGraph()
    with recorder.aside() as aside:
        capture(recorder, graph, "a")
    with recorder.during("test"):
        recorder.adopt(aside)
        graph.replay()
    assert names(lines) == [("test", "a")]


def test_problems_of_a_capture_are_those_of_its_replays(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    graph = graphs.CUDAGraph()
    graph.capture_begin()
    recorder.note_problem("a launch of k: OSError")
    graph.capture_end()
    assert lines == []
    with recorder.during("test"):
        graph.replay()
    assert lines == [Problem(test="test", message="a launch of k: OSError")]


def test_a_graph_from_before_is_a_problem(graphs: ModuleType, lines: list[Launch | Problem]) -> None:
    graph = graphs.CUDAGraph()
    graph.capture_begin()
    graph.capture_end()
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    with recorder.during("test"):
        assert graph.replay() == "replayed"
    recorder.uninstall()
    assert lines == [
        Problem(test="test", message="replays a CUDA graph that was captured before launches were followed")
    ]


def test_a_second_capture_takes_the_place_of_the_first(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    graph = graphs.CUDAGraph()
    capture(recorder, graph, "a")
    capture(recorder, graph, "b")
    with recorder.during("test"):
        graph.replay()
    assert names(lines) == [("test", "b")]


@pytest.mark.parametrize("fails", ["begin", "end"])
def test_a_capture_that_fails_ends_all_the_same(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem], fails: str
) -> None:
    graph = graphs.CUDAGraph()
    graph.error = RuntimeError("capture") if fails == "begin" else None
    if fails == "end":
        graph.capture_begin()
        graph.error = RuntimeError("capture")
    with pytest.raises(RuntimeError, match="capture"):
        graph.capture_begin() if fails == "begin" else graph.capture_end()
    assert not recorder.active
    launch(recorder, "a")
    assert lines == []


def test_a_capture_that_outlives_its_test_hides_nothing_of_the_next(
    graphs: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    graph = graphs.CUDAGraph()
    with recorder.during("first"):
        launch(recorder, "a")
        graph.capture_begin()
    with recorder.during("second"):
        launch(recorder, "a")
        graph.capture_end()
        launch(recorder, "a")
        launch(recorder, "b")
    assert names(lines) == [("first", "a"), ("second", "a"), ("second", "b")]
