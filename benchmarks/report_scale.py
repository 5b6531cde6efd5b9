"""What a report of 8 devices costs, head and base, by the number of tests, beside what others do with the same files.

    python -m benchmarks.report_scale [--tests 1000,5000,20000] [--rounds 5]
        [--publish FOLDER --publish-python PROGRAM] [--output FILE]

Compared are junitparser's own merge, and of EnricoMi/publish-unit-test-result-action what it does between reading and
publishing (parse, count, compare with the counts of the base), if FOLDER is a copy of its ``python/`` and PROGRAM a
Python that has its requirements. All run in turns, each round in another order. Linux only: memory is that of a process
and its children, read from /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report_scale_files import DEVICES, write_files

# What the action does with the files of two runs, by its own functions.
PUBLISH = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from publish.junit import parse_junit_xml_files, process_junit_xml_elems
from publish.unittestresults import get_stats, get_stats_delta, get_test_results

def stats(folder):
    files = sorted(map(str, Path(folder).glob("*.xml")))
    parsed = process_junit_xml_elems(parse_junit_xml_files(files, False, False)).with_commit("0" * 40)
    return get_stats(get_test_results(parsed, False))

print(get_stats_delta(stats(sys.argv[2]), stats(sys.argv[3]), "earlier").tests)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A command over the files, and the exit codes of one that worked."""

    name: str
    command: Sequence[str]
    good: tuple[int, ...] = (0,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What a run took."""

    wall: float  # seconds
    cpu: float  # seconds, of all its processes
    memory: float  # MB at its peak, of all its processes


def main() -> int:
    """Measure, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", default="1000,5000,20000", help="numbers of tests, with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--publish", type=Path, help="python/ of the publish action; left out without it")
    parser.add_argument("--publish-python", default=sys.executable)
    parser.add_argument("--output", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    if given.publish is None:
        print("the publish action is left out: no --publish", file=sys.stderr)
    figures: dict[int, Mapping[str, Sequence[Cost]]] = {}
    for tests in map(int, given.tests.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{tests:,} tests: writing the files", file=sys.stderr)
            write_files(Path(folder) / "files", tests)
            figures[tests] = measured(tools(Path(folder), given.publish, given.publish_python), given.rounds)
    print("\n".join(table(figures)))
    if given.output:
        rows = {
            tests: {name: [asdict(cost) for cost in own] for name, own in costs.items()}
            for tests, costs in figures.items()
        }
        given.output.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


def tools(folder: Path, publish: Path | None, publish_python: str) -> Sequence[Tool]:
    """Ours, and the others."""
    files = folder / "files"
    head, base = files / "head", files / "base"
    report = [sys.executable, "-m", "pytest_gpumatrix", "report", str(head), "--base", str(base)]
    report += ["--config", str(files / "gpumatrix.yml")]
    pages = [word for form in ("json", "html") for word in ("--write", f"{form}={folder / 'report'}.{form}")]
    merge = [sys.executable, "-m", "junitparser", "merge", "--glob"]
    found = [
        Tool(name="gpumatrix report", command=report, good=(1,)),
        Tool(name="gpumatrix report, with the page and JSON", command=[*report, *pages], good=(1,)),
        Tool(name="junitparser merge", command=[*merge, f"{files}/*/*.xml", str(folder / "merged.xml")]),
    ]
    if publish is not None:
        command = [publish_python, "-c", PUBLISH, str(publish), str(head), str(base)]
        found.append(Tool(name="publish action: parse, count, compare", command=command))
    return found


def measured(compared: Sequence[Tool], rounds: int) -> Mapping[str, Sequence[Cost]]:
    """Rounds of all, in turns."""
    costs: dict[str, list[Cost]] = {tool.name: [] for tool in compared}
    for number in range(rounds):
        start = number % len(compared)
        for tool in (*compared[start:], *compared[:start]):
            cost = run(tool)
            costs[tool.name].append(cost)
            print(f"  {tool.name}: {cost.wall:.2f} s, {cost.cpu:.2f} s of CPU, {cost.memory:.0f} MB", file=sys.stderr)
    return costs


def run(tool: Tool) -> Cost:
    """What one run takes."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(tool.command, stdout=said, stderr=said)
        peak, ended = 0, 0
        while not ended:
            peak = max(peak, resident(process.pid))
            time.sleep(0.02)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in tool.good:
            said.seek(0)
            sys.exit(f"{tool.name} ended with {process.returncode}:\n{said.read().decode()[-2000:]}")
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, memory=peak / 1e6)


def resident(pid: int) -> int:
    """Bytes of memory of a process and its children; what they share counts for each."""
    total = 0
    with contextlib.suppress(OSError, IndexError):  # it has just ended
        status = Path(f"/proc/{pid}/status").read_text()
        total = int(status.partition("VmRSS:")[2].split()[0]) * 1024
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total += sum(resident(int(child)) for child in children)
    return total


def table(figures: Mapping[int, Mapping[str, Sequence[Cost]]]) -> Sequence[str]:
    """Medians, and each tool's seconds as a multiple of the first one's in the same round."""
    lines = [
        f"| tests x {len(DEVICES)}, head and base | tool | seconds | ratio | seconds of CPU | MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for tests, costs in figures.items():
        first = next(iter(costs.values()))
        for name, own in costs.items():
            ratio = statistics.median(one.wall / other.wall for one, other in zip(own, first, strict=True))
            wall, cpu, memory = (
                statistics.median(getattr(cost, of) for cost in own) for of in ("wall", "cpu", "memory")
            )
            lines.append(f"| {tests:,} | {name} | {wall:.2f} | {ratio:.2f} | {cpu:.2f} | {memory:.0f} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
