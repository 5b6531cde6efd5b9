"""The three actions and this repository's workflows keep the rules that no tool here keeps for them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTIONS = ["action.yml", "plan/action.yml", "report/action.yml"]
STUBS = ["tests/action/stubs/upload/action.yml", "tests/action/stubs/download/action.yml"]
WORKFLOWS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github" / "workflows").glob("*.yml"))
PAGE = ROOT / "docs" / "workflow.md"
_INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return content


def page_workflow() -> str:
    """The workflow that a user copies from docs/workflow.md."""
    return PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]


def workflows() -> dict[str, dict[str, Any]]:
    return {**{name: load(name) for name in WORKFLOWS}, "docs/workflow.md": yaml.safe_load(page_workflow())}


def jobs() -> list[Any]:
    return [
        pytest.param(job, id=f"{name}:{key}")
        for name, workflow in workflows().items()
        for key, job in workflow["jobs"].items()
    ]


def steps() -> list[Any]:
    found = [(name, step) for name in ACTIONS + STUBS for step in load(name)["runs"]["steps"]]
    found += [
        (f"{name}:{key}", step)
        for name, workflow in workflows().items()
        for key, job in workflow["jobs"].items()
        for step in job["steps"]
    ]
    return [pytest.param(step, id=f"{name}:{step.get('name') or step.get('uses') or 'run'}") for name, step in found]


def test_there_are_workflows() -> None:
    assert WORKFLOWS == [".github/workflows/ci.yml", ".github/workflows/gpu-matrix.yml"]


@pytest.mark.parametrize("step", steps())
def test_no_script_has_an_expression_in_it(step: dict[str, Any]) -> None:
    assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("step", steps())
def test_what_is_used_is_pinned_or_our_own(step: dict[str, Any]) -> None:
    used = step.get("uses")
    if used and not used.startswith(("./", "org/gpumatrix")):
        assert _PINNED.fullmatch(used)
    if used and used.startswith("actions/checkout@"):
        assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_uses_no_other(name: str) -> None:
    assert [step for step in load(name)["runs"]["steps"] if "uses" in step] == []


@pytest.mark.parametrize("name", ACTIONS + STUBS)
def test_every_step_of_an_action_names_its_shell(name: str) -> None:
    assert {step.get("shell") for step in load(name)["runs"]["steps"]} == {"bash"}


@pytest.mark.parametrize("name", ACTIONS)
def test_inputs_are_used_through_the_environment_alone(name: str) -> None:
    action = load(name)
    passed = set()
    for step in action["runs"]["steps"]:
        for variable, value in step["env"].items():
            match = _INPUT.fullmatch(value)
            assert match, f"{variable}: {value}"
            assert variable == f"GPUMATRIX_{match[1].upper().replace('-', '_')}"
            passed.add(match[1])
    assert passed == set(action["inputs"])
    text = (ROOT / name).read_text(encoding="utf-8")
    assert len(re.findall(r"inputs\.", text)) == sum(len(step["env"]) for step in action["runs"]["steps"])


@pytest.mark.parametrize("name", ACTIONS)
def test_outputs_come_from_the_step_that_sets_them(name: str) -> None:
    action = load(name)
    last = action["runs"]["steps"][-1]
    for output, entry in action["outputs"].items():
        assert entry["value"] == f"${{{{ steps.{last['id']}.outputs.{output} }}}}"


@pytest.mark.parametrize("name", ACTIONS)
def test_our_own_python_never_imports_from_the_checkout(name: str) -> None:
    lines = "\n".join(step["run"] for step in load(name)["runs"]["steps"]).splitlines()
    started = [line for line in lines if re.search(r'python"', line)]
    assert len(started) >= 2
    assert all('python" -I ' in line for line in started)
    assert lines[-1].startswith("exec ")
    assert lines[-1].endswith(" 2>&1")  # one stream: the runner promises no order between two


@pytest.mark.parametrize("job", jobs())
def test_every_job_is_bounded(job: dict[str, Any]) -> None:
    assert 0 < job["timeout-minutes"] <= 60
    assert job["permissions"] in ({}, {"contents": "read"})
    assert "concurrency" not in job  # a group of one device would cancel the leg that waits in it
    assert "continue-on-error" not in job
    assert job.get("strategy", {}).get("fail-fast", False) is False


@pytest.mark.parametrize("name", workflows())
def test_a_workflow_asks_for_nothing_by_default(name: str) -> None:
    workflow = workflows()[name]
    assert workflow["permissions"] == {}
    assert "run_id" in workflow["concurrency"]["group"]  # what is no pull request is never cancelled
    (events,) = (value for key, value in workflow.items() if str(key) == "True")  # `on`, to YAML 1.1
    assert not {"pull_request_target", "workflow_run"} & set(events)


@pytest.mark.parametrize("name", [".github/workflows/gpu-matrix.yml", "docs/workflow.md"])
def test_the_matrix_is_wired(name: str) -> None:
    plan, gpu, report = (workflows()[name]["jobs"][key] for key in ("plan", "gpu", "report"))
    assert plan["outputs"] == {"matrix": "${{ steps.plan.outputs.matrix }}"}
    assert gpu["strategy"] == {"fail-fast": False, "matrix": "${{ fromJSON(needs.plan.outputs.matrix) }}"}
    assert (report["needs"], report["if"]) == (["plan", "gpu"], "${{ always() }}")
    guard = "github.event.pull_request.head.repo.full_name == github.repository"
    assert guard in gpu.get("if", gpu["runs-on"])  # code from a fork reaches no machine of ours
    (upload,) = (step for step in gpu["steps"] if step.get("uses", "").startswith("actions/upload-artifact@"))
    assert upload["if"] == "${{ always() }}"


def test_the_page_names_every_input_and_output() -> None:
    sections = PAGE.read_text(encoding="utf-8").split("\n### ")
    for name, title in zip(ACTIONS, ("run:", "plan:", "report:"), strict=True):
        (section,) = (part for part in sections if part.startswith(title))
        rows = re.findall(r"^\| `([a-z-]+)` \|", section.split("\n## ")[0], re.MULTILINE)
        action = load(name)
        assert sorted(rows) == sorted([*action["inputs"], *action["outputs"]])
        for key, entry in action["inputs"].items():
            default = re.search(rf"^\| `{key}` \|([^|]*)\|", section, re.MULTILINE)
            assert default is not None
            assert str(entry.get("default", "")) in default[1]


def test_installing_cannot_touch_the_torch_of_a_user() -> None:
    needs = [need for need in importlib.metadata.requires("gpumatrix") or () if "extra ==" not in need]
    asked = {re.split(r"[<>=\[]", need)[0] for need in needs}
    assert asked == {"junitparser", "msgspec", "nvidia-ml-py", "packaging", "pytest", "pyyaml"}


@pytest.mark.parametrize("name", workflows())
def test_a_workflow_has_the_shape_of_one(name: str, tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = page_workflow() if name.startswith("docs/") else (ROOT / name).read_text(encoding="utf-8")
    (folder / "it.yml").write_text(text)
    act = Path(sys.executable).with_name("act")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for arguments in (["--validate", "--strict"], ["--list"]):
        done = subprocess.run([str(act), *arguments], cwd=tmp_path, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def zizmor(folder: Path) -> list[Any]:
    # --strict-collection: without it a file that zizmor cannot read is passed over, and the run is green.
    done = subprocess.run(
        [str(Path(sys.executable).with_name("zizmor")), "--offline", "--no-progress", "--strict-collection",
         "--persona", "auditor", "--format", "json", "."],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    findings: list[Any] = json.loads(done.stdout)
    assert done.returncode in ((0,) if not findings else (10, 11, 12, 13, 14)), done.stderr
    return findings


def copied(names: list[str], folder: Path) -> Path:
    """These files alone: the linter would also walk through a .venv and its vendored workflows."""
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return folder


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    assert zizmor(copied([*ACTIONS, *STUBS, *WORKFLOWS, ".github/dependabot.yml"], tmp_path)) == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_is_waived_has_its_reason_beside_it(name: str) -> None:
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if "zizmor:" in line:
            assert re.search(r"# zizmor: ignore\[[a-z-]+\] \S.{20,}", line)


def test_zizmor_finds_nothing_but_our_own_tag_in_what_users_copy(tmp_path: Path) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "gpu-matrix.yml").write_text(page_workflow())
    assert {finding["ident"] for finding in zizmor(tmp_path)} <= {"unpinned-uses"}
