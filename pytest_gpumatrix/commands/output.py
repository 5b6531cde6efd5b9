"""Where a command's text goes: the screen, or a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_gpumatrix.errors import GpuMatrixError


def put(text: str | Iterable[str], output: Path | None, *, option: str = "--output") -> None:
    """Write to the screen, or to a file that appears whole or is left as it was."""
    pieces = [text] if isinstance(text, str) else text
    if output is None:
        _put_on_screen(pieces)
        return
    from pytest_gpumatrix.record.atomic import write_atomically

    try:
        write_atomically(output, "".join(pieces).encode("utf-8", "replace"))
    except OSError as error:
        raise GpuMatrixError(f"{option} {output}: cannot be written: {error.strerror or error}") from error


def _put_on_screen(pieces: Iterable[str]) -> None:
    """BrokenPipeError if nobody reads any more; GpuMatrixError if it cannot be written for another reason."""
    encoded = (piece.encode(sys.stdout.encoding or "utf-8", "replace") for piece in pieces)
    try:
        for piece in encoded:
            sys.stdout.buffer.write(piece)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer goes nowhere: Python would try once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise GpuMatrixError(f"the output cannot be written: {error.strerror or error}") from error


def say(sentence: str) -> None:
    """A word to the user beside the output, on a line of its own."""
    from pytest_gpumatrix.render.text import clean

    print(f"gpumatrix: {clean(sentence)}", file=sys.stderr)


def terminal_style(output: Path | None) -> dict[str, Any]:
    """Width, colour and encoding for the renderers of terminal text, by where it goes."""
    to_screen = output is None
    return {
        "width": shutil.get_terminal_size().columns if to_screen else 80,
        "colour": to_screen and sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
        "encoding": sys.stdout.encoding if to_screen else "utf-8",
    }


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[int, int], None]]:
    """A line on the terminal's last line, if there is a terminal, for what takes more than two seconds."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from pytest_gpumatrix.render.progress import Progress

    progress = Progress(_overwrite, live=True, what=what)
    try:
        yield progress
    finally:
        if progress.shown:
            _overwrite("")


def _overwrite(line: str) -> None:
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()
