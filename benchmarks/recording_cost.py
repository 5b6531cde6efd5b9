"""What recording the launches costs, on a CUDA GPU: the same work with the recorder and without, in turn.

    python -m benchmarks.recording_cost [--rounds 30] [--launches 2000] [--pairs 5] [--only suite]

Prints a table, and writes recording_cost.json into the folder that the variable OUT names. Exit code 3 where no CUDA
GPU is.

- loop: launches of one tiny kernel that was seen, and nothing else: the worst case, in microseconds of the host.
- first launches: the trainer's kernels, forward and backward, with every launch new to its test: what a recorded line
  costs, in microseconds for each.
- training: a training run of a few steps, without torch.compile.
- suite: pytest over tests/trainer/test_kernels.py, with --gpu-matrix and without, each in a process of its own. Needs
  the plugin installed.

In each round both are timed, in changing order; a ratio is the median over the rounds of (with / without of the same
round), that of the suite the ratio of the medians.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import io
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

from benchmarks.recording_suite import measure_suite
from benchmarks.trainer_kernels import SHAPES, caller
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import Launch, Problem
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header, TapeWriter
from trainer.__main__ import main as train
from trainer.devices import find_device
from trainer.kernels.operators import OPS
from trainer.kernels.registry import Request
from trainer.log import versions

WARM_UP = 3
SIZE = 1024
PARTS = ("loop", "first", "training", "suite")


@triton.jit  # type: ignore[untyped-decorator] # Triton has no types
def add_one(x, out, n, factor, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """A kernel that takes next to no time."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor + 1, mask=at < n)


tuned_add_one = triton.autotune([triton.Config({"BLOCK": size}) for size in (512, 1024)], key=["n"])(add_one)


class Session:
    """One recorder for the process, as in a session of pytest, which is put in and taken out again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: TapeWriter | None = None
        self._numbers = itertools.count()
        self.launches = 0  # that were written down
        major, minor = torch.cuda.get_device_capability()
        self._recorder = Recorder(self._write, rootdir=Path.cwd(), capability=ComputeCapability(major, minor))

    @contextlib.contextmanager
    def following(self) -> Iterator[Recorder]:
        """Launches are recorded onto a tape."""
        header = Header(schema=SCHEMA, rootdir=str(Path.cwd()), sys_path=tuple(sys.path))
        with TapeWriter(self._folder / f"{next(self._numbers)}.jsonl", header) as self._writer:
            self._recorder.install()
            try:
                yield self._recorder
            finally:
                self._recorder.uninstall()
        if self._recorder.problems:
            raise RuntimeError(f"not all was recorded: {self._recorder.problems[0]}")

    def _write(self, line: Launch | Problem) -> None:
        if self._writer is not None:
            self._writer.write(line)
            self.launches += isinstance(line, Launch)


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What is timed: the functions are tests, which together make so many launches (0: not told)."""

    name: str
    tests: Sequence[Callable[[], object]]
    launches: int = 0
    unit: str = "us a launch"
    prepare: Callable[[], object] | None = None  # before the clock starts, but followed where the tests are


