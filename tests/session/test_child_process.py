"""What a child process says is heard, and nothing of it is left, however it or this process ends."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_gpumatrix.session.child_process import ChildProcess

# Starts a process that holds the file "lock" until it ends, and waits until it does.
HOLDER = """
import fcntl, os, subprocess, sys, time
def hold(**how):
    source = "import fcntl, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    source += "file = open('lock', 'w'); fcntl.flock(file, fcntl.LOCK_EX); open('held', 'w'); "
    source += how.pop("then", "time.sleep(30)")
    held = subprocess.Popen([sys.executable, "-c", source], **how)
    while not os.path.exists("held"):
        time.sleep(0.01)
    return held
"""


def child(folder: Path, source: str, *, patience: float = 10.0, last_words: float = 5.0) -> ChildProcess:
    command = [sys.executable, "-c", source]
    return ChildProcess(command, os.environ, folder, "LIFELINE", patience=patience, last_words=last_words)


def raising(error: type[BaseException]) -> Callable[[str], None]:
    def hear(_: str) -> None:
        raise error

    return hear


def nobody_holds_the_lock(folder: Path, *, tries: int = 500) -> bool:
    """A process that was killed takes a moment to go."""
    with (folder / "lock").open() as file:
        for _ in range(tries):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            else:
                return True
    return False


@pytest.fixture
def handler() -> Iterator[Callable[[int, object], None]]:
    """Puts what a signal does, and puts it back."""
    numbers = (signal.SIGTERM, signal.SIGCHLD)
    before = [signal.getsignal(number) for number in numbers]

    def put(number: int, what: object) -> None:
        signal.signal(number, what)  # type: ignore[arg-type]  # a handler, or one of the two constants

    yield put
    for number, known in zip(numbers, before, strict=True):
        signal.signal(number, known)


def open_files() -> set[str]:
    return {path.name for path in Path("/dev/fd").iterdir()}


@pytest.mark.parametrize(
    ("source", "lines", "code"),
    [
        ("print('one'); print('two', end='')", ["one", "two"], 0),
        ("import sys; print('it', file=sys.stderr); sys.exit(3)", ["it"], 3),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\r\\n')", ["\ufffd"], 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", [], -signal.SIGTERM),
        ("input()", ["Traceback (most recent call last):"], 1),
    ],
)
def test_its_lines_and_how_it_ended(tmp_path: Path, source: str, lines: list[str], code: int) -> None:
    heard: list[str] = []
    assert child(tmp_path, source).follow(heard.append) == code
    assert heard[: len(lines)] == lines


def test_the_lifeline_is_open_for_as_long_as_it_is_followed(tmp_path: Path) -> None:
    open_here = open_files()
    source = "import os; print(os.fstat(int(os.environ['LIFELINE'])).st_ino > 0)"
    heard: list[str] = []
    child(tmp_path, source).follow(heard.append)
    assert heard == ["True"]
    assert open_files() == open_here


def test_what_cannot_be_started_leaves_nothing_open(tmp_path: Path) -> None:
    open_here = open_files()
    with pytest.raises(FileNotFoundError):
        ChildProcess([str(tmp_path / "not-there")], os.environ, tmp_path, "LIFELINE")
    assert open_files() == open_here


@pytest.mark.parametrize(
    "how", ["", "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"], ids=["holds-its-output", "silent"]
)
def test_what_it_leaves_behind_ends_with_it(tmp_path: Path, how: str) -> None:
    heard: list[str] = []
    assert child(tmp_path, f"{HOLDER}\nhold({how}); print('done')").follow(heard.append) == 0
    assert heard == ["done"]
    assert nobody_holds_the_lock(tmp_path)


def test_what_it_leaves_behind_cannot_go_on_talking(tmp_path: Path) -> None:
    source = f"{HOLDER}\nhold(then='[print(1, flush=True) for _ in iter(int, 1)]')"
    assert child(tmp_path, source).follow(lambda _: None) == 0
    assert nobody_holds_the_lock(tmp_path)


def test_output_that_a_process_of_another_group_holds_is_not_waited_for(tmp_path: Path) -> None:
    heard: list[str] = []
    source = f"{HOLDER}\nprint(hold(start_new_session=True).pid)"
    try:
        assert child(tmp_path, source, last_words=0.1).follow(heard.append) == 0
        assert not nobody_holds_the_lock(tmp_path, tries=1)  # it is not ours to end
    finally:
        os.kill(int(heard[0]), signal.SIGKILL)


TEARDOWN = """
import signal, sys, time
try:
    print("ready", flush=True)
    time.sleep(30)
