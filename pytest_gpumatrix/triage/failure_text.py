"""The texts of one failure, each with where it came from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

import pytest

from pytest_gpumatrix.triage.printable import printable

_CHAIN_END = 50  # exceptions of a longer chain that are read, from each end
# Where a project keeps its tests: what is raised there is the test's own word.
_TEST_FILE = re.compile(r"(?:^|[/\\])(?:tests?|testing)[/\\]|(?:^|[/\\])(?:test_[^/\\]*|[^/\\]*_test|conftest)\.py$")
# Packages whose functions raise a test's assertions, with words of the test in them: pytest, unittest, numpy.testing,
# torch.testing, absl.testing and the like.
_ASSERTING = frozenset({"_pytest", "unittest", "testing", "mock", "hamcrest", "assertpy", "testtools", "hypothesis"})
_ASSERTION = re.compile(r"(?:(?:builtins|_pytest\.outcomes)\.)?(?:AssertionError|Failed)\b|assert\b")


class Source(str, Enum):
    """Where a text came from, the most telling first."""

    EXCEPTION = "exception"
    OUTPUT = "output"  # captured standard error and logs: its fatal lines
    WARNING = "warning"  # warnings, notes, and what a log says was handled


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureText:
    """One exception of a chain, or another text about a failure."""

    text: str
    # An assertion of the project's own test may quote any phrase; what a library says is taken at its word.
    quotable: bool = False
    source: Source = Source.EXCEPTION


def exception_texts(error: BaseException) -> tuple[FailureText, ...]:
    """The chain of an exception, innermost first, as Python would print it (``raise ... from None`` cuts it), with what
    a group of exceptions holds. Of a chain without end its two ends.
    """
    found: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if id(current) not in found:
            found[id(current)] = current
            waiting += _before(current)
    chain = list(found.values())
    if len(chain) > 2 * _CHAIN_END:
        chain = [*chain[:_CHAIN_END], *chain[-_CHAIN_END:]]
    return tuple(_exception_text(link) for link in reversed(chain))


def _before(error: BaseException) -> Iterator[BaseException]:
    """What an exception came from, the first of a group's exceptions in the first place."""
    before = error.__cause__
    if before is None and not error.__suppress_context__:
        before = error.__context__
    grouped = getattr(error, "exceptions", ())  # of an ExceptionGroup a tuple
    for link in (*(grouped if isinstance(grouped, tuple) else ()), before):
        if isinstance(link, BaseException):
            yield link


def is_test_file(path: str) -> bool:
    """Whether what a source file asserts is a test's own word, by its name: a file of a project's tests, never one that
    was installed, but for the libraries that assert in a test's stead.
    """
    parts = PurePath(path.replace("\\", "/")).parts
    if not _ASSERTING.isdisjoint(parts):
        return True
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return _TEST_FILE.search(path) is not None


def is_assertion(text: str) -> bool:
    """Whether a text begins as that of an assertion or of ``pytest.fail`` does."""
    return _ASSERTION.match(text) is not None


def _exception_text(error: BaseException) -> FailureText:
    kind = type(error)
    text = f"{kind.__module__}.{kind.__qualname__}: {printable(_said(error))}"
    asserted = isinstance(error, (AssertionError, pytest.fail.Exception))
    return FailureText(text=text, quotable=asserted and not _raised_by_library(error))


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as problem:  # noqa: BLE001 - code under test: it must not end the session
        return f"its text cannot be had: {type(problem).__name__}"


def _raised_by_library(error: BaseException) -> bool:
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return not is_test_file(trace.tb_frame.f_code.co_filename)
