"""Real text that every machine has: the Python standard library's sources, as bytes. No network."""

from __future__ import annotations

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from trainer.errors import TrainerError

_LEFT_OUT = frozenset({"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"})
_BETWEEN_FILES = b"\0"  # a byte that no source file has
_VALIDATION_EVERY = 20  # each 20th file, by the order of names


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Bytes as tokens. ``sha256`` names them: two runs on the same text have the same one."""

    source: str
    sha256: str
    train: Tensor  # (bytes,) uint8
    validation: Tensor  # (bytes,) uint8


def standard_library() -> Path:
    """Where the sources of the running Python are."""
    return Path(sysconfig.get_path("stdlib"))


def read_text(folder: Path | None = None, pattern: str = "*.py") -> Text:
    """Read the files of a folder (default: the standard library), split by whole files, in the order of names.

    Raises TrainerError where there are fewer than two files, or a file cannot be read.
    """
    source = "the Python standard library" if folder is None else str(folder)
    root = standard_library() if folder is None else folder
    files = sorted(
        (path for path in root.rglob(pattern) if path.is_file() and not _is_left_out(path, root)),
        key=lambda path: path.relative_to(root).as_posix(),
    )
    if len(files) < 2:
        raise TrainerError(f"{root}: {len(files)} files match {pattern}; need two at least (see --text, --pattern)")
    digest = hashlib.sha256()
    train, validation = bytearray(), bytearray()
    for number, path in enumerate(files):
        try:
            content = path.read_bytes() + _BETWEEN_FILES
        except OSError as error:
            raise TrainerError(f"{path}: cannot be read: {error.strerror}") from error
        digest.update(content)
        last = number == len(files) - 1
        held_out = number % _VALIDATION_EVERY == _VALIDATION_EVERY - 1 or (last and not validation)
        (validation if held_out else train).extend(content)
    return Text(source=source, sha256=digest.hexdigest(), train=_tensor(train), validation=_tensor(validation))


def _is_left_out(path: Path, root: Path) -> bool:
    return not _LEFT_OUT.isdisjoint(path.relative_to(root).parts)


def _tensor(content: bytearray) -> Tensor:
    return torch.frombuffer(content, dtype=torch.uint8)


class Sampler:
    """Sequences at random places, the same for a seed whatever the device and the micro batch."""

    def __init__(self, text: Tensor, sequence: int, seed: int) -> None:
        if text.numel() <= sequence:
            raise TrainerError(f"the text has {text.numel()} bytes: too few for sequences of {sequence}")
        self._text = text
        self._sequence = sequence
        self._generator = torch.Generator().manual_seed(seed)

    def sample(self, sequences: int) -> tuple[Tensor, Tensor]:
        """Return inputs and targets, (sequences, T) int64 each; a target is the byte after its input."""
        starts = torch.randint(self._text.numel() - self._sequence, (sequences,), generator=self._generator)
        window = starts[:, None] + torch.arange(self._sequence + 1)  # (sequences, T + 1)
        tokens = self._text[window].long()
        return tokens[:, :-1], tokens[:, 1:]
