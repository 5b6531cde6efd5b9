"""A log, a traceback or captured output, read as a person does: which exceptions, which fatal lines, which noise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_gpumatrix.triage.failure_text import FailureText, Source, is_assertion, is_test_file
from pytest_gpumatrix.triage.log_lines import Kind, Line, is_exception, read_line
from pytest_gpumatrix.triage.log_output import TEXT_LENGTH, Output
from pytest_gpumatrix.triage.plain_text import bounded, plain, thinned

_LOG_LENGTH = 500_000  # characters of a log's telling lines that are read, from each end
_EXCEPTION_LINES = 80
_EXCEPTIONS = 200  # of one log that are kept
# A test's own words about what it wanted: they may quote anything.
_QUOTING = re.compile(
    r"assert \S|^\s*\+  where |did not raise|not raised\b|regex pattern did not match|does not match|not found in|"
    r"\bassert(?:ion)? (?:that )?['\"]|\bexpected (?:\w{1,20} )?\w{0,40}(?:error|exception|message|output|log|text)\b|"
    r"\b(?:got|in|contains?|match\w{0,3}|message|output|logs?|stderr|stdout|unexpected)\W{1,4}['\"][^'\"\n]{12,400}['\"]",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """What a log holds: failures, each a chain of exceptions with the innermost first, the most telling first."""

    failures: tuple[tuple[FailureText, ...], ...]
    output: tuple[FailureText, ...]  # fatal lines, then warnings


@dataclass(slots=True)
class _Exception:
    lines: list[str]
    writer: str
    chain: int
    path: str  # of the file that raised it
    located: bool = False


@dataclass(slots=True)
class _Reader:
    """State of one pass over the lines."""

    exceptions: list[_Exception] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    output: Output = field(default_factory=Output)
    chain: int = 0
    reports: set[int] = field(default_factory=set)
    open: _Exception | None = None  # the exception whose message goes on
    in_traceback: bool = False
    in_report: bool = False  # between the head of a failed test and its captured output: source code
    in_warnings: bool = False
    frame: str = ""
    joined: bool = False


def read_log(text: str) -> Log:
    """Read the text of a run, or a piece of one."""
    reader = _Reader()
    text = thinned(plain(text), _LOG_LENGTH)
    has_error_lines = re.search(r"^E   ", text, re.MULTILINE) is not None
    for raw in text.split("\n"):
        _take(reader, read_line(raw), has_error_lines)
    if not reader.exceptions:
        for message in reader.summaries:
            _open(reader, message, "")
    return Log(failures=_failures(reader), output=tuple(reader.output.texts()))


def parted(text: FailureText) -> Iterator[FailureText]:
    """A text made plain and short; output apart from the warnings in it."""
    if text.source is not Source.OUTPUT:
        yield FailureText(text=bounded(plain(text.text), TEXT_LENGTH), quotable=text.quotable, source=text.source)
        return
    output = Output()
    for raw in thinned(plain(text.text), _LOG_LENGTH).split("\n"):
        output.take(read_line(raw))
    yield from output.texts()


def _take(reader: _Reader, line: Line, has_error_lines: bool) -> None:
    kind = line.kind
    if kind in (Kind.SECTION, Kind.REPORT, Kind.CAPTURED):
        _turn(reader, line)
    elif reader.in_warnings:
        reader.output.quiet(line.text)
    elif kind is Kind.SUMMARY:
        reader.open = None
        reader.summaries.append(line.text)
    elif kind is Kind.CONNECTOR:
        reader.open, reader.joined = None, True
    elif kind is Kind.TRACEBACK:
        if not reader.joined and not reader.in_report:
            reader.chain += 1
        reader.open, reader.in_traceback, reader.joined, reader.frame = None, True, False, ""
    elif kind is Kind.FRAME:
        reader.frame = line.path
        if reader.open is not None and not reader.in_traceback:
            reader.open.lines.append(line.text)
    elif kind is Kind.ERROR_LINE:
        _error_line(reader, line)
    elif kind is Kind.LOCATION and (reader.open is not None or has_error_lines):
        if reader.open is not None:
            reader.open.path, reader.open.located = line.path, True
        reader.open = None
    elif reader.in_traceback:
        _traceback_line(reader, line)
    elif kind is Kind.EXCEPTION and not line.quiet:
        if not reader.in_report:
            reader.chain += not reader.joined and reader.open is None
        _open(reader, line.text, line.writer)
    else:
        _other(reader, line, has_error_lines)


def _turn(reader: _Reader, line: Line) -> None:
    """A heading of pytest's."""
    reader.open, reader.in_traceback, reader.in_warnings = None, False, False
    if line.kind is Kind.REPORT:
        reader.chain += 1
        reader.reports.add(reader.chain)
        reader.in_report = True
    elif line.kind is Kind.SECTION:
        reader.in_report = False
        reader.in_warnings = "warnings summary" in line.text
    else:
        reader.in_report = False


def _error_line(reader: _Reader, line: Line) -> None:
    if reader.open is None or (is_exception(line.text) and reader.open.writer == "E"):
        _open(reader, line.text, "E")
    else:
        _go_on(reader, line.text)


def _traceback_line(reader: _Reader, line: Line) -> None:
    if line.kind is Kind.EXCEPTION or (line.text[:1].strip() and line.kind is Kind.TEXT):
        reader.in_traceback = False
        _open(reader, line.text, line.writer)
    # Else it is source code, or the carets under it.


def _other(reader: _Reader, line: Line, has_error_lines: bool) -> None:
    if reader.open is not None and reader.open.writer == line.writer and not (line.quiet and line.text[:1].strip()):
        _go_on(reader, line.text)
        return
    if reader.open is not None and line.kind is not Kind.BLANK:
        reader.open = None
    source_code = reader.in_report or (has_error_lines and line.text.startswith((">", "    ")))
    if not source_code:
        reader.output.take(line)


def _open(reader: _Reader, text: str, writer: str) -> None:
    reader.open = _Exception(lines=[text], writer=writer, chain=reader.chain, path=reader.frame)
    reader.joined = False
    if len(reader.exceptions) >= _EXCEPTIONS:
        del reader.exceptions[_EXCEPTIONS // 2]
    reader.exceptions.append(reader.open)


def _go_on(reader: _Reader, text: str) -> None:
    if reader.open is not None and len(reader.open.lines) < _EXCEPTION_LINES:
        reader.open.lines.append(text)


def _failures(reader: _Reader) -> tuple[tuple[FailureText, ...], ...]:
    """Failed tests in their order: the first may have broken the others. Else the last chain goes first."""
    chains: dict[int, list[FailureText]] = {}
    for one in reader.exceptions:
        chains.setdefault(one.chain, []).append(_failure_text(one))
    ordered = sorted(chains) if reader.reports else sorted(chains, reverse=True)
    return tuple(tuple(chains[chain]) for chain in ordered)


def _failure_text(one: _Exception) -> FailureText:
    text = bounded("\n".join(one.lines).rstrip(), TEXT_LENGTH)
    quotable = is_assertion(text) and (is_test_file(one.path) or _QUOTING.search(text) is not None)
    return FailureText(text=text, quotable=quotable)
