"""Why a case of another tool's JUnit is bad: triage of what it says, each text once, and not without end."""

from __future__ import annotations

from dataclasses import replace

from pytest_gpumatrix.record.bounded_text import bounded
from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence

_MESSAGE = 2_000  # characters that are read for a cause: both ends of each text
_TEXT = 4_000
# Different failures of one file. Reading a text costs milliseconds, and a hostile file has a million of them.
_MOST_TEXTS = 500
_MOST_MESSAGES = 5_000
# How the message of pytest's own assertions begins, and what unittest calls them: they may quote any phrase.
_ASSERTIONS = ("AssertionError", "Failed:", "assert ")
_INSTALLED = ("site-packages", "dist-packages")  # in the path of a frame: what a library asserts is taken at its word
_TOO_MANY = Cause(
    category=Category.UNKNOWN,
    action=Action.REAL_FAILURE,
    advice="Mend the failures that have a cause, and look again.",
    rule="not-triaged",
    confidence=Confidence.LOW,
    note=f"not triaged: the file has more than {_MOST_MESSAGES:,} different failures",
)


class Triage:
    """Remembers the causes of one file's failures, so that a hundred thousand equal ones cost one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Cause] = {}

    def cause(self, *, message: str, details: str, output: str, kind: str) -> Cause:
        """The cause by a case's message and text, then by its output; ``kind`` is the type of the exception."""
        quotable = message.startswith(_ASSERTIONS) or kind.endswith("AssertionError")
        message = bounded(message, _MESSAGE)
        texts = (message, bounded(details, _TEXT), bounded(output, _TEXT), str(quotable))
        known = self._known.get(texts) or self._known.get((message, str(quotable)))
        if known is not None:
            return known
        if len(self._known) < _MOST_TEXTS:
            return self._known.setdefault(texts, _classified(message, *texts[1:3], quotable=quotable))
        if len(self._known) < _MOST_MESSAGES:
            cause = _classified(message, "", "", quotable=quotable)
            note = cause.note or f"by the message alone: the file has more than {_MOST_TEXTS:,} different failures"
            return self._known.setdefault((message, str(quotable)), replace(cause, note=note))
        return _TOO_MANY


def _classified(message: str, details: str, output: str, *, quotable: bool) -> Cause:
    # Only few files need the rules, and only for what no session has judged.
    from pytest_gpumatrix.triage.classify import FailureText, Source, classify, classify_log

    if not quotable or any(folder in details for folder in _INSTALLED):
        # A traceback or pytest's report of it; where it does not hold the message, that goes before it.
        text = details if message in details else f"{message}\n{details}"
        return classify_log(text, output=output)
    exceptions = [FailureText(text=text, quotable=True) for text in (details, message) if text]
    outputs = [FailureText(text=output, source=Source.OUTPUT)] if output else []
    return classify([*exceptions, *outputs])
