from __future__ import annotations

import pytest

from pytest_gpumatrix.commands.output import progress_line
from pytest_gpumatrix.render import progress
from pytest_gpumatrix.render.progress import Progress, of_compilations


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.mark.parametrize(("live", "interval"), [(True, 0.2), (False, 10.0)])
def test_what_takes_a_while_is_told_now_and_then(clock: Clock, live: bool, interval: float) -> None:
    lines: list[str] = []
    tell = Progress(lines.append, live=live, what=of_compilations(1))
    for moment, done in ((1.9, 1), (max(2.0, interval) + 0.01, 2), (max(2.0, interval) + 0.02, 3)):
        clock.now = moment
        tell(done, 1200)
    assert lines == ["gpumatrix: 2 of 1,200 compilations are done (kernels x 1 device)"]
    tell(1200, 1200)  # the end is told at once
    assert lines[1:] == ["gpumatrix: 1,200 of 1,200 compilations are done (kernels x 1 device)"]


def test_what_is_done_in_no_time_is_not_told(clock: Clock) -> None:
    tell = Progress(pytest.fail, live=True, what="are done")
    tell(5, 5)
    assert not tell.shown


@pytest.mark.parametrize("terminal", [True, False])
def test_a_command_tells_a_terminal_alone(
    clock: Clock, terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with progress_line("are done") as tell:
        clock.now = 3.0
        tell(1, 2)
    told = "\r\x1b[Kgpumatrix: 1 of 2 are done\r\x1b[K"
    assert capsys.readouterr().err == (told if terminal else "")
