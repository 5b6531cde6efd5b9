"""What is slow, put together for a reader: findings that differ in their numbers alone are told at their worst."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.verdict.matrix import Matrix

_NUMBER = re.compile(r"\d[\d,]*")
_FIGURE = re.compile(r"[^(]*?(\d[\d,]*(?: B)?)")  # what is in brackets is of the build that it is held against


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowOn:
    """A device on which a kernel is slow."""

    tests: tuple[str, ...]  # that launch it
    figure: str  # "188 B": how slow, where the devices differ in it; else empty


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowRow:
    """A kernel that would run, and be slow: what was found, at its worst, and where."""

    finding: str
    devices: Mapping[str, SlowOn]

    @property
    def tests(self) -> tuple[str, ...]:
        """Those of all devices."""
        return tuple(dict.fromkeys(test for on in self.devices.values() for test in on.tests))


def kind_of(finding: str) -> str:
    """What remains of a finding without its numbers."""
    return _NUMBER.sub("0", finding)


def at_worst(findings: Mapping[str, Sequence[str]]) -> str:
    """Findings of one kind by device: "7.5: at worst spills 64 B per thread (...); 8.6, 8.9: 8 B", the worst first."""
    worst = {name: max(texts, key=_numbers) for name, texts in findings.items()}
    alike: dict[str, list[str]] = {}
    for name in sorted(worst, key=lambda name: _numbers(worst[name]), reverse=True):
        alike.setdefault(_figure(worst[name]) or worst[name], []).append(name)
    (first, *others), told = alike.items(), any(len(set(texts)) > 1 for texts in findings.values())
    parts = [f"{', '.join(first[1])}: {'at worst ' if told else ''}{worst[first[1][0]]}"]
    return "; ".join([*parts, *(f"{', '.join(names)}: {figure}" for figure, names in others)])


def slow_rows(matrix: Matrix) -> list[SlowRow]:
    """What the cells that count say of slow launches, a row for what a kernel has on the same devices alone.

    The row of most devices and tests comes first.
    """
    found: dict[tuple[str, str], dict[str, dict[str, list[str]]]] = {}  # by kernel and kind: device -> test -> findings
    for test, row in matrix.cells.items():
        for device, resolved in row.items():
            for kernel, finding in _findings(resolved.cell.slow):
                on = found.setdefault((kernel, kind_of(finding)), {}).setdefault(device, {})
                on.setdefault(test, []).append(finding)
    together: dict[tuple[str, tuple[str, ...]], list[Mapping[str, Mapping[str, Sequence[str]]]]] = {}
    for (kernel, _), devices in found.items():
        together.setdefault((kernel, tuple(devices)), []).append(devices)
    rows = [_row(kernel, kinds) for (kernel, _), kinds in together.items()]
    return sorted(rows, key=lambda row: (-len(row.devices), -len(row.tests), row.finding))


def _findings(slow: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each finding with its kernel: a cell has "kernel: finding; finding"."""
    for sentence in slow:
        kernel, _, findings = sentence.partition(": ")
        yield from ((kernel, finding) for finding in findings.split("; "))


def _row(kernel: str, kinds: Sequence[Mapping[str, Mapping[str, Sequence[str]]]]) -> SlowRow:
    sentences = []
    tests: dict[str, dict[str, None]] = {}
    figures: dict[str, list[str]] = {}
    for devices in kinds:
        worst = {
            device: max((text for texts in of_test.values() for text in texts), key=_numbers)
            for device, of_test in devices.items()
        }
        every = {text for of_test in devices.values() for texts in of_test.values() for text in texts}
        sentences.append(f"{'at worst ' if len(every) > 1 else ''}{max(worst.values(), key=_numbers)}")
        differ = len(set(map(_figure, worst.values()))) > 1
        for device, of_test in devices.items():
            tests.setdefault(device, {}).update(dict.fromkeys(of_test))
            figures.setdefault(device, []).extend([_figure(worst[device])] if differ else [])
    return SlowRow(
        finding=f"{kernel}: {'; '.join(sentences)}",
        devices={
            device: SlowOn(tests=tuple(names), figure=", ".join(figures[device])) for device, names in tests.items()
        },
    )


def _figure(finding: str) -> str:
    """How slow; empty where a finding has no number of its own."""
    match = _FIGURE.match(finding)
    return match[1] if match else ""


def _numbers(finding: str) -> list[int]:
    return [int(number.replace(",", "")) for number in _NUMBER.findall(finding)]
