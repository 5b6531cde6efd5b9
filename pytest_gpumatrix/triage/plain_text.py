"""A failure's text made plain: no colours, one kind of line end, letters in lower case, not too long."""

from __future__ import annotations

import re

# Each of these is bounded: what comes from the code under test may be hostile.
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")
_BLANKS = re.compile(r"[ \t]{2,}|\t")
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_LEFT_OUT = "\n"
_LINES_AROUND = 40  # lines that are kept before and after a telling one
_AROUND = 8_000  # and characters
# Words of which one stands in every fatal line, as loggers and libraries write them.
_TELLING = re.compile(
    r"[Ee]rror|ERROR|[Ff]ail|FAIL|[Ff]atal|FATAL|[Aa]ssert|[Aa]bort|[Ee]xception|[Tt]raceback|[Uu]nsupported|"
    r"not support|[Kk]ill|[Oo]ut of |OOM|Xid|[Ii]llegal|[Ii]nvalid|[Tt]erminat|[Ss]egmentation|[Cc]annot|[Uu]nable|"
    r"[Cc]ould not|timed out|[Nn]o kernel image|[Rr]equire|[Ww]arning|WARN"
)


def plain(text: str) -> str:
    """Without terminal colours, lines ended by one newline; what a progress bar overwrote becomes lines."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def searchable(text: str) -> str:
    """ASCII letters in lower case, blanks folded into one: line by line the same text, as rules search it."""
    return _BLANKS.sub(" ", text).translate(_LOWER)


def bounded(text: str, length: int) -> str:
    """The text, or so many characters of its beginning and of its end."""
    return text if len(text) <= 2 * length else text[:length] + _LEFT_OUT + text[-length:]


def thinned(text: str, length: int) -> str:
    """A long text without the stretches of lines in which nothing goes wrong, and of what is left its two ends."""
    if len(text) <= 2 * length:
        return text
    kept: list[str] = []
    end = 0
    for match in _TELLING.finditer(text):
        if match.start() < end:
            continue
        start = max(end, _lines_back(text, match.start()))
        end = _lines_on(text, match.end())
        kept.append(text[start:end])
    return bounded("".join(kept), length)


def _lines_back(text: str, place: int) -> int:
    """Where the line begins that stands some lines before a place; some thousand characters at most."""
    start = max(0, place - _AROUND)
    begin = text.rfind("\n", start, place)
    for _ in range(_LINES_AROUND):
        before = text.rfind("\n", start, begin) if begin > start else -1
        if before < 0:
            break
        begin = before
    return begin + 1 if begin >= 0 else start


def _lines_on(text: str, place: int) -> int:
    limit = min(len(text), place + _AROUND)
    end = place
    for _ in range(_LINES_AROUND):
        after = text.find("\n", end, limit)
        if after < 0:
            return limit
        end = after + 1
    return end
