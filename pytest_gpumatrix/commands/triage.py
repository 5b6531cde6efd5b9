"""``gpumatrix triage``: why it failed, from a log, a traceback or a message."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_gpumatrix.commands.command import Command
from pytest_gpumatrix.commands.output import put
from pytest_gpumatrix.errors import GpuMatrixError

if TYPE_CHECKING:
    from pytest_gpumatrix.triage.cause import Cause
    from pytest_gpumatrix.triage.facts import DeviceFacts

_HELP = """\
Say why something failed on a GPU: the category of the cause, what it calls for, how sure that is, and the line that
decided. The text is a log, a traceback, a captured output or one message, from FILE or from standard input. Facts of
the device make the answer surer: one sentence often has several truths.

examples:
  gpumatrix triage pytest.log
  pytest tests/ 2>&1 | gpumatrix triage
  gpumatrix triage pytest.log --facts facts.json --format json
  gpumatrix triage --jsonl < failures.jsonl > causes.jsonl

FACTS is a JSON object, all of it optional: {"gpu": "RTX 3090", "capability": "8.6", "driver": "570.86", "torch":
"2.7.0+cu128", "arch_list": ["sm_80", "sm_90"], "memory_total": "24 GiB", "memory_free_at_start": "23 GiB",
"memory_free": "0.2 GiB", "other_processes_memory": 0, "wsl": false, "outcome": "failed"}; "hardware" and "framework"
are free text ("2x RTX 5090 (sm_120)", "torch 2.7.0+cu128, triton 3.3"). Unknown keys are passed over.

--jsonl reads one {"text": "...", "facts": {...}} a line and writes one answer a line, as soon as it is found:
{"category", "reason", "action", "advice", "confidence", "evidence", "rule", "note"}. A line that cannot be read is
answered by {"error": "..."} in its place.

exit codes: 0 answered, whatever the cause; 2 a mistake in what was given (with --jsonl, after the last line)
"""
_LONGEST_LINE = 64 * 2**20  # bytes of a line of JSON
_LONGEST_LOG = 16 * 2**20  # bytes of a log that are read, from each end


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="what to read (default: standard input)")
    parser.add_argument("--jsonl", action="store_true", help="one failure a line, as JSON, and one answer a line")
    parser.add_argument("--facts", type=Path, metavar="FACTS", help="a JSON file with what is known of the device")
    parser.add_argument("--format", choices=("terminal", "json"), default="terminal")


def _run(given: argparse.Namespace) -> int:
    common = _facts_of_file(given.facts) if given.facts is not None else {}
    if given.jsonl:
        with _opened(given.file) as source:
            return _answer_lines(source, common)
    from pytest_gpumatrix.triage.classify import classify_log
    from pytest_gpumatrix.triage.facts import DeviceFacts

    facts = DeviceFacts.parse(common)
    with _opened(given.file) as source:
        cause = classify_log(_ends(source), facts)
    put(json.dumps(answer(cause), indent=2) + "\n" if given.format == "json" else _for_people(cause, facts), None)
    return 0


def answer(cause: Cause) -> dict[str, str]:
    """A cause as JSON: one line of ``--jsonl``."""
    return {
        "category": cause.category.value,
        "reason": cause.reason,
        "action": cause.action.value,
        "advice": cause.advice,
        "confidence": cause.confidence.value,
        "evidence": cause.evidence,
        "rule": cause.rule,
        "note": cause.note,
    }


def _answer_lines(source: IO[bytes], common: Mapping[str, Any]) -> int:
    """Answer each line in its place; 2 if one could not be read."""
    from pytest_gpumatrix.render.text import clean

    mistakes = 0
    for number, line in enumerate(_lines(source), start=1):
        if line is not None and not line.strip():
            continue
        try:
            answered: dict[str, str] = answer(_classified(line, common))
        except GpuMatrixError as error:
            mistakes += 1
            answered = {"error": f"line {number}: {clean(str(error))}"}
        put(json.dumps(answered) + "\n", None)
    return 2 if mistakes else 0


def _classified(line: bytes | None, common: Mapping[str, Any]) -> Cause:
    from pytest_gpumatrix.triage.classify import classify_log
    from pytest_gpumatrix.triage.facts import DeviceFacts
    from pytest_gpumatrix.triage.printable import printable

    if line is None:
        raise GpuMatrixError(f"longer than {_LONGEST_LINE // 2**20} MiB: cut the text to its two ends")
    row = _json_object(line, 'write {"text": "...", "facts": {...}}')
    text, facts = row.get("text"), row.get("facts")
    if not isinstance(text, str):
        raise GpuMatrixError('"text" must be a string: write {"text": "...", "facts": {...}}')
    if facts is not None and not isinstance(facts, dict):
        raise GpuMatrixError('"facts" must be an object: write {"text": "...", "facts": {"capability": "8.6"}}')
    return classify_log(printable(text), DeviceFacts.parse({**common, **(facts or {})}))


def _json_object(data: bytes, form: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise GpuMatrixError(f"not JSON ({error}): {form}") from error
    if not isinstance(value, dict):
        raise GpuMatrixError(f"a JSON object is wanted, not {type(value).__name__}: {form}")
    return value


def _facts_of_file(path: Path) -> dict[str, Any]:
    try:
        return _json_object(path.read_bytes(), 'write {"gpu": "RTX 3090", "capability": "8.6"}')
    except OSError as error:
        raise GpuMatrixError(f"--facts {path}: cannot be read: {error.strerror or error}") from error
    except GpuMatrixError as error:
        raise GpuMatrixError(f"--facts {path}: {error}") from error


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[bytes]]:
    if path is None:
        yield sys.stdin.buffer
        return
    try:
        source = path.open("rb")
    except OSError as error:
        raise GpuMatrixError(f"{path}: cannot be read: {error.strerror or error}") from error
    with source:
        yield source


def _lines(source: IO[bytes]) -> Iterator[bytes | None]:
    """The lines; None for one that is too long, which is read over."""
    while line := source.readline(_LONGEST_LINE + 1):
        if len(line) <= _LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = source.readline(_LONGEST_LINE)
        yield None


def _ends(source: IO[bytes]) -> str:
    """The text, or its beginning and its end, in bounded memory."""
    beginning = source.read(_LONGEST_LOG)
    end = b""
    left_out = False
    while piece := source.read(_LONGEST_LOG):
        left_out = left_out or len(end) + len(piece) > _LONGEST_LOG
        end = (end + piece)[-_LONGEST_LOG:]
    separator = b"\n" if left_out else b""
    return (beginning + separator + end).decode("utf-8", "replace")


def _for_people(cause: Cause, facts: DeviceFacts) -> str:
    from pytest_gpumatrix.render.text import clean

    rows = [
        ("category", f"{cause.category.value} ({cause.reason})" if cause.reason else cause.category.value),
        ("action", f"{cause.action.value}: {cause.advice}"),
        ("confidence", cause.confidence.value),
        ("evidence", clean(cause.evidence) or "no line of it names a cause of the hardware"),
        ("note", clean(cause.note)),
        ("rule", cause.rule),
        ("device", f"{clean(facts.gpu)} ({facts.capability})" if facts.gpu else str(facts.capability or "")),
    ]
    return "".join(f"{name + ':':<12}{value}\n" for name, value in rows if value)


COMMAND = Command(
    name="triage",
    summary="say why something failed on a GPU, from a log or a traceback",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
