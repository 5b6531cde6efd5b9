"""What the libraries of an environment carry, and which devices they leave out: for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.binaries.candidates import NotRead
from pytest_gpumatrix.portability.binaries.support import Carried, Coverage, Library, ReadBy, Way
from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import clean, fit, wrap

_MOST_FILES = 3  # that are named where several carry the same
_MOST_NOT_READ = 20
_RED, _YELLOW = "31", "33"


def render_binaries(
    coverage: Coverage, *, width: int = 80, colour: bool = False, encoding: str | None = "utf-8"
) -> str:
    """Lines for a terminal."""
    style = Style.of(width=width, colour=colour, encoding=encoding)
    return style.text(_lines(coverage, style))


def render_binaries_json(coverage: Coverage) -> str:
    """The same for scripts, each file by itself."""
    content = {
        "schema": 1,
        "environment": coverage.environment,
        "cuobjdump": coverage.tool,
        "files": coverage.files,
        "devices": {
            name: {"profile": profile.id, "capability": str(profile.capability)}
            for name, profile in coverage.devices.items()
        },
        "distributions": [
            {
                "name": carried.origin.name,
                "version": carried.origin.version,
                "libraries": [_facts(library, coverage) for library in carried.libraries],
            }
            for carried in coverage.carried
        ],
        "not_read": [{"path": str(item.path), "reason": item.reason} for item in coverage.not_read],
        "left_out": list(coverage.left_out),
    }
    return json.dumps(content, indent=2) + "\n"


def _facts(library: Library, coverage: Coverage) -> dict[str, Any]:
    return {
        "path": str(library.path),
        "read_by": library.read_by.value,
        "machine_code": {binary.sm: count for binary, count in library.code.items() if not binary.ptx},
        "ptx": {_ptx_name(binary): count for binary, count in library.code.items() if binary.ptx},
        "devices": {
            name: {
                "runs": library.way(profile.capability).value,
                "pieces": library.pieces(profile.capability)[0],
            }
            for name, profile in coverage.devices.items()
        },
    }


def _lines(coverage: Coverage, style: Style) -> Iterator[str]:
    by = f", by the cuobjdump of {coverage.tool}" if coverage.tool is not None else ""
    yield from wrap(clean(f"CUDA code in {coverage.environment}{by}"), style.columns, hanging="  ")
    if coverage.carried:
        yield ""
    for carried in coverage.carried:
        yield from _of_distribution(carried, coverage, style)
    yield from _by_headers(coverage, style)
    yield from _not_read(coverage.not_read, style)
    yield ""
    yield from wrap(_summary(coverage), style.columns, hanging="  ")


def _of_distribution(carried: Carried, coverage: Coverage, style: Style) -> Iterator[str]:
    title = clean(f"{carried.origin.name} {carried.origin.version or ''}")
    alike: dict[tuple[Binary, ...], list[Library]] = defaultdict(list)
    for library in carried.libraries:
        alike[tuple(library.code)].append(library)
    if len(alike) == 1:
        yield from _of_files(title, carried.libraries, coverage, style)
        return
    yield f"{title}:"
    for libraries in alike.values():
        yield from _of_files(f"  {_file_names(libraries)}", libraries, coverage, style)
    for name, profile in coverage.devices.items():
        ways = carried.ways(profile.capability)
        if len(ways) > 1:
            shares = ", ".join(f"{_WORDS[way]} {count}" for way, count in ways.items())
            line = f"  {_named(name, coverage)}: of {len(carried.libraries)} files {shares}"
            yield from _painted(line, style, _YELLOW)


_WORDS = {Way.MACHINE_CODE: "machine code in", Way.PTX: "PTX alone in", Way.LEFT_OUT: "nothing in"}


def _of_files(title: str, libraries: Sequence[Library], coverage: Coverage, style: Style) -> Iterator[str]:
    """One line: what the files, which carry the same architectures, carry, and what that means for the devices."""
    by_way = {
        way: [name for name, profile in coverage.devices.items() if libraries[0].way(profile.capability) is way]
        for way in Way
    }
    parts = [f"{title}: {_architectures(libraries)}"]
    if by_way[Way.PTX]:
        parts.append(f"by PTX, which the driver translates at the first start: {_all(by_way[Way.PTX], coverage)}")
    if few := list(_few(libraries, coverage)):
        parts.append(f"few pieces of code for: {', '.join(few)}")
    if by_way[Way.LEFT_OUT]:
        parts.append(f"leaves out: {_all(by_way[Way.LEFT_OUT], coverage)}")
    yield from _painted("; ".join(parts), style, _RED if by_way[Way.LEFT_OUT] else None)


def _architectures(libraries: Sequence[Library]) -> str:
    """ "sm_80 sm_90a + compute_90 PTX": how many pieces of code there are is told where they are few beside others."""
    code: dict[Binary, int] = defaultdict(int)
    for library in libraries:
        for binary, count in library.code.items():
            code[binary] += count
    most = max(code.values())
    shown = {
        binary: f"{_ptx_name(binary) if binary.ptx else binary.sm}{f' ({count} of {most})' if 2 * count < most else ''}"
        for binary, count in code.items()
    }
    machine = " ".join(text for binary, text in shown.items() if not binary.ptx)
    ptx = " ".join(text for binary, text in shown.items() if binary.ptx)
    return " + ".join(part for part in (machine, f"{ptx} PTX" if ptx else "") if part)


def _few(libraries: Sequence[Library], coverage: Coverage) -> Iterator[str]:
    """The devices for which less than half of the pieces of code load, of the file that has fewest for them."""
    for name, profile in coverage.devices.items():
        shares = [library.pieces(profile.capability) for library in libraries]
        loading, most = min(shares, key=lambda share: share[0] / share[1])
        if 0 < 2 * loading < most:
            yield f"{_named(name, coverage)} {loading} of {most}"


def _file_names(libraries: Sequence[Library]) -> str:
    names = [clean(library.path.name) for library in libraries[:_MOST_FILES]]
    more = len(libraries) - len(names)
    return ", ".join([*names, *([f"and {more} more"] if more else [])])


def _by_headers(coverage: Coverage, style: Style) -> Iterator[str]:
    found = [
        library for carried in coverage.carried for library in carried.libraries if library.read_by is ReadBy.HEADERS
    ]
    if found:
        yield ""
        yield from wrap(f"By its own headers, for cuobjdump fails: {_file_names(found)}", style.columns, hanging="  ")


def _not_read(not_read: Sequence[NotRead], style: Style) -> Iterator[str]:
    if not_read:
        yield ""
        yield "Not read:"
    for item in not_read[:_MOST_NOT_READ]:
        yield style.paint(fit(f"  {clean(str(item.path))}", style.columns, keep_end=True), _YELLOW)
        yield from _painted(f"    {clean(item.reason)}", style, _YELLOW)
    if len(not_read) > _MOST_NOT_READ:
        yield f"  and {len(not_read) - _MOST_NOT_READ} more (--format json has them)"


def _summary(coverage: Coverage) -> str:
    unread = f"; {len(coverage.not_read):,} could not be read" if coverage.not_read else ""
    count = sum(len(carried.libraries) for carried in coverage.carried)
    if not count:
        return f"no CUDA code found in {coverage.files:,} {'file' if coverage.files == 1 else 'files'}{unread}."
    files = f"{count:,} {'file carries' if count == 1 else 'files carry'} CUDA code"
    if coverage.left_out:
        verdict = f"{'it leaves' if count == 1 else 'some leave'} out {_all(coverage.left_out, coverage)}"
    else:
        verdict = "no device is left out"
    return f"{files}: {verdict}{unread}."


def _all(names: Sequence[str], coverage: Coverage) -> str:
    return ", ".join(_named(name, coverage) for name in names)


def _named(name: str, coverage: Coverage) -> str:
    capability = str(coverage.devices[name].capability)
    return clean(name) if name == capability else f"{clean(name)} ({capability})"


def _ptx_name(binary: Binary) -> str:
    return f"compute_{binary.sm.removeprefix('sm_')}"


def _painted(line: str, style: Style, code: str | None) -> Iterator[str]:
    indent = line[: len(line) - len(line.lstrip())]
    for part in wrap(line, style.columns, indent=indent, hanging=f"{indent}  "):
        yield style.paint(part, code)
