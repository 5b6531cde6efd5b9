"""The layout is the map: imports flow one way, and importing the plugin costs next to nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_gpumatrix"
# A folder imports only from itself and from those before it. docs/architecture.md shows the same list.
STAGES = [
    *("hardware", "triage", "gate", "record", "config", "portability", "verdict", "history", "render"),
    *("session", "github"),
]
# Within portability/ as well.
PORTABILITY = ["tape", "patching", "recording", "compiling", "judging", "emulation", "binaries"]
COMPOSERS = ["plugin.py", "cli.py", "commands", "__main__.py"]
HEAVY = {"torch", "triton", "numpy", "pynvml", "cuda"}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Each imported module, and whether the import runs when the file is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            yield name, id(node) not in inside


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_flow_one_way(path: Path) -> None:
    stage = path.relative_to(PACKAGE).parts[0]
    if stage in COMPOSERS or len(path.relative_to(PACKAGE).parts) == 1:
        return
    allowed = STAGES[: STAGES.index(stage) + 1]
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] == "pytest_gpumatrix" and len(parts) > 1 and parts[1] != "errors":
            assert parts[1] in allowed, f"{path.relative_to(ROOT)} imports {name}: {stage} may use {', '.join(allowed)}"
        if stage == "portability" and name.startswith("pytest_gpumatrix.portability."):
            step = path.relative_to(PACKAGE).parts[1]
            before = PORTABILITY[: PORTABILITY.index(step) + 1] if step in PORTABILITY else []
            assert parts[2] in before, f"{path.relative_to(ROOT)} imports {name}: {step} may use {', '.join(before)}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_heavy_is_imported_at_import(path: Path) -> None:
    heavy = {name for name, at_import in imports(path) if at_import and name.split(".")[0] in HEAVY}
    assert heavy == set()


def test_the_architecture_page_shows_the_same_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"^  (\w+)/ ", page, re.MULTILINE)
    assert shown == STAGES


def test_the_trainer_knows_nothing_of_the_plugin() -> None:
    for path in (ROOT / "trainer").rglob("*.py"):
        assert not [name for name, _ in imports(path) if name.startswith("pytest_gpumatrix")], path


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import pytest_gpumatrix.plugin;"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('pytest_gpumatrix')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
