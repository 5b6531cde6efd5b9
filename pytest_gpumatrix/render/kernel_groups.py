"""Kernels put together for a reader: what fares alike in one line, and one reason once for all that it holds for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.judging.judgement import WORST_FIRST, Fit
from pytest_gpumatrix.portability.judging.kernel_rows import KernelRow
from pytest_gpumatrix.render.kernel_traits import Traits, common, traits_of, words
from pytest_gpumatrix.render.slow import at_worst, kind_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """A kernel as it is written, in the specialisations that were launched."""

    name: str
    place: str  # "file:line", or what stands for it
    rows: Sequence[KernelRow]
    traits: Sequence[Traits]  # of each row

    def label(self, rows: Sequence[KernelRow]) -> str:
        """Some of its specialisations: how many, and what they have in common and not with all others."""
        configurations = sum(row.configurations for row in rows if row.configurations > 1)
        tuned = f" ({configurations:,} configurations)" if configurations else ""
        if len(rows) == len(self.rows):
            return (f"{len(rows):,} specialisations" if len(rows) > 1 else "one specialisation") + tuned
        members = {id(row) for row in rows}
        own = common([traits for row, traits in zip(self.rows, self.traits, strict=True) if id(row) in members])
        holders = Counter(trait for traits in self.traits for trait in traits.items())
        rarest_first = sorted(
            (trait for trait in own.items() if holders[trait] < len(self.rows)), key=holders.__getitem__
        )
        told = words(dict(rarest_first))
        count = f"{len(rows):,} of {len(self.rows):,}"
        return (f"{count}: {told}" if told else count) + tuned


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Why some specialisations of a function fail somewhere, or are slow, or are not known."""

    function: Function
    sentence: str  # "8.6: needs ..., 8.6 has ...; likewise 8.9, 12.0"
    rows: Sequence[KernelRow]


def functions_of(rows: Sequence[KernelRow]) -> list[Function]:
    """The functions, those of the worst verdict first, else in the order of the tapes."""
    found: dict[tuple[str, str], list[tuple[KernelRow, Traits]]] = {}
    for row in rows:
        facts = row.facts
        place = (
            f"{facts.file}:{facts.line}" if facts.file is not None else f"CUDA C++, SHA-256 {facts.source_hash[:12]}"
        )
        found.setdefault((facts.name, place), []).append((row, traits_of(facts)))
    functions = [
        Function(name=name, place=place, rows=[row for row, _ in members], traits=[traits for _, traits in members])
        for (name, place), members in found.items()
    ]
    return sorted(functions, key=lambda function: min(map(_rank, function.rows)))


def alike(function: Function) -> list[Sequence[KernelRow]]:
    """Its rows, together what has the same verdict on every device; the worst first."""
    groups: dict[tuple[Fit, ...], list[KernelRow]] = {}
    for row in function.rows:
        groups.setdefault(tuple(judged.judgement.fit for judged in row.devices.values()), []).append(row)
    return sorted(groups.values(), key=lambda rows: _rank(rows[0]))


def findings_of(function: Function, fit: Fit, profiles: Mapping[str, Profile]) -> Iterator[Finding]:
    """Its findings of a verdict. What only names another device is one finding; if slow, so are other numbers."""
    found: dict[tuple[str, ...], list[tuple[KernelRow, Mapping[str, str]]]] = {}
    for row in function.rows:
        for kind, texts in _kinds(row, fit, profiles).items():
            # All devices of what fails are the same for its rows; what is slow is told at its worst.
            key = (kind,) if fit is Fit.SLOW else (kind, *texts)
            found.setdefault(key, []).append((row, texts))
    for entries in found.values():
        by_device: dict[str, list[str]] = {}
        for _, reasons in entries:
            for device, text in reasons.items():
                by_device.setdefault(device, []).append(text)
        yield Finding(function=function, sentence=_sentence(by_device, fit), rows=[row for row, _ in entries])


def _kinds(row: KernelRow, fit: Fit, profiles: Mapping[str, Profile]) -> dict[str, dict[str, str]]:
    """By what remains of a reason without the device's name (if slow, without numbers): the reason on each device."""
    kinds: dict[str, dict[str, str]] = {}
    for device, judged in row.devices.items():
        if judged.judgement.fit is fit:
            reason = judged.judgement.reason
            for text in reason.split("; ") if fit is Fit.SLOW else [reason]:
                kind = _of_any_device(text, profiles[device])
                kinds.setdefault(kind_of(kind) if fit is Fit.SLOW else kind, {})[device] = text
    return kinds


def _sentence(texts: Mapping[str, Sequence[str]], fit: Fit) -> str:
    if fit is Fit.SLOW:
        return at_worst(texts)
    first, *others = texts
    every = [text for own in texts.values() for text in own]
    if len(set(every)) == 1:
        return f"{', '.join(texts)}: {every[0]}"
    return f"{first}: {every[0]}; likewise {', '.join(others)}"


def _of_any_device(reason: str, profile: Profile) -> str:
    """The reason with what it calls the device taken out: its name, its capability, its target."""
    sm = profile.capability.sm
    names = f"{re.escape(str(profile.capability))}|{sm}a?|{sm[3:]}a?"
    return re.sub(rf"(?<![\w.])(?:{names})(?![\w])", "\0", reason.replace(profile.name, "\0"))


def _rank(row: KernelRow) -> int:
    return min(WORST_FIRST.index(judged.judgement.fit) for judged in row.devices.values())
