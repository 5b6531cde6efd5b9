"""A command's output that cannot be written, and a command that is interrupted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gpumatrix import cli
from pytest_gpumatrix.commands.command import Command


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["devices"], ["devices", "--format", "json"]])
def test_a_full_disk_is_a_message(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "pytest_gpumatrix", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (
        2,
        "gpumatrix: error: the output cannot be written: No space left on device\n",
    )


def test_an_interrupted_command_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    command = Command(name="wait", summary="", help="", arguments=lambda _: None, run=interrupted)
    monkeypatch.setattr(cli, "COMMANDS", (command,))
    assert cli.main(["wait"]) == 130
    assert capsys.readouterr() == ("", "")
