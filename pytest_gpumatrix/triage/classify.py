"""Texts of a failure -> its cause, by the rules in rules.yml."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_gpumatrix.triage.cause import Action, Category, Cause
from pytest_gpumatrix.triage.printable import printable

_EVIDENCE_LENGTH = 300  # characters of the deciding line that are kept
_TEXT_LENGTH = 20_000  # characters of one exception that are searched, from each end
_GENUINE = Cause(
    category=Category.GENUINE_FAILURE,
    action=Action.REAL_FAILURE,
    advice="No hardware cause is proven: read it as a bug.",
    rule="default",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureText:
    """One exception of a chain, or another text about a failure."""

    text: str
    # An assertion of the project's own test may quote any phrase; what a library says is taken at its word.
    quotable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One row of rules.yml."""

    rule: str
    category: Category
    pattern: re.Pattern[str]
    action: Action
    advice: str


def classify(texts: Iterable[FailureText]) -> Cause:
    """The cause by the first text (innermost exception first) that a rule matches, else a genuine failure."""
    for failure in texts:
        if failure.quotable:
            continue
        text = _bounded(failure.text)
        for rule in load_rules():
            if match := rule.pattern.search(text):
                return Cause(
                    category=rule.category,
                    action=rule.action,
                    advice=rule.advice,
                    evidence=_line(text, match),
                    rule=rule.rule,
                )
    return _GENUINE


def exception_texts(error: BaseException) -> tuple[FailureText, ...]:
    """The chain of an exception, innermost first, as Python would print it (``raise ... from None`` cuts it)."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return tuple(_exception_text(link) for link in reversed(chain))


@functools.cache
def load_rules() -> Sequence[Rule]:
    """The rules, in their order."""
    import yaml

    rows = yaml.safe_load(Path(__file__).with_name("rules.yml").read_text(encoding="utf-8"))
    return tuple(
        Rule(
            rule=row["rule"],
            category=Category(row["category"]),
            pattern=re.compile(row["pattern"], re.IGNORECASE | re.DOTALL),
            action=Action(row["action"]),
            advice=row["advice"],
        )
        for row in rows
    )


def _exception_text(error: BaseException) -> FailureText:
    kind = type(error)
    text = f"{kind.__module__}.{kind.__qualname__}: {printable(str(error))}"
    asserted = isinstance(error, (AssertionError, pytest.fail.Exception))
    return FailureText(text=text, quotable=asserted and not _raised_by_library(error))


def _raised_by_library(error: BaseException) -> bool:
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    parts = Path(trace.tb_frame.f_code.co_filename).parts
    return ("site-packages" in parts or "dist-packages" in parts) and "_pytest" not in parts


def _bounded(text: str) -> str:
    return text if len(text) <= 2 * _TEXT_LENGTH else text[:_TEXT_LENGTH] + "\n" + text[-_TEXT_LENGTH:]


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = " ".join(text[start : end if end >= 0 else len(text)].split())
    return line if len(line) <= _EVIDENCE_LENGTH else line[: _EVIDENCE_LENGTH - 1] + "…"
