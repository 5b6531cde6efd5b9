"""The kernels of tapes, each with the tests that launch it, judged for devices. Of a kernel only little is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import msgspec

from pytest_gpumatrix.portability.judging.judge import judge_launches
from pytest_gpumatrix.portability.judging.judgement import WORST_FIRST, Fit, Judgement, unknown
from pytest_gpumatrix.portability.judging.plan import Judged
from pytest_gpumatrix.portability.tape.launch import Alternative, CudaProgram, Kernel, Launch, TritonKernel

_LONGEST = 4096  # bytes of JSON that are kept of a part of a kernel
_MOST_CONFIGURATIONS = 4096  # of one autotuned launch: far more than any tuner tries


class KernelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel is. A part of more than 4 KiB is ``{"too_long": bytes}``; values are in the tape's form."""

    kind: str  # "triton" or "cuda"
    name: str
    source_hash: str
    module: str | None = None  # None for a CUDA program, which is not bound to a file
    file: str | None = None  # relative to the rootdir if it is inside
    line: int | None = None
    signature: Any = None  # parameter -> Triton's type
    constants: Any = None  # parameter -> value; "x.1" is the second part of a tuple x
    attributes: Any = None  # parameter -> what is known of it, "tt.divisibility"
    arch: str | None = None  # of a CUDA program: what it was built for, if not for the running GPU
    options: Any = None
    launch: Any = None  # of a CUDA program: threads, shared memory, ...


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelRow:
    """A kernel in one specialisation, or all configurations of an autotuned launch, on each device."""

    encoded: bytes  # KernelFacts of the first configuration, as JSON
    configurations: int
    tests: Sequence[str]  # that launch it, in their order
    devices: Mapping[str, Judged]

    @property
    def facts(self) -> KernelFacts:
        """What it is."""
        return msgspec.json.decode(self.encoded, type=KernelFacts)


@dataclass(slots=True)
class _Kept:
    """What is kept of a row while the tapes are read."""

    encoded: bytes
    members: dict[str, int] = field(default_factory=dict)  # digests of its configurations, each with its place
    too_many: bool = False
    tests: dict[str, int] = field(default_factory=dict)  # for each, which of the members its tuner tried: bits
    grid: tuple[int, ...] | None = None  # the largest of its launches, in each dimension
    open: bool = False
    raised: bool = True  # in each of its launches


class KernelTable:
    """Collects launches, then makes rows of what was judged."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._tests: dict[str, str] = {}  # one object for equal names

    def add(self, launch: Launch, digest: str) -> None:
        """Take in a launch. ``digest`` is its kernel's."""
        tuned = launch.alternative
        key = tuned.group if tuned is not None else digest
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(encoded=msgspec.json.encode(_facts(launch.kernel)))
        if digest not in kept.members and len(kept.members) == _MOST_CONFIGURATIONS:
            kept.too_many = True
            return
        place = kept.members.setdefault(digest, len(kept.members))
        tried = 1 << place if tuned is None or tuned.kept else 0
        test = self._tests.setdefault(launch.test, launch.test)
        kept.tests[test] = kept.tests.get(test, 0) | tried
        kept.grid = _largest(kept.grid, launch.grid)
        kept.open |= tuned is not None and tuned.open
        kept.raised &= launch.raised

    def rows(self, judged: Mapping[tuple[str, str], Judged], devices: Sequence[str]) -> Iterator[KernelRow]:
        """The rows in the order of the tapes. ``judged`` has each kernel for each device."""
        for kept in self._kept.values():
            yield KernelRow(
                encoded=kept.encoded,
                configurations=len(kept.members),
                tests=tuple(kept.tests),
                devices={name: _of_device(kept, [judged[digest, name] for digest in kept.members]) for name in devices},
            )


def _of_device(kept: _Kept, members: Sequence[Judged]) -> Judged:
    if kept.too_many:
        reason = f"an autotuned launch of more than {_MOST_CONFIGURATIONS:,} configurations is not judged"
        return Judged(judgement=unknown(reason))
    judgement = _worst(kept, [member.judgement for member in members])
    if kept.raised and judgement.fit is Fit.FAILS:  # its test may expect just that
        judgement = unknown(f"it failed where it was recorded as well: {judgement.reason}")
    if len(members) > 1:
        return Judged(judgement=judgement)
    return members[0] if judgement == members[0].judgement else replace(members[0], judgement=judgement)


def _worst(kept: _Kept, members: Sequence[Judgement]) -> Judgement:
    """Over the tests, whose tuners may have tried different configurations."""
    found = [_launched_so(kept, members, tried) for tried in set(kept.tests.values())]
    return min(found, key=lambda judgement: WORST_FIRST.index(judgement.fit))


def _launched_so(kept: _Kept, members: Sequence[Judgement], tried: int) -> Judgement:
    """As at the end of a run. Of the kernel nothing is asked any more."""
    kernel = CudaProgram(name="", source="", code_type="", target_type="", arch="", follows_device=True, options={})
    launches = [
        Launch(
            test="",
            kernel=kernel,
            grid=kept.grid,
            alternative=Alternative(group="", kept=bool(tried >> place & 1), open=kept.open)
            if len(members) > 1 or kept.open
            else None,
        )
        for place in range(len(members))
    ]
    [(_, judgement)] = judge_launches(list(zip(launches, members, strict=True)))
    return judgement


def _largest(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if one is None or other is None:
        return one or other
    return tuple(map(max, zip_longest(one, other, fillvalue=1)))


def _facts(kernel: Kernel) -> KernelFacts:
    if isinstance(kernel, TritonKernel):
        names = list(kernel.signature)
        return KernelFacts(
            kind="triton",
            name=kernel.function.qualname,
            module=kernel.function.module,
            file=kernel.function.file,
            line=kernel.function.line,
            source_hash=kernel.function.source_hash,
            signature=_bounded(kernel.signature),
            constants=_bounded({_parameter(names, path): value for path, value in kernel.constants}),
            attributes=_bounded({_parameter(names, path): value for path, value in kernel.attributes if value}),
            options=_bounded(kernel.options),
        )
    return KernelFacts(
        kind="cuda",
        name=kernel.name,
        source_hash=hashlib.sha256(kernel.source.encode(errors="surrogatepass")).hexdigest(),
        arch=None if kernel.follows_device else kernel.arch,
        options=_bounded(kernel.options),
        launch=_bounded(kernel.launch),
    )


def _parameter(names: Sequence[str], path: Sequence[int]) -> str:
    first = names[path[0]] if path and 0 <= path[0] < len(names) else "?"
    return ".".join([first, *map(str, path[1:])])


def _bounded(part: Any) -> Any:
    encoded = msgspec.json.encode(part)
    return msgspec.Raw(encoded) if len(encoded) <= _LONGEST else {"too_long": len(encoded)}
