"""Patterns over names: ``*`` is any text, ``?`` one character, and everything else stands for itself."""

from __future__ import annotations

import bisect
import fnmatch
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

_WILD = re.compile(r"[*?]")
_Form = Callable[[str], object]  # true of a name that a pattern means


@dataclass(frozen=True, kw_only=True, slots=True)
class NamePattern:
    """A pattern over names as they are: those of metrics."""

    text: str
    _form: _Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_form", _form_of(self.text))

    def matches(self, name: str) -> bool:
        """Whether a name is meant."""
        return bool(self._form(name))


@dataclass(frozen=True, kw_only=True, slots=True)
class TestPattern:
    """A pattern over node ids; "[" and "]" stand for themselves.

    It matches a node id as pytest writes it or as JUnit does ("tests/test_a.py::TestB::test_c" and
    "tests.test_a.TestB::test_c" are one), since a plain JUnit file does not tell where the module ends.
    """

    __test__ = False  # not a test, whatever pytest makes of its name

    text: str
    _forms: tuple[_Form, _Form] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_forms", (_form_of(self.text), _form_of(_dotted(self.text))))

    def matches(self, test: str) -> bool:
        """Whether a node id is meant."""
        node_id, dotted = self._forms
        return bool(node_id(test) or dotted(_dotted(test)))

    def among(self, tests: TestIndex) -> set[str]:
        """Those of many tests that are meant."""
        node_id, dotted = self._forms
        found = {test for form, test in _begin_as(self.text, tests.node_ids) if node_id(form)}
        return found | {test for form, test in _begin_as(_dotted(self.text), tests.dotted) if dotted(form)}


class TestIndex:
    """Many tests in order, so that a pattern is held against those alone that begin as it does."""

    __test__ = False  # not a test, whatever pytest makes of its name

    def __init__(self, tests: Iterable[str]) -> None:
        self._tests = tuple(tests)

    @functools.cached_property
    def node_ids(self) -> Sequence[tuple[str, str]]:
        """(node id, the same)."""
        return sorted((test, test) for test in self._tests)

    @functools.cached_property
    def dotted(self) -> Sequence[tuple[str, str]]:
        """(the form that both spellings share, node id)."""
        return sorted((_dotted(test), test) for test in self._tests)


def _begin_as(pattern: str, forms: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The forms that begin with what stands before the pattern's first wildcard; that pattern itself has none."""
    wild = _WILD.search(pattern)
    start = pattern[: wild.start()] if wild else pattern
    for place in range(bisect.bisect_left(forms, (start,)), len(forms)):
        form = forms[place][0]
        if not (form.startswith(start) if wild else form == start):
            return
        yield forms[place]


def _form_of(text: str) -> _Form:
    """A text without a wildcard is compared as it is: to compile one of 10,000 characters takes 0.1 s."""
    if not _WILD.search(text):
        return text.__eq__
    return re.compile(fnmatch.translate(text.replace("[", "[[]"))).fullmatch  # it does not backtrack without bound


def _dotted(test: str) -> str:
    """The form that both spellings of a node id share; parameters stay as they are."""
    path, bracket, parameters = test.partition("[")
    return path.replace(".py::", ".").replace("::", ".").replace("/", ".") + bracket + parameters
