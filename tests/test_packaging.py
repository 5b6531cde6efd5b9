"""What pyproject.toml promises is what is tested."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def test_each_lower_bound_is_one_that_is_tested() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    declared = [Requirement(entry) for entry in re.findall(r'"([^"]+)"', block[1])]
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tested = {found.name: found.specifier for found in map(Requirement, lines[1:])}
    assert {requirement.name for requirement in declared} == set(tested)
    for requirement in declared:
        (bound,), (version,) = requirement.specifier, tested[requirement.name]
        assert bound.operator == ">="
        assert version.operator == "=="
        lowest, used = Version(bound.version).release, Version(version.version).release
        assert used[: len(lowest)] == lowest, f"{requirement} is tested with {version.version}"
