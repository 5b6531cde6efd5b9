"""One short finding, at its place in the code where that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from pytest_gpumatrix.render.tame import bounded, tame

# What GitHub's Checks API takes ("Create a check run"): 255 characters, and 64 KB of message.
LONGEST_TITLE = 255
LONGEST_MESSAGE = 16_000  # characters, of at most four bytes each
InRepository = tuple[str, int | None]  # a file inside the repository, and a line of it


class Level(str, Enum):
    """How grave a finding is, the gravest first."""

    ERROR = "error"  # makes the run red or incomplete
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """A finding in words. Its texts are fit to be shown anywhere as plain text."""

    level: Level
    title: str  # one line
    message: str  # lines
    file: str | None = None  # inside the repository
    line: int | None = None  # from 1; only with a file


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A finding that is not yet in words: of very many only the most important are written."""

    level: Level
    kind: int  # its kind's place among all kinds
    title: str
    lines: Callable[[], Iterable[str]]
    place: InRepository | None = None
    strength: int = 0  # of its evidence

    @property
    def rank(self) -> tuple[int, ...]:
        """What sorts the most important first."""
        return (_PLACES[self.level], self.kind, self.place is None, -self.strength)

    def annotation(self) -> Annotation:
        """The finding in words."""
        file, line = self.place or (None, None)
        message = "\n".join(tame(text) for text in self.lines())
        return Annotation(
            level=self.level,
            title=bounded(tame(self.title), LONGEST_TITLE),
            message=bounded(message, LONGEST_MESSAGE),
            file=file,
            line=line,
        )


_PLACES = {level: place for place, level in enumerate(Level)}
