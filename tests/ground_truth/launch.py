"""Launch every case on the GPU that is here: python -m tests.ground_truth.launch --output FILE.

Cases run in processes of their own, one after the other in each, and a process that was poisoned, died or hung is
replaced: what a case does to its process must not be what happens to the next one.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.ground_truth import cases
from tests.ground_truth.predict import versions
from tests.ground_truth.recording import ROOT
from tests.ground_truth.run_case import Ending, Outcome, run

_SECONDS = 120.0  # that one case may take, compilation included
_MINE = "--only"


class _Process:
    """One process that is asked for one case at a time."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        self._log = errors.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.ground_truth.launch", _MINE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=ROOT,
        )

    def ask(self, case: str) -> Outcome:
        """Run a case; when its process does not answer, that is the outcome."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(_SECONDS, self._process.kill)
        timer.start()
        began = time.monotonic()
        try:
            self._process.stdin.write(case.encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            timer.cancel()
        if line:
            return msgspec.json.decode(line, type=Outcome)
        code = self._process.wait()
        if time.monotonic() - began >= _SECONDS:
            return Outcome(ending=Ending.HUNG, text=f"no answer within {_SECONDS:g} s", poisoned=True)
        last = self._errors.read_text(errors="replace").split("\n")[-6:]
        return Outcome(ending=Ending.DIED, error=f"exit code {code}", text=" ".join(last)[-500:], poisoned=True)

    def end(self) -> None:
        """Close it, whatever it is doing."""
        self._process.kill()
        self._process.communicate()
        self._log.close()


def launch_all(names: Sequence[str], logs: Path, *, processes: int) -> dict[str, Outcome]:
    """The outcome of each case."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    outcomes: dict[str, Outcome] = {}
    failures: list[BaseException] = []

    def serve(number: int) -> None:
        process = None
        try:
            for count in range(len(names)):
                name = waiting.get_nowait()
                process = process or _Process(logs / f"{number}-{count}.txt")
                outcome = outcomes[name] = process.ask(name)
                print(f"{len(outcomes):3}/{len(names)} {name}: {outcome.ending.value} {outcome.text[:90]}", flush=True)
                if outcome.poisoned:
                    process.end()
                    process = None
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            failures.append(error)
        finally:
            if process is not None:
                process.end()

    crew = [threading.Thread(target=serve, args=(number,)) for number in range(processes)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    if failures:
        raise failures[0]
    return {name: outcomes[name] for name in names}


def serve_cases() -> None:
    """Run the cases that the standard input names, and answer each with a line of JSON."""
    import torch

    from pytest_gpumatrix.hardware.capability import ComputeCapability

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what compilers print must not come between the answers
    capability = ComputeCapability(*torch.cuda.get_device_capability())
    known = cases.load()
    for line in sys.stdin:
        answers.write(msgspec.json.encode(run(known[line.strip()], capability)) + b"\n")


def device_facts() -> dict[str, Any]:
    """What launched."""
    import torch

    if not torch.cuda.is_available():
        raise SystemExit(
            "no GPU is here: the cases are launched on a real one (without one: tests.ground_truth.predict)"
        )
    properties = torch.cuda.get_device_properties(0)
    return {"name": properties.name, "capability": f"{properties.major}.{properties.minor}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--cases", help="only those whose ids contain this")
    parser.add_argument(_MINE, action="store_true", dest="serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve_cases()
        return
    if given.output is None:
        parser.error("--output is needed")
    facts = device_facts()
    names = [name for name in cases.load() if (given.cases or "") in name]
    logs = given.output.with_suffix(".logs")
    logs.mkdir(parents=True, exist_ok=True)
    outcomes = launch_all(names, logs, processes=given.processes)
    content = {
        "gpu": facts,
        "versions": versions(),
        "cases": {name: msgspec.to_builtins(outcome) for name, outcome in outcomes.items()},
    }
    given.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
