"""One line of a log: what a logger, a launcher or pytest put before it, and what kind of line it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_LONGEST = 4_000  # characters of a line that are looked at

# What may stand before the text of a line, one after another. Each is bounded.
_PREFIX = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:? ?(?=\S| )"
    r"|- (?:[\w.]{1,80} - )?(?=(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL) - )"
    r"|\[rank\d{1,5}\]:? ?"
    r"|\[\d{1,5},\d{1,5}\]<std(?:err|out)>: ?"
    r"|\[?\([A-Za-z][\w-]{0,40}(?: rank=\d{1,5})?(?:[ ,]+(?:pid|ip)=[\w.]{1,40}){1,2}\)\]? ?"
    r"|\[gw\d{1,4}\](?: \[ ?\d{1,3}%\])? ?"
    r"|\d{1,4}: (?=(?:Traceback|  File \"|(?:\w{1,60}\.){0,6}\w{1,60}(?:Error|Exception)\b))"
    r"| {0,8}[|+] (?=\S| )"
    r"|\[?(?P<glog>[DIWEF])\d{2,4}(?: \d{1,6})? \d\d:\d\d:\d\d(?:\.\d{1,9})?(?: +\d{1,9})?"
    r" [\w./<>+-]{1,200}:\d{1,6}\]:? ?"
    r"|(?P<tf>[IWEF]) (?=tensorflow/|external/|xla/)"
    r"|\[?(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|warning|info|debug|warn)\]?"
    r"(?::[\w./-]{0,80}:"
    r"| {1,8}\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?(?: \[[\w./]{1,80}:\d{1,6}\])?"
    r"|: {0,8}| {1,8}[\w./-]{1,80}:[\w./-]{1,80}:\d{1,6}|(?<=\])| - ) ?"
)
_DIGITS = re.compile(r"\d+")
_WARNING = re.compile(
    r"(?:^|\W)(?:[A-Za-z]{0,60})?warning:|^\s{2,}warnings\.warn\(|^(?:W|WARN)[:/ ]|\bNCCL INFO\b", re.IGNORECASE
)
_HANDLED = re.compile(
    r"\bfall(?:s|ing)? ?back\b|\bfallback\b|\bignored in:|\bretrying\b|\bhandled\b|"
    r"\bskipping (?:this|it|config|kernel|backend)",
    re.IGNORECASE,
)
# One of these is in each line that those two match, but for one that begins with "W": it is cheaper to look for.
_QUIET_WORDS = ("warn", "back", "ignored in:", "retrying", "handled", "skipping", "nccl info")
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]?\w{0,80}"
    r"(?:Error\w{0,20}|Exception\w{0,12}|OutOfResources|Failed|Failure|Unsupported|GPUTooOldForTriton|TimeoutExpired|"
    r"Timeout|Group)"
    r"(?::(?=\s|$)| ?\(|\s*$)"
)
_SECTION = re.compile(r"={3,80} (?P<title>[^=\n]{1,200}) ={3,80}$")
_REPORT = re.compile(r"_{3,80} .{1,500} _{3,80}$")
_CAPTURED = re.compile(r"-{2,80} ?Captured (?P<what>stdout|stderr|log) (?:setup|call|teardown) ?-{2,80}$")
_LOCATION = re.compile(r"(?P<path>[^\s:](?:[^:\n]|:(?=\\)){0,400}\.\w{1,4}):\d{1,7}: (?P<what>\w{1,100})?\s*$")
_SUMMARY = re.compile(r"(?:FAILED|ERROR) \S{1,2000} - (?P<message>.+)")
_CONNECTOR = re.compile(
    r"(?:During handling of the above exception, another exception occurred|"
    r"The above exception was the direct cause of the following exception):"
)
_FRAME = re.compile(r'\s{1,12}File "(?P<path>[^"\n]{1,1000})", line \d{1,8}')
_PYTEST_ERROR = re.compile(r"E(?:   |\s*$|\s(?=\S))")


class Kind(str, Enum):
    """What a line is in the structure of a log."""

    TRACEBACK = "traceback"
    CONNECTOR = "connector"
    FRAME = "frame"
    EXCEPTION = "exception"
    ERROR_LINE = "error-line"  # one of pytest's, beginning with E
    LOCATION = "location"  # pytest's "file.py:12: Error"
    REPORT = "report"  # the head of a failed test
    SECTION = "section"
    CAPTURED = "captured"
    SUMMARY = "summary"
    BLANK = "blank"
    TEXT = "text"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line without what stood before it."""

    text: str
    kind: Kind
    writer: str  # what stood before it, digits and times apart: lines of one writer belong together
    quiet: bool  # a warning, a note, or what was handled
    path: str = ""  # of a frame or a location


def read_line(raw: str) -> Line:
    """Take a line apart."""
    raw = raw[:_LONGEST]
    text, writer, level = _without_prefix(raw)
    kind, text, path = _kind(text)
    quiet = level in "DIW" if level else False
    if not quiet and kind in (Kind.TEXT, Kind.EXCEPTION):
        quiet = _is_quiet(text)
    return Line(text=text, kind=kind, writer=writer, quiet=quiet, path=path)


def _is_quiet(text: str) -> bool:
    lowered = text.lower()
    if text[:1] not in ("W", "w") and not any(word in lowered for word in _QUIET_WORDS):
        return False
    return _HANDLED.search(text) is not None or (_WARNING.search(text) is not None and "NCCL WARN" not in text)


def _without_prefix(raw: str) -> tuple[str, str, str]:
    """The text, who wrote it, and the level's letter ("" where there is none)."""
    text, writer, level = raw, "", ""
    for _ in range(6):
        match = _PREFIX.match(text)
        if match is None or match.end() == 0:
            break
        word = match["glog"] or match["tf"] or match["level"] or ""
        level = word[:1].upper() or level
        writer += _DIGITS.sub("", match[0].split("[", 1)[0] if word else match[0])
        if "rank" in match[0] or "pid=" in match[0]:
            writer += match[0]
        text = text[match.end() :]
    return text, writer, level


def _kind(text: str) -> tuple[Kind, str, str]:
    if not text.strip():
        return Kind.BLANK, "", ""
    if text.lstrip().startswith(("Traceback (most recent call last)", "Original Traceback (most recent call last)")):
        return Kind.TRACEBACK, text, ""
    if _CONNECTOR.match(text.strip()):
        return Kind.CONNECTOR, text, ""
    if frame := _FRAME.match(text):
        return Kind.FRAME, text, frame["path"]
    if error := _PYTEST_ERROR.match(text):
        return Kind.ERROR_LINE, text[error.end() :].lstrip(), ""
    if captured := _CAPTURED.match(text):
        return Kind.CAPTURED, captured["what"], ""
    if section := _SECTION.match(text):
        return Kind.SECTION, section["title"], ""
    if _REPORT.match(text):
        return Kind.REPORT, text, ""
    if summary := _SUMMARY.match(text):
        return Kind.SUMMARY, summary["message"], ""
    if (location := _LOCATION.match(text)) and (location["what"] or text.rstrip().endswith(":")):
        return Kind.LOCATION, text, location["path"]
    if _EXCEPTION.match(text):
        return Kind.EXCEPTION, text, ""
    return Kind.TEXT, text, ""


def is_exception(text: str) -> bool:
    """Whether a text begins as Python prints an exception."""
    return _EXCEPTION.match(text) is not None
