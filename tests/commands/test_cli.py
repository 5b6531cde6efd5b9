"""What holds for every command."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.cli import main


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("gpumatrix ")
