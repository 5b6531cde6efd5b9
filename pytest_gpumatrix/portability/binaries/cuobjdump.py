"""NVIDIA's cuobjdump: where it is, and what it lists of a file."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.binaries.architecture import binary_of
from pytest_gpumatrix.portability.compiling.machine import package_folders

_DISTRIBUTION = "nvidia-cuda-cuobjdump"
_TOOL = "cuobjdump"
# "ELF file    1: library.1.sm_90a.cubin", "PTX file    1: library.1.sm_90.ptx"
_LISTED = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.(sm_\w+)\.(cubin|ptx)$", re.MULTILINE)
_NOTHING = "does not contain device code"
# It lists some 90 MB in a second; a loaded machine takes longer.
_SECONDS, _BYTES_PER_SECOND, _MOST_SECONDS = 60.0, 2e6, 600.0
_TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+[af]?)\b", re.MULTILINE)  # PTX ISA, "PTX Module Directives: .target"
_LONGEST_PREAMBLE = 2**20


class CannotListError(Exception):
    """What a file carries could not be listed; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cuobjdump:
    """The program, and where it comes from, for people."""

    path: Path
    origin: str

    @classmethod
    def find(cls) -> Cuobjdump:
        """From its own package, from Triton's, or from the PATH. GpuMatrixError if there is none.

        It is this Python's, and never one that lies in the environment that is looked at: that is not trusted.
        """
        found = next(_installed(), None)
        if found is None:
            raise GpuMatrixError(
                "there is no cuobjdump here, which tells what a library carries: `pip install nvidia-cuda-cuobjdump` "
                "or `pip install triton`, or put the CUDA toolkit's on the PATH"
            )
        return found

    def list_code(self, file: Path) -> Mapping[Binary, int]:
        """What a library, cubin or fatbin carries: how many pieces of code for each architecture.

        CannotListError if cuobjdump cannot read it, does not end, or lists an architecture that is not known here.
        """
        with tempfile.TemporaryDirectory(prefix="gpumatrix-") as folder:
            link = Path(folder) / "file"  # its own name would be part of what is listed, and may hold anything
            link.symlink_to(file.resolve())
            text = self._run(link, seconds_for(file.stat().st_size))
        found = Counter((arch, kind) for arch, kind in _LISTED.findall(text))
        if not found:
            raise CannotListError(
                "cuobjdump finds neither machine code nor PTX in it (code for link-time optimisation is neither)"
            )
        try:
            return {binary_of(arch, ptx=kind == "ptx"): count for (arch, kind), count in found.items()}
        except ValueError as error:
            raise CannotListError(str(error)) from error

    def _run(self, link: Path, seconds: float) -> str:
        command = [str(self.path), "--list-elf", "--list-ptx", str(link)]
        try:
            done = subprocess.run(  # noqa: S603 - this Python's own program, and a path that we made
                command, capture_output=True, timeout=seconds, check=False, cwd=link.parent, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise CannotListError(f"cuobjdump did not end within {seconds:.0f} s") from error
        except OSError as error:
            raise CannotListError(f"{self.path} cannot be run: {error.strerror or error}") from error
        text = done.stdout.decode(errors="replace")
        if done.returncode == 0 or _NOTHING in text + done.stderr.decode(errors="replace"):
            return text
        last = next((line for line in (*done.stderr.splitlines()[::-1], *done.stdout.splitlines()[::-1]) if line), b"")
        said = last[:300].decode(errors="replace").replace(f" in '{link}'", "") or "it says nothing"
        raise CannotListError(f"cuobjdump ends with {done.returncode}: {said}")


def seconds_for(size: int) -> float:
    """How long cuobjdump may take for a file of so many bytes."""
    return min(_SECONDS + size / _BYTES_PER_SECOND, _MOST_SECONDS)


def list_ptx(file: Path) -> Mapping[Binary, int]:
    """What a file of PTX is for, by its own ``.target``; cuobjdump does not read these."""
    with file.open("rb") as opened:
        match = _TARGET.search(opened.read(_LONGEST_PREAMBLE))
    if match is None:
        raise CannotListError("it has no .target sm_XX: is it PTX?")
    try:
        return {binary_of(f"sm_{match[1].decode()}", ptx=True): 1}
    except ValueError as error:
        raise CannotListError(str(error)) from error


def _installed() -> Iterator[Cuobjdump]:
    try:
        distribution = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        files = []
    else:
        files = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
    for path in files:
        if path.stem == _TOOL and os.access(path, os.X_OK):
            yield Cuobjdump(path=path, origin=f"{_DISTRIBUTION} {distribution.version}")
    for folder in package_folders("triton"):
        path = folder / "backends" / "nvidia" / "bin" / _TOOL
        if os.access(path, os.X_OK):
            yield Cuobjdump(path=path, origin=f"triton {importlib.metadata.version('triton')}")
    on_path = shutil.which(_TOOL)
    if on_path is not None:
        yield Cuobjdump(path=Path(on_path), origin=on_path)
