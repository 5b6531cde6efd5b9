"""A process that is started with a group of its own, heard line by line, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

_PATIENCE = 10.0  # seconds that an interrupted process gets for its teardown
_LAST_WORDS = 5.0  # seconds for output to arrive when the process has ended


class ChildProcess:
    """Started at once. ``lifeline`` is the variable that tells it which pipe is closed when this process is gone."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: Path, lifeline: str) -> None:
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
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def follow(self, hear: Callable[[str], None]) -> int:
        """Tell each line until it ends; its exit code, negative for a signal.

        On an interrupt of this process it is interrupted as well, ended if that takes long, and the interrupt goes on.
        """
        try:
            while self._process.poll() is None:
                self._tell(hear, wait=0.2)
            self._reader.join(_LAST_WORDS)
            if self._reader.is_alive():  # something that it left behind holds its output
                self._signal(signal.SIGKILL)
                self._reader.join(_LAST_WORDS)
            self._tell(hear, wait=0)
        except BaseException:
            self._interrupt()
            raise
        finally:
            os.close(self._ours)
        return self._process.returncode

    def _tell(self, hear: Callable[[str], None], wait: float) -> None:
        with contextlib.suppress(queue.Empty):
            while (line := self._lines.get(timeout=wait) if wait else self._lines.get_nowait()) is not None:
                hear(line)

    def _read(self) -> None:
        output = cast("IO[bytes]", self._process.stdout)
        with output:
            for line in output:
                self._lines.put(line.decode(errors="replace").rstrip("\r\n"))
        self._lines.put(None)

    def _interrupt(self) -> None:
        self._signal(signal.SIGINT)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:  # also where the user does not want to wait
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # all of the group are gone
            os.killpg(self._process.pid, number)
