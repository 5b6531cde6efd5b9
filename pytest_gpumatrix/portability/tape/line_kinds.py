"""What a line of JSON says that it is, whoever wrote it: for messages about what is no tape, or a newer one."""

from __future__ import annotations

import msgspec

_RECORDS = ("header", "launch", "problem", "end")
_KERNELS = ("triton", "cuda")
_LONGEST = 40  # characters of a kind that are shown


class _Kernel(msgspec.Struct, frozen=True):
    kind: str | None = None


class LineKind(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at: a tape's lines have a ``record``, a journal's an ``event``."""

    record: str | None = None
    schema: int | None = None
    event: str | None = None
    kernel: _Kernel | None = None

    @classmethod
    def of(cls, line: bytes) -> LineKind:
        """Of any bytes; all is None for what is no such JSON."""
        try:
            return msgspec.json.decode(line, type=cls)
        except (msgspec.MsgspecError, RecursionError):  # the latter for what is nested too deep
            return cls()

    @property
    def name(self) -> str:
        """What a file is that begins with this line, for people."""
        if self.record is not None:
            return f"JSON lines that begin with a record {_shown(self.record)}"
        if self.event == "session":
            return "a journal"
        if self.event is not None:
            return f"JSON lines that begin with an event {_shown(self.event)}"
        return "a file whose first line is no header"

    @property
    def not_known(self) -> str | None:
        """Which kind of a tape's line it is that this release does not know; None if it knows it."""
        if self.record not in (None, *_RECORDS):
            return f"a line of kind {_shown(self.record)}"
        if self.kernel is not None and self.kernel.kind not in (None, *_KERNELS):
            return f"a kernel of kind {_shown(self.kernel.kind)}"
        return None


def _shown(kind: str | None) -> str:
    return repr((kind or "")[:_LONGEST])
