"""A verdict of any size."""

from __future__ import annotations

import random

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.html.sample_causes import TRACEBACK
from tests.verdict.runs import cell, plan, run, verdict


def large(tests: int, devices: int, *, seed: int = 0) -> Verdict:
    """Random outcomes, nearly all good, over many tests and up to seven devices and the CPU."""
    chance = random.Random(seed)  # noqa: S311 - a sample
    names = ["h100", "h200", "a100", "rtx3090", "l40s", "b200", "t4", "cpu"][:devices]
    ids = [f"tests/part_{n // 250}/test_module_{n // 50}.py::test_case_{n}[float16-{n % 7}]" for n in range(tests)]
    outcomes = ["passed"] * 400 + ["failed", "skipped", "timeout", "error", "passed*", "xfailed"]

    def one(test: str) -> str | Cell:
        outcome = chance.choice(outcomes)
        bad = outcome in ("failed", "error", "timeout")
        message = f"AssertionError: {chance.random():.6f} differs" if bad else ""
        return cell(test, outcome, message=message, details=TRACEBACK if bad else "", duration=chance.random())

    head = run({name: {test: one(test) for test in ids} for name in names})
    base = run({name: dict.fromkeys(ids, "passed") for name in names})
    return verdict(plan(*names[:7]), head, base)
