"""Tapes, read one line at a time, their kernels judged for devices: what ``gpumatrix compile`` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.judging.compile_launches import Compiling, compile_launches
from pytest_gpumatrix.portability.judging.judgement import Fit
from pytest_gpumatrix.portability.judging.kernel_rows import KernelRow, KernelTable
from pytest_gpumatrix.portability.judging.locate import Boundary, located
from pytest_gpumatrix.portability.judging.plan import Wanted, capability_of
from pytest_gpumatrix.portability.tape.launch import Launch, Problem, digest
from pytest_gpumatrix.portability.tape.tape import Header, iter_tape


@dataclass(frozen=True, kw_only=True, slots=True)
class TapeFacts:
    """A tape, and what it was recorded on."""

    path: Path
    capability: ComputeCapability | None  # of the GPU; None: by Triton's interpreter, on a CPU
    versions: Mapping[str, str]
    cut_off: bool = False  # the file is not whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What the kernels of tapes would do on devices."""

    tapes: Sequence[TapeFacts]
    devices: Mapping[str, Profile]
    rows: Sequence[KernelRow]
    problems: Sequence[Problem]  # what could not be recorded

    @property
    def exit_code(self) -> int:
        """1 if a kernel fails somewhere; else 3 if something is not known, or there was nothing to judge; else 0."""
        fits = {judged.judgement.fit for row in self.rows for judged in row.devices.values()}
        if Fit.FAILS in fits:
            return 1
        unknown = Fit.UNKNOWN in fits or self.problems or any(tape.cut_off for tape in self.tapes)
        return 3 if unknown or not self.rows else 0


def judge_tapes(
    paths: Sequence[Path],
    devices: Mapping[str, Profile],
    compiling: Compiling,
    *,
    rootdir: Path | None,
    own_path: Sequence[str],
) -> Findings:
    """Judge each kernel of the tapes for each device.

    ``rootdir`` is where their sources are, if not where they were recorded; ``own_path`` is where this Python looks for
    modules. GpuMatrixError for a tape that cannot be read, or sources that are not to be found.
    """
    reading = _Reading(paths, rootdir, own_path)
    judged = compile_launches(lambda: reading.wanted(tuple(devices)), devices, reading.header, compiling)
    return Findings(
        tapes=reading.tapes(),
        devices=devices,
        rows=list(reading.table.rows(judged, tuple(devices))),
        problems=reading.problems,
    )


class _Reading:
    """Goes through tapes as often as it is asked to, and remembers from the first time what there is beside kernels."""

    def __init__(self, paths: Sequence[Path], rootdir: Path | None, own_path: Sequence[str]) -> None:
        recorded = {path: _header_of(path) for path in paths}
        # A kernel of two tapes is that of the first: rather one that ran on a GPU.
        self._recorded = dict(sorted(recorded.items(), key=lambda item: item[1].capability is None))
        headers = {path: located(header, path, rootdir, own_path) for path, header in self._recorded.items()}
        self.header = _joined(headers)
        self._boundary = Boundary(self.header)
        self.table = KernelTable()
        self.problems: list[Problem] = []
        self._cut_off: set[Path] = set()
        self._first = True

    def wanted(self, devices: Sequence[str]) -> Iterator[Wanted]:
        """The kernels of all launches."""
        first, self._first = self._first, False
        for path, header in self._recorded.items():
            ran_on = capability_of(header)
            _, lines = iter_tape(path)
            for line in lines:
                if isinstance(line, Launch):
                    name = digest(line.kernel)
                    if first:
                        self.table.add(line, name)
                    kernel = self._boundary.checked(line.kernel)
                    yield Wanted(digest=name, kernel=kernel, devices=devices, ran_on=ran_on)
                elif first:
                    self.problems.append(line)
            if lines.cut_off:
                self._cut_off.add(path)

    def tapes(self) -> list[TapeFacts]:
        """What was read."""
        return [
            TapeFacts(
                path=path,
                capability=capability_of(header),
                versions=header.versions,
                cut_off=path in self._cut_off,
            )
            for path, header in self._recorded.items()
        ]


def _header_of(path: Path) -> Header:
    """A tape's header. GpuMatrixError also for a GPU that `--devices` would not take: nothing is known of it."""
    header, _ = iter_tape(path)
    try:
        capability = capability_of(header)
        if capability is not None:
            catalogue.load().limits(capability)
    except GpuMatrixError as error:
        raise GpuMatrixError(f"{path}: {error}") from error
    return header


def _joined(headers: Mapping[Path, Header]) -> Header:
    """One header for all tapes. GpuMatrixError where they were recorded in different folders."""
    (first_path, first), *others = headers.items()
    for path, header in others:
        if header.rootdir != first.rootdir:
            raise GpuMatrixError(
                f"{first_path} was recorded in {first.rootdir}, and {path} in {header.rootdir}: compile them one by "
                "one, or say by --rootdir where the sources of all of them are"
            )
    search = dict.fromkeys(entry for header in headers.values() for entry in header.sys_path)
    return msgspec.structs.replace(first, sys_path=tuple(search))
