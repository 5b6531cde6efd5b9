"""A process that is started with a group of its own, heard line by line, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from pytest_gpumatrix.portability.compiling.process_ends import sigterm_raises

_PATIENCE = 10.0  # seconds that an interrupted process gets for its teardown
_LAST_WORDS = 5.0  # seconds for output to arrive when all of it has ended


class ChildProcess:
    """Started at once. ``lifeline`` is the variable that tells it which pipe is closed when this process is gone."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        lifeline: str,
        *,
        patience: float = _PATIENCE,
        last_words: float = _LAST_WORDS,
    ) -> None:
        self._patience, self._last_words = patience, last_words
        theirs, self._ours = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                command,
                env={**environ, lifeline: str(theirs)},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs,),
                start_new_session=True,  # Ctrl-C is for us alone, and what it starts can be ended with it
            )
        except BaseException:
            os.close(self._ours)
            raise
        finally:
            os.close(theirs)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def follow(self, hear: Callable[[str], None]) -> int:
        """Tell each line until it ends; its exit code, negative for a signal.

        What it started in its group ends with it. On an interrupt of this process it is interrupted as well, ended
        if that takes long, and the interrupt goes on. SIGTERM ends it at once, and raises SystemExit here.
        """
        with sigterm_raises():
            try:
                while not self._has_ended():
                    with contextlib.suppress(queue.Empty):
                        hear(self._lines.get(timeout=0.2))
                self._signal(signal.SIGKILL)  # what it left behind: it would keep the GPU's memory, and the output
                self._reader.join(self._last_words)
                for _ in range(self._lines.qsize()):
                    hear(self._lines.get_nowait())
            except BaseException as error:
                # Who sends SIGTERM does not wait long.
                self._interrupt(0 if isinstance(error, SystemExit) else self._patience)
                raise
            finally:
                os.close(self._ours)
                code = self._process.wait()  # only now: until it is reaped nobody else can have its number
        return code

    def _read(self) -> None:
        output = cast("IO[bytes]", self._process.stdout)
        with output:
            for line in output:
                self._lines.put(line.decode(errors="replace").rstrip("\r\n"))

    def _interrupt(self, patience: float) -> None:
        try:
            self._signal(signal.SIGINT)
            until = time.monotonic() + patience
            while not self._has_ended() and time.monotonic() < until:
                time.sleep(0.02)
        finally:  # also where the user does not want to wait
            self._signal(signal.SIGKILL)

    def _has_ended(self) -> bool:
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # a test made this process ignore SIGCHLD: the kernel has reaped it
            return True

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # all of the group are gone
            os.killpg(self._process.pid, number)
