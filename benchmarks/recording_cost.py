"""What recording the launches costs, on a CUDA GPU: the same work with the recorder and without, in turn.

    python -m benchmarks.recording_cost [--rounds 30] [--launches 2000]

Prints a table, and writes recording_cost.json into the folder that the variable OUT names. Exit code 3 where no CUDA
GPU is. Two kinds of work: loops that do nothing but launch tiny kernels (the worst case: microseconds per launch of the
host, and the ratio), and tests as a suite has them (each kernel of the trainer forward and backward, and training runs
of a few steps without torch.compile), where every test sees its kernels for the first time. In each round both are
timed, in changing order; a ratio is the median over the rounds of (with / without of the same round).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What is timed: the functions are tests, each of which stands for so many launches (0: not told)."""

    name: str
    tests: Sequence[Callable[[], object]]
    launches: int = 0


def main() -> int:
    """Measure, print and write; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--launches", type=int, default=2000, help="per loop (2000)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA GPU here: nothing was timed", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        works = [*loops(options.launches, session), *suites(Path(folder))]
        rows = [measure(work, options.rounds, session) for work in works]
    result = {"schema": 1, "device": torch.cuda.get_device_name(), "versions": versions(), "rounds": options.rounds}
    print(f"{result['device']}, torch {torch.__version__}, triton {triton.__version__}, {options.rounds} rounds")
    for row in rows:
        print(f"{row['work']:<36}{row['without']:>12.3f}{row['with']:>12.3f} {row['unit']:<12}{row['ratio']:>8.4f}")
    if out := os.environ.get("OUT"):
        Path(out, "recording_cost.json").write_text(json.dumps({**result, "rows": rows}, indent=1) + "\n")
    return 0


def loops(launches: int, session: Session) -> list[Work]:
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
    if (launch := through_cuda_core(out, session)) is not None:
        tests["loop: cuda-core"] = launch
    return [Work(name=name, tests=repeated(function), launches=launches) for name, function in tests.items()]


def through_cuda_core(out: torch.Tensor, session: Session) -> Callable[[], object] | None:
    """A launch through cuda-core; None where it is not installed. It is looked up anew, as a module would have it."""
    try:
        from cuda import core
    except ImportError:
        return None
    device = core.Device()
    device.set_current()
    source = 'extern "C" __global__ void one(float *x) { x[threadIdx.x] = 1; }'
    with session.following():  # what a launched kernel was compiled from is to be known
        code = core.Program(source, "c++", core.ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")
    kernel = code.get_kernel("one")
    stream = device.create_stream()
    config = core.LaunchConfig(grid=1, block=32)
    return lambda: core.launch(stream, config, kernel, out.data_ptr())


def suites(folder: Path) -> list[Work]:
    """Tests as a suite of GPU tests has them."""
    device = find_device("cuda")
    kernels: list[Callable[[], object]] = []
    for op in OPS:
        shape = SHAPES[op.name][0]
        request = Request(capability=device.capability, dtype="bfloat16", head_dim=shape[-1])
        call = caller(op.name, shape, device.torch_name)
        kernels += [functools.partial(call, kernel.load()) for kernel in op.kernels if kernel.refusal(request) is None]

    def training() -> None:
        log = Path(tempfile.mkdtemp(dir=folder)) / "log.jsonl"  # a log is never written over
        with contextlib.redirect_stdout(io.StringIO()):
            if train(["--preset", "cpu", "--device", "cuda", "--steps", "10", "--log", str(log)]):
                raise RuntimeError("the training failed")

    return [Work(name="tests: the trainer's kernels", tests=kernels), Work(name="tests: training", tests=[training])]


def measure(work: Work, rounds: int, session: Session) -> dict[str, Any]:
    """Medians of both, and of their ratio in each round."""
    pairs = []
    for number in range(WARM_UP + rounds):
        order = (False, True) if number % 2 else (True, False)
        times = {recorded: with_recorder(work, session) if recorded else seconds(work, None) for recorded in order}
        if number >= WARM_UP:
            pairs.append((times[True], times[False]))
    scale, unit = (1e6 / work.launches, "us a launch") if work.launches else (1e3, "ms")
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
    torch.cuda.synchronize()
    started = time.perf_counter()
    for number, test in enumerate(work.tests):
        with contextlib.nullcontext() if recorder is None else recorder.during(f"test {number}"):
            test()
            torch.cuda.synchronize()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
