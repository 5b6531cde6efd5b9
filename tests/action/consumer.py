"""A user's repository with the workflow of docs/workflow.md, run by act, and what it then shows.

act runs the three actions' own scripts. What stands in for something: two actions that copy artifacts into a folder
and out of it; NVML, which reports the card of the leg's device (fake_machine/sitecustomize.py); and the step that
installs what the tests need, which copies an environment that the test made once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.action.test_action_yml import ROOT, page_workflow
from tests.conftest import FAKE_NVML

HERE = Path(__file__).parent
TORCH_VERSION = "0.0.1+local"
ACT = Path(sys.executable).with_name("act")
_PUBLISHED = ("pytest_gpumatrix", "action.yml", "plan", "report", "pyproject.toml", "README.md", "LICENSE")
_MATRIX = """\
version: 1
devices:
  h100:    {profile: h100-sxm, runs-on: [self-hosted, linux, h100]}
  rtx3090: {profile: rtx-3090, runs-on: [self-hosted, linux, rtx3090]}
"""
_INSTALL = """\
          python3 -m venv .venv
          .venv/bin/python -m pip install -e '.[test]'
"""
_REPORT = "      - uses: org/gpumatrix/report@v1\n"
_BASE = "        with: {base: '${{ env.BASE }}'}\n"
_PINS = {
    "upload": "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f",
    "download": "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c",
}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run of the workflow."""

    code: int
    records: tuple[Mapping[str, Any], ...]
    artifacts: Path

    def jobs(self) -> dict[str, str]:
        """Result by job; act gives all legs of a matrix the worst of theirs, in the end."""
        return {record["jobID"]: record["jobResult"] for record in self.records if "jobResult" in record}

    def outputs(self, job: str) -> dict[str, str]:
        found = [r for r in self.records if r.get("command") == "set-output" and _job(r) == job]
        return {record["name"]: record["arg"] for record in found}

    def summary(self) -> str:
        return next(str(record["content"]) for record in self.records if record.get("command") == "summary")

    def log(self, job: str) -> str:
        return "".join(str(record["msg"]) for record in self.records if _job(record) == job and "msg" in record)


@dataclass(frozen=True, kw_only=True)
class Consumer:
    """The repository, and the machine that act runs its workflow on."""

    folder: Path
    environment: Path  # what the user's tests need is installed here
    wheels: Path

    def tests(self, source: str) -> Consumer:
        """Commit these tests."""
        (self.repository / "test_kernels.py").write_text(source)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Change the tests")
        return self

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    def git(self, *arguments: str) -> None:
        identity = ["-c", "user.name=A User", "-c", "user.email=user@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=self.repository, check=True)

    def run(self, name: str, *arguments: str, base: str = "") -> Ran:
        """Run the workflow as a push does."""
        home, artifacts = self.folder / "home", self.folder / f"artifacts-{name}"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        artifacts.mkdir()
        variables = {
            "ARTIFACTS": artifacts,
            "BASE": base,
            "ENVIRONMENT": self.environment,
            "PYTHONPATH": os.pathsep.join([str(HERE / "fake_machine"), str(FAKE_NVML)]),
            "PIP_FIND_LINKS": self.wheels,
            "PIP_NO_INDEX": "1",
        }
        command: list[str | Path] = [ACT, "push", "--json", "-W", ".github/workflows/gpu-matrix.yml"]
        command += [word for label in ("self-hosted", "ubuntu-24.04") for word in ("-P", f"{label}=-self-hosted")]
        command += [f"--local-repository=org/gpumatrix@v1={self.folder / 'published'}"]
        command += [f"--local-repository={pin}={HERE / 'stubs' / stub}" for stub, pin in _PINS.items()]
        command += [f"--env={key}={value}" for key, value in variables.items()]
        done = subprocess.run(
            [*command, *arguments],
            cwd=self.repository,
            env={"HOME": str(home), "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        lines = done.stdout.splitlines()
        records = tuple(json.loads(line) for line in lines if line.startswith("{"))
        shutil.rmtree(home)
        return Ran(code=done.returncode, records=records, artifacts=artifacts)


def make_consumer(folder: Path) -> Consumer:
    """The repository with its workflow, the published Action, and an environment with what the tests need."""
    wheels, environment = folder / "wheels", folder / "environment"
    needs = ["hatchling", "pytest", "junitparser", "msgspec", "nvidia-ml-py", "packaging", "pyyaml"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--wheel-dir", wheels, *needs], check=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    own: list[str | Path] = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*own, "install", "--quiet", "--no-index", "--find-links", wheels, "pytest"], check=True)
    _install_a_torch(environment)
    for name in _PUBLISHED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        (folder / "published").mkdir(exist_ok=True)
        copy(ROOT / name, folder / "published" / name)
    consumer = Consumer(folder=folder, environment=environment, wheels=wheels)
    (consumer.repository / ".github" / "workflows").mkdir(parents=True)
    (consumer.repository / ".github" / "workflows" / "gpu-matrix.yml").write_text(_workflow())
    (consumer.repository / "gpumatrix.yml").write_text(_MATRIX)
    consumer.git("init", "-q", "-b", "main")
    return consumer


def _workflow() -> str:
    """The page's workflow; where it cannot run here it is changed, and only if it says what it is known to say."""
    text = page_workflow()
    changes = (
        (_INSTALL, '          cp -R "$ENVIRONMENT" .venv\n'),
        (_REPORT, _REPORT + _BASE),
        ("pytest-args: tests\n", "pytest-args: test_kernels.py -rP\n"),
    )
    for known, changed in changes:
        assert text.count(known) == 1, known
        text = text.replace(known, changed)
    return text


def _install_a_torch(environment: Path) -> None:
    """A distribution that only looks like torch, to be left as it is."""
    (site,) = environment.glob("lib/python3*/site-packages")
    info = site / f"torch-{TORCH_VERSION}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH_VERSION}\n")
    (info / "INSTALLER").write_text("user\n")
    (info / "RECORD").write_text("torch.py,,\n")
    (site / "torch.py").write_text(f'__version__, owner = "{TORCH_VERSION}", "mine"\n')


def _job(record: Mapping[str, Any]) -> str:
    return str(record.get("matrix", {}).get("device", record.get("jobID")))
