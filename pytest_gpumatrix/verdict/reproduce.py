"""The command that makes a red line again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_gpumatrix.record.column import CPU

_BARE = re.compile(r"[A-Za-z0-9_./:=,+-]+")
_TAME = r"A-Za-z0-9_./:=,+\-\[\] (){}*?%^~!;\"$"
_PLAIN = re.compile(f"[{_TAME}]+")
# Everything that a terminal, a shell's history or Markdown could take for more than text is written as an escape. Of
# letters that are those that take no ink: the Hangul fillers and the Egyptian blanks.
_WILD = re.compile(f"(?:[^\\w{_TAME}]|[\u115f\u1160\u3164\uffa0\U00013441\U00013442])+")


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
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return "$'" + _WILD.sub(_escaped, text) + "'"


def _escaped(run: re.Match[str]) -> str:
    return "\\x" + run[0].encode("utf-8", "surrogatepass").hex(" ").replace(" ", "\\x")