def main() -> int:
    """Measure, print and write; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--launches", type=int, default=2000, help="per loop (2000)")
    parser.add_argument("--pairs", type=int, default=5, help="runs of the suite, with and without (5)")
    parser.add_argument("--only", choices=PARTS, help="this part of the work alone")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA GPU here: nothing was timed", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "loop": lambda: [measure(work, options.rounds, session) for work in loops(options.launches)],
            "first": lambda: [measure(first_launches(session), options.rounds, session)],
            "training": lambda: [measure(training(Path(folder)), options.rounds, session)],
            "suite": lambda: [measure_suite(options.pairs, Path(folder))],
        }
        rows = [row for name in ([options.only] if options.only else PARTS) for row in parts[name]()]
    result = {"schema": 1, "device": torch.cuda.get_device_name(), "versions": versions(), "rounds": options.rounds}
    print(f"{result['device']}, torch {torch.__version__}, triton {triton.__version__}, {options.rounds} rounds")
    for row in rows:
        print(f"{row['work']:<36}{row['without']:>12.3f}{row['with']:>12.3f} {row['unit']:<12}{row['ratio']:>8.4f}")
    if out := os.environ.get("OUT"):
        Path(out, "recording_cost.json").write_text(json.dumps({**result, "rows": rows}, indent=1) + "\n")
    return 0


def loops(launches: int) -> list[Work]:
    """Nothing but launches of tiny kernels."""
    x, out = torch.ones(SIZE, device="cuda"), torch.empty(SIZE, device="cuda")

    def repeated(launch: Callable[[], object]) -> list[Callable[[], object]]:
        return [lambda: [launch() for _ in range(launches)]]

    compiled = torch.compile(lambda x: x * 2 + 1)
    tests = {
        "loop: Triton": lambda: add_one[(1,)](x, out, SIZE, 2, BLOCK=SIZE),
        "loop: Triton, autotuned": lambda: tuned_add_one[(1,)](x, out, SIZE, 2),
        "loop: torch.compile": lambda: compiled(x),
    }
    works = [Work(name=name, tests=repeated(function), launches=launches) for name, function in tests.items()]
    if importlib.util.find_spec("cuda") is not None and importlib.util.find_spec("cuda.core") is not None:
        kernel = CudaCoreKernel(out)
        tests_of_it = repeated(kernel.launch)
        works.append(Work(name="loop: cuda-core", tests=tests_of_it, launches=launches, prepare=kernel.build))
    return works


class CudaCoreKernel:
    """A kernel through cuda-core. What a launched one was compiled from is known if the recorder saw it built."""

    def __init__(self, out: torch.Tensor) -> None:
        from cuda import core

        self._core, self._out = core, out
        self._device = core.Device()
        self._device.set_current()
        self._stream = self._device.create_stream()
        self._config = core.LaunchConfig(grid=1, block=32)
        self._kernel: Any = None

    def build(self) -> None:
        """Compile it, and launch it once: it is loaded then."""
        source = 'extern "C" __global__ void one(float *x) { x[threadIdx.x] = 1; }'
        options = self._core.ProgramOptions(arch=f"sm_{self._device.arch}")
        self._kernel = self._core.Program(source, "c++", options).compile("cubin").get_kernel("one")
        self.launch()

    def launch(self) -> None:
        """As a program does that has it from its module: it is looked up anew."""
        self._core.launch(self._stream, self._config, self._kernel, self._out.data_ptr())


def first_launches(session: Session) -> Work:
    """The trainer's kernels, each as a test that sees it for the first time."""
    device = find_device("cuda")
    kernels: list[Callable[[], object]] = []
    for op in OPS:
        shape = SHAPES[op.name][0]
        request = Request(capability=device.capability, dtype="bfloat16", head_dim=shape[-1])
        call = caller(op.name, shape, device.torch_name)
        kernels += [functools.partial(call, kernel.load()) for kernel in op.kernels if kernel.refusal(request) is None]
    before = session.launches
    work = Work(name="first launches", tests=kernels)
    with_recorder(work, session)
    return replace(work, launches=session.launches - before, unit="us a new launch")


def training(folder: Path) -> Work:
    """A run of the trainer."""

    def run() -> None:
        log = Path(tempfile.mkdtemp(dir=folder)) / "log.jsonl"  # a log is never written over
        with contextlib.redirect_stdout(io.StringIO()):
            if train(["--preset", "cpu", "--device", "cuda", "--steps", "10", "--log", str(log)]):
                raise RuntimeError("the training failed")

    return Work(name="training", tests=[run])


def measure(work: Work, rounds: int, session: Session) -> dict[str, Any]:
    """Medians of both, and of their ratio in each round."""
    pairs = []
    for number in range(WARM_UP + rounds):
        order = (False, True) if number % 2 else (True, False)
        times = {recorded: with_recorder(work, session) if recorded else seconds(work, None) for recorded in order}
        if number >= WARM_UP:
            pairs.append((times[True], times[False]))
    scale, unit = (1e6 / work.launches, work.unit) if work.launches else (1e3, "ms")
    return {
        "work": work.name,
        "unit": unit,
        "with": statistics.median(recorded for recorded, _ in pairs) * scale,
        "without": statistics.median(plain for _, plain in pairs) * scale,
        "ratio": statistics.median(recorded / plain for recorded, plain in pairs),
    }


def with_recorder(work: Work, session: Session) -> float:
    """Seconds of the tests while they are recorded."""
    with session.following() as recorder:
        return seconds(work, recorder)


def seconds(work: Work, recorder: Recorder | None) -> float:
    """Of all tests, each of which is over when the GPU has done its work."""
    if work.prepare is not None:
        work.prepare()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for number, test in enumerate(work.tests):
        with contextlib.nullcontext() if recorder is None else recorder.during(f"test {number}"):
            test()
            torch.cuda.synchronize()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
