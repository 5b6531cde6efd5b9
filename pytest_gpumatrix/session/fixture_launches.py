"""Launches of fixtures that live longer than a test: pytest sets one up once, for the first test that asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import Launch, Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    """A fixture that is set up, and what it launched."""

    fixture: pytest.FixtureDef[Any]
    node: Any  # the class, module, package or session that it lives as long as
    lines: Sequence[Launch | Problem]


class FixtureLaunches:
    """Keeps what shared fixtures launch, and gives it to every judged test that uses them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._prepared: dict[pytest.FixtureDef[Any], _Prepared] = {}
        self._request: pytest.FixtureRequest | None = None  # the latest; those of one test know the same fixtures

    @contextmanager
    def setting_up(self, fixture: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
        """Launches in this context are the fixture's: also where its first user is not judged."""
        self._request = request
        if fixture.scope == "function":
            yield
            return
        try:
            with self._recorder.aside() as lines:
                yield
        finally:
            if lines:
                self._prepared[fixture] = _Prepared(fixture=fixture, node=request.node, lines=lines)
                if self._recorder.test is not None:  # a test's, or a fixture's that asked for this one
                    self._recorder.adopt(lines)

    def forget(self, fixture: pytest.FixtureDef[Any]) -> None:
        """The fixture has ended."""
        self._prepared.pop(fixture, None)

    def end_of(self, item: pytest.Item, *, recorded: bool) -> None:
        """A test, about to end: if it is ``recorded`` its launches are those of the shared fixtures it uses as well."""
        request, self._request = self._request, None
        if not recorded or not self._prepared:
            return
        names = set(getattr(item, "fixturenames", ()))
        if request is not None:
            names.update(request.fixturenames)  # also what was asked for by request.getfixturevalue
        for prepared in self._visible_to(item):
            name = prepared.fixture.argname
            if name in names:
                self._recorder.adopt(prepared.lines)
            elif request is None and "request" in names:
                self._recorder.note_problem(f"may use the fixture {name}, which launched kernels")

    def _visible_to(self, item: pytest.Item) -> list[_Prepared]:
        """Of fixtures of one name the closest; the next one too, if that one asks for it."""
        chain = item.listchain()
        found: list[_Prepared] = []
        closest: dict[str, _Prepared] = {}
        for prepared in sorted(self._prepared.values(), key=lambda prepared: -len(prepared.fixture.baseid)):
            name = prepared.fixture.argname
            if prepared.node not in chain or not item.nodeid.startswith(prepared.fixture.baseid):
                continue
            if name not in closest or name in closest[name].fixture.argnames:
                closest[name] = prepared
                found.append(prepared)
        return found
