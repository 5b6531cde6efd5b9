"""How fast `gpumatrix compile` is, in kernels x devices a second: cold, warm, and against plain `triton.compile` calls.

    pytest tests/trainer --gpu-matrix --gpu-devices=rtx-3090 --gpu-matrix-out=out
    python -m benchmarks.compile_throughput out/launches.tape.jsonl

Plain is one process that imports triton once and calls `triton.compile` for the same kernels and architectures, one
after the other. Each of both begins with empty caches, in turns, so that a slow minute of the machine hits both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from pytest_gpumatrix.portability.tape.launch import Launch, TritonKernel, digest
from pytest_gpumatrix.portability.tape.tape import Tape, iter_tape, write_tape

DEVICES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tape", type=Path)
    parser.add_argument("--kernels", type=int, default=12, help="the first so many Triton kernels of the tape")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)  # the process that it is held against
    given = parser.parse_args()
    if given.plain:
        print(json.dumps(_plain(given.tape)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tape = folder / "launches.tape.jsonl"
        count = _first_kernels(given.tape, tape, given.kernels)
        rounds = [_round(folder / str(number), tape) for number in range(given.rounds)]
    print(f"{count} kernels x {len(DEVICES)} devices, {given.rounds} rounds; medians")
    for title, seconds in zip(
        ("plain, cold", "gpumatrix, cold", "gpumatrix, warm"), zip(*rounds, strict=True), strict=True
    ):
        middle = statistics.median(seconds)
        print(f"| {title} | {middle:.2f} s | {count * len(DEVICES) / middle:.1f} a second |")
    plain, cold, warm = ([each[place] for each in rounds] for place in range(3))
    print(f"cold / plain: {statistics.median(c / p for c, p in zip(cold, plain, strict=True)):.2f}")
    print(f"warm / cold: {statistics.median(w / c for w, c in zip(warm, cold, strict=True)):.4f}")


def _first_kernels(source: Path, target: Path, most: int) -> int:
    header, lines = iter_tape(source)
    launches: dict[str, Launch] = {}
    for line in lines:
        if isinstance(line, Launch) and isinstance(line.kernel, TritonKernel) and line.kernel.obstacle is None:
            if len(launches) == most:
                break
            launches.setdefault(digest(line.kernel), line)
    write_tape(target, Tape(header=header, launches=tuple(launches.values()), problems=()))
    return len(launches)


def _round(folder: Path, tape: Path) -> tuple[float, float, float]:
    """Seconds of plain calls, of a first and of a second run of the command."""
    plain = [sys.executable, "-m", "benchmarks.compile_throughput", "--plain", str(tape)]
    command = [sys.executable, "-m", "pytest_gpumatrix", "compile", str(tape), "--devices", ",".join(DEVICES)]
    return _seconds(plain, folder), _seconds(command, folder), _seconds(command, folder)


def _seconds(command: list[str], folder: Path) -> float:
    own = {"TRITON_CACHE_DIR": str(folder / "triton"), "GPUMATRIX_CACHE_DIR": str(folder / "gpumatrix")}
    started = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1):  # 1: something fails somewhere
        raise SystemExit(done.stdout + done.stderr)
    return seconds


def _plain(tape: Path) -> dict[str, int]:
    header, lines = iter_tape(tape)
    sys.path[:0] = [entry for entry in header.sys_path if entry not in sys.path]
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from pytest_gpumatrix.portability.compiling.rebuild import find_jit_function
    from pytest_gpumatrix.portability.tape.values import decode

    root, counts = Path(header.rootdir), {"compiled": 0, "refused": 0}
    for line in lines:
        if not isinstance(line, Launch) or not isinstance(line.kernel, TritonKernel):
            continue
        kernel = line.kernel
        function = find_jit_function(kernel.function, root)
        constants = {path: decode(value, lambda ref: find_jit_function(ref, root)) for path, value in kernel.constants}
        source = ASTSource(function, kernel.signature, constants, dict(kernel.attributes))
        for device in DEVICES:
            target = GPUTarget("cuda", int(device.replace(".", "")), 32)
            try:
                triton.compile(source, target=target, options=msgspec.to_builtins(kernel.options))
                counts["compiled"] += 1
            except Exception:  # noqa: BLE001 - it took its time all the same
                counts["refused"] += 1
    return counts


if __name__ == "__main__":
    main()