finally:
    open("torn-down", "w")
"""


def test_an_interrupt_lets_it_tear_down_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        child(tmp_path, TEARDOWN).follow(raising(KeyboardInterrupt))
    assert (tmp_path / "torn-down").exists()


def test_one_that_does_not_heed_the_interrupt_is_ended(tmp_path: Path) -> None:
    source = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)" + TEARDOWN
    with pytest.raises(KeyboardInterrupt):
        child(tmp_path, source, patience=0.1).follow(raising(KeyboardInterrupt))
    assert not (tmp_path / "torn-down").exists()


def test_what_does_not_heed_the_interrupt_ends_with_one_that_does(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        child(tmp_path, f"{HOLDER}\nhold()\n{TEARDOWN}").follow(raising(KeyboardInterrupt))
    assert (tmp_path / "torn-down").exists()
    assert nobody_holds_the_lock(tmp_path)


def _terminate_this_process(_: str) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_sigterm_ends_it_at_once_and_this_process_in_good_order(
    tmp_path: Path, handler: Callable[[int, object], None]
) -> None:
    handler(signal.SIGTERM, signal.SIG_DFL)
    source = (
        f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{HOLDER}\nhold()\n{TEARDOWN.replace('30', '3')}"
    )
    with pytest.raises(SystemExit) as ended:
        child(tmp_path, source).follow(_terminate_this_process)
    assert ended.value.code == 128 + signal.SIGTERM
    assert not (tmp_path / "torn-down").exists()
    assert nobody_holds_the_lock(tmp_path)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_while_an_interrupted_one_tears_down_does_not_wait_for_it(
    tmp_path: Path, handler: Callable[[int, object], None]
) -> None:
    handler(signal.SIGTERM, signal.SIG_DFL)
    source = "import os, signal; signal.signal(signal.SIGINT, lambda *_: os.kill(os.getppid(), signal.SIGTERM))"
    with pytest.raises(SystemExit):
        child(tmp_path, source + TEARDOWN, patience=30).follow(raising(KeyboardInterrupt))
    assert not (tmp_path / "torn-down").exists()


@pytest.mark.parametrize("ignored", [True, False])
def test_who_handles_sigterm_goes_on_to(tmp_path: Path, handler: Callable[[int, object], None], ignored: bool) -> None:
    seen: list[int] = []
    own = signal.SIG_IGN if ignored else (lambda number, _: seen.append(number))
    handler(signal.SIGTERM, own)
    assert child(tmp_path, "print('ready')").follow(_terminate_this_process) == 0
    assert seen == ([] if ignored else [signal.SIGTERM])
    assert signal.getsignal(signal.SIGTERM) is own


def test_it_can_be_followed_in_any_thread(tmp_path: Path) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(child(tmp_path, "print('it')").follow(lambda _: None)))
    thread.start()
    thread.join()
    assert codes == [0]


def test_a_process_that_ignores_its_childrens_end_does_not_wait_for_ever(
    tmp_path: Path, handler: Callable[[int, object], None]
) -> None:
    handler(signal.SIGCHLD, signal.SIG_IGN)
    heard: list[str] = []
    child(tmp_path, "print('it')").follow(heard.append)
    assert heard == ["it"]
