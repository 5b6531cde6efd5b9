"""Annotations as lines of the log of a GitHub workflow's step.

The form and its escapes are those of "Workflow commands for GitHub Actions" (docs.github.com).
"""

from __future__ import annotations

from collections import Counter

from pytest_gpumatrix.render.annotation import Annotation, Draft, Level
from pytest_gpumatrix.render.annotations import drafts
from pytest_gpumatrix.verdict.verdict import Verdict

MOST = 10  # of a level in a step: the runner keeps no more (ExecutionContext of actions/runner)
LONGEST = 4096  # UTF-16 units of a message: the rest is cut by the runner
_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_MESSAGE, ":": "%3A", ",": "%2C"}


def render_workflow_commands(verdict: Verdict) -> str:
    """A line for each of the most important annotations, and one that says how many more there are."""
    return "".join(f"{workflow_command(item)}\n" for item in most_important(drafts(verdict)))


def most_important(found: list[Draft]) -> list[Annotation]:
    """As many of each level as a step can have, in their order; a last notice counts the others."""
    counts: Counter[Level] = Counter()
    kept: list[Annotation] = []
    for draft in found:
        counts[draft.level] += 1
        if counts[draft.level] <= MOST - (draft.level is Level.NOTICE):  # one notice is for the count
            kept.append(draft.annotation())
    if left_out := len(found) - len(kept):
        title = f"{left_out:,} more finding{'' if left_out == 1 else 's'}"
        kept.append(Annotation(level=Level.NOTICE, title=title, message="The job summary and the report have them."))
    return kept


def workflow_command(item: Annotation) -> str:
    """One line. Nothing of the annotation can end it, or be a command of its own."""
    given = {"file": item.file, "line": item.line if item.file else None, "title": item.title}
    properties = ",".join(f"{name}={_escaped(str(value), _PROPERTY)}" for name, value in given.items() if value)
    return f"::{item.level.value} {properties}::{_escaped(_cut(item.message), _MESSAGE)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)


def _cut(message: str) -> str:
    units = message.encode("utf-16-le")
    if len(units) <= 2 * LONGEST:
        return message
    return units[: 2 * (LONGEST - 1)].decode("utf-16-le", "ignore") + "…"
