"""What the plugin costs a run that does not use it: 1,000 trivial tests with it, against the same pytest without it.

Instructions are counted by valgrind's callgrind, for a difference of a few percent drowns in the noise of a shared
machine. Wall times are medians of interleaved runs, for the eye.

    python -m benchmarks.idle_cost [--tests 1000] [--rounds 9] [--no-callgrind] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

WITHOUT = ["-p", "no:gpumatrix"]
PLUGINS = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
COMMAND = [sys.executable, "-m", "pytest", "-q", *PLUGINS]


def main() -> int:
    """Measure, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved pairs of wall times (default 9)")
    parser.add_argument("--no-callgrind", action="store_true", help="wall times only")
    parser.add_argument("--output", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        write_tests(project, arguments.tests)
        figures = {"tests": arguments.tests, "wall_seconds": wall(project, arguments.rounds)}
        if not arguments.no_callgrind:
            figures["instructions"] = instructions(project)
    print(json.dumps(figures, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def write_tests(project: Path, count: int) -> None:
    """Ten files of trivial tests."""
    for number in range(10):
        lines = [f"def test_{index}():\n    pass\n" for index in range(count // 10)]
        (project / f"test_{number}.py").write_text("\n".join(lines))
    (project / "pytest.ini").write_text("[pytest]\n")


def wall(project: Path, rounds: int) -> dict[str, float]:
    """Medians of whole-process wall times, and of the ratios within each pair."""
    pairs = [(timed(project, []), timed(project, WITHOUT)) for _ in range(rounds + 1)][1:]  # the first warms up
    return {
        "with": statistics.median(a for a, _ in pairs),
        "without": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
    }


def timed(project: Path, options: Sequence[str]) -> float:
    """Seconds of one run."""
    started = time.perf_counter()
    run([*COMMAND, *options], project)
    return time.perf_counter() - started


def instructions(project: Path) -> dict[str, float]:
    """Instructions of one run each."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit("valgrind is not installed: apt-get install valgrind, or --no-callgrind")
    counts = {name: counted(valgrind, project, options) for name, options in (("with", []), ("without", WITHOUT))}
    return {**counts, "ratio": counts["with"] / counts["without"]}


def counted(valgrind: str, project: Path, options: Sequence[str]) -> int:
    """Instructions of one run, by callgrind's summary."""
    command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", *COMMAND, *options]
    answer = run(command, project)
    found = re.search(r"Collected : (\d+)", answer.stderr)
    if found is None:
        sys.exit(f"callgrind gave no count:\n{answer.stderr[-2000:]}")
    return int(found[1])


def run(command: Sequence[str], project: Path) -> subprocess.CompletedProcess[str]:
    """Run in the project; hashes are fixed, so that two runs do the same work."""
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=True)


if __name__ == "__main__":
    sys.exit(main())
