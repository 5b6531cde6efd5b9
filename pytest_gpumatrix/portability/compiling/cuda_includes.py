"""What files a CUDA C++ program of a tape may include: NVRTC prints lines of them in its errors.

They are those of the rootdir, of Python's packages, and of the headers of CUDA and of the system.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

# A directive may be spelled with digraphs, spaces and comments, and may follow a comment's end.
_SPACE = r"(?:[ \t\v\f]|/\*.*?\*/)*"
_DIRECTIVE = re.compile(
    rf"^(?:[^\n]*\*/)?[ \t\v\f]*(?:#|%:|\?\?=){_SPACE}(?:include|embed|import)\w*{_SPACE}"
    r"(?:\"(?P<quoted>[^\"\n]*)\"|<(?P<angled>[^>\n]*)>|(?P<computed>))",
    re.DOTALL | re.MULTILINE,
)
_GOES_ON = re.compile(r"(?:\\|\?\?/)[ \t]*\n")
_IN_FILE = re.compile(r"^(.+?)\(\d+\): ", re.MULTILINE)  # how NVRTC's log tells of a line
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Includes:
    """Where what a program includes may be."""

    def __init__(self, rootdir: Path, environ: Mapping[str, str], sys_path: Sequence[str]) -> None:
        self._allowed = [Path(os.path.realpath(folder)) for folder in (rootdir, *_installed(environ, sys_path))]

    def objection(self, source: str, names: Iterable[str], folders: Sequence[str], files: Sequence[str]) -> str | None:
        """Why a program is not compiled, or None.

        ``names`` are its name expressions, ``folders`` its include path, ``files`` what is included before it.
        """
        if other := next((folder for folder in folders if not self._is_allowed(Path(folder))), None):
            return f"the include path {other[:120]} is {self._outside}"
        if other := next((name for name in names if _CONTROL.search(name)), None):
            return f"{other!r:.80} is no name of a kernel"
        for file in (*files, *_included(source)):
            if file is None:
                return "it includes what a macro names, and which file that is, is not known"
            if "\0" in file or not all(self._is_allowed(Path(folder, file)) for folder in ("", *folders)):
                return f"it includes {file[:120]}, which is {self._outside}"
        return None

    def conceals(self, log: str) -> bool:
        """Whether the compiler speaks of a file that the program was not to include: a header may have led there."""
        return not all(self._is_allowed(Path(place)) for place in set(_IN_FILE.findall(log)))

    @property
    def _outside(self) -> str:
        return f"outside of {self._allowed[0]} and of the headers that are installed here"

    def _is_allowed(self, path: Path) -> bool:
        """What is not there is: it holds nothing."""
        try:
            real = Path(os.path.realpath(path))
            return not real.exists() or any(real.is_relative_to(folder) for folder in self._allowed)
        except (OSError, ValueError):
            return False


def _included(source: str) -> Iterator[str | None]:
    """What the directives in a source name; None for a macro. Those in comments and texts are among them."""
    text = _GOES_ON.sub("", source.replace("\r\n", "\n").replace("\r", "\n"))
    for directive in _DIRECTIVE.finditer(text):
        yield None if directive["computed"] is not None else directive["quoted"] or directive["angled"] or ""


def _installed(environ: Mapping[str, str], sys_path: Sequence[str]) -> Iterator[Path | str]:
    """The folders of installed headers."""
    yield from (entry for entry in sys_path if entry)
    yield from ("/usr/include", "/usr/local/include", Path(sys.prefix, "include"), Path(sys.prefix, "targets"))
    toolkits = [Path(environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if environ.get(name)]
    toolkits += [*Path("/usr/local").glob("cuda*"), Path("/opt/cuda")]
    if nvcc := shutil.which("nvcc", path=environ.get("PATH")):
        toolkits.append(Path(nvcc).resolve().parent.parent)
    yield from (toolkit / part for toolkit in toolkits for part in ("include", "targets"))
