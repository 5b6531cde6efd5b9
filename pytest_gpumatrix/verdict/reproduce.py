"""The command that makes a red line again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_gpumatrix.record.column import CPU

_BARE = re.compile(r"[A-Za-z0-9_./:=,+-]+")
# Everything that a terminal, a shell's history or Markdown could take for more than text is written as an escape.
_TAME = re.compile(r"[A-Za-z0-9_./:=,+\-\[\] (){}*?%^~!;\"$]+")


def reproduce_command(test: str, devices: Iterable[str]) -> tuple[str, ...]:
    """The words of a command line, each quoted for bash and zsh; joined by spaces they are the command."""
    names = [name for name in devices if name != CPU]
    words = ["pytest", "--gpu-matrix"]
    if names:
        words.append(quote(f"--gpu-devices={','.join(names)}"))
    else:
        words.insert(0, "CUDA_VISIBLE_DEVICES=")  # the cpu column is that of a machine without a GPU
    if test.startswith("-"):
        words.append("--")
    return (*words, quote(test))


def quote(text: str) -> str:
    """Quote one word: as it is, in single quotes, or as $'...' where it holds more than tame ASCII and letters."""
    if _BARE.fullmatch(text):
        return text
    if _TAME.fullmatch(text):
        return f"'{text}'"
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if _TAME.fullmatch(character) or character.isalnum():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
