"""The record of a run: JSON lines, a header first, a line per step, a footer last. Never written over."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TextIO

from trainer.errors import TrainerError

SCHEMA = 1
_PACKAGES = ("torch", "triton", "cuda-core", "flash-attn-4")


class Log:
    """Append-only; each line is flushed, so a run that dies leaves what it did. No footer: it died."""

    def __init__(self, path: Path) -> None:
        """Create ``path``; TrainerError where it exists or cannot be made."""
        self.path = path
        if path.exists():  # "x" below settles a race
            raise TrainerError(f"{path} exists, and a log is never written over: name another with --log")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("x", encoding="utf-8")
        except OSError as error:
            raise TrainerError(f"{path}: cannot be made: {error.strerror}; name another with --log") from error

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            self.write("footer", {"status": "failed", "error": text})
        self._file.close()

    def write(self, kind: str, values: Mapping[str, object]) -> None:
        """Write one line, with its ``type``. NaN and infinity are refused: JSON has none."""
        line = json.dumps({"type": kind, **values}, allow_nan=False)
        self._file.write(line + "\n")
        self._file.flush()


def default_path(preset: str) -> Path:
    """A new name under runs/: the time, the preset, the process."""
    return Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{preset}-{os.getpid()}.jsonl"


def versions() -> dict[str, str | None]:
    """What is installed, without importing it; None where it is not."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
