"""``gpumatrix triage``: what it reads, what it says, and what it does with mistakes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix import cli
from pytest_gpumatrix.commands import triage

NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, given: str | bytes, *arguments: str
) -> tuple[int, str, str]:
    data = given if isinstance(given, bytes) else given.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    code = cli.main(["triage", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured output has no file behind it: write it as text."""
    monkeypatch.setattr(triage, "put", lambda text, _: print(text, end=""))


def test_a_log_from_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run(capsys, monkeypatch, "Error: Failed to initialize the TMA descriptor 801\n")
    assert code == 0
    assert out == (
        "category:   arch_feature\n"
        "action:     skip: Give the operator a path without TMA below 9.0.\n"
        "confidence: high\n"
        "evidence:   Error: Failed to initialize the TMA descriptor 801\n"
        "rule:       tma-descriptor-unsupported\n"
    )


def test_a_file_with_facts_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log, facts = tmp_path / "pytest.log", tmp_path / "facts.json"
    log.write_text(NO_IMAGE, encoding="utf-8")
    facts.write_text('{"capability": "12.0", "arch_list": ["sm_80", "sm_90"]}', encoding="utf-8")
    code, out, _ = run(capsys, monkeypatch, "", str(log), "--facts", str(facts), "--format", "json")
    answer = json.loads(out)
    assert code == 0
    assert list(answer) == ["category", "reason", "action", "advice", "confidence", "evidence", "rule", "note"]
    assert (answer["category"], answer["reason"]) == ("no_kernel_image", "build_gap")
    assert answer["action"] == "environment"
    assert answer["evidence"] == NO_IMAGE


def test_lines_are_answered_in_their_order(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        json.dumps({"text": NO_IMAGE, "facts": {"cc": "8.6", "arch_list": ["sm_80"]}}),
        "",
        json.dumps({"text": "TypeError: f() takes 1 argument"}),
        json.dumps({"text": "", "facts": None}),
    ]
    code, out, err = run(capsys, monkeypatch, "\n".join(lines), "--jsonl")
    assert (code, err) == (0, "")
    assert [row["category"] for row in rows(out)] == ["no_kernel_image", "genuine_failure", "unknown"]
    assert rows(out)[0]["action"] == "skip"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: not JSON"),
        (b"[1]", "line 2: a JSON object is wanted, not list"),
        (b"{}", 'line 2: "text" must be a string'),
        (b'{"text": 3}', 'line 2: "text" must be a string'),
        (b'{"text": "x", "facts": [1]}', 'line 2: "facts" must be an object'),
        (b'{"text": "x", "facts": {"cc": "fast"}}', "line 2: fact 'cc': 'fast' is not a compute capability"),
        (b"\xff\xfe", "line 2: not JSON"),
        (b"[" * 100_000, "line 2: not JSON"),
    ],
)
def test_a_bad_line_is_answered_in_its_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: bytes, message: str
) -> None:
    good = json.dumps({"text": NO_IMAGE}).encode()
    code, out, _ = run(capsys, monkeypatch, b"\n".join((good, line, good)), "--jsonl")
    answers = rows(out)
    assert code == 2
    assert [list(answer) == ["error"] for answer in answers] == [False, True, False]
    assert message in answers[1]["error"]


def test_a_line_that_is_too_long_is_read_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage, "_LONGEST_LINE", 200)
    good = json.dumps({"text": NO_IMAGE})
    code, out, _ = run(capsys, monkeypatch, f"{good}\n{'x' * 1000}\n{good}\n", "--jsonl")
    assert code == 2
    assert [list(answer) == ["error"] for answer in rows(out)] == [False, True, False]


def test_a_huge_log_is_read_at_both_ends(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triage, "_LONGEST_LOG", 500)
    quiet = "step 1 loss 3.2\n" * 1_000
    for text in (f"{NO_IMAGE}\n{quiet}", f"{quiet}{NO_IMAGE}\n"):
        assert json.loads(run(capsys, monkeypatch, text, "--format", "json")[1])["category"] == "no_kernel_image"


@pytest.mark.parametrize("arguments", [["missing.log"], ["--facts", "missing.json"], ["."], ["--facts", "bad.json"]])
def test_a_mistake_names_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"cc": "8.6"', encoding="utf-8")
    code, out, err = run(capsys, monkeypatch, "", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("gpumatrix: error: ")
    assert arguments[-1] in err


def test_what_it_shows_is_made_fit_for_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = run(capsys, monkeypatch, "CUDA error: an illegal memory access \x07\u202e was encountered")
    assert "\\x07" in out
    assert "\u202e" not in out


def test_each_answer_is_written_before_the_next_line_is_read() -> None:
    command = [sys.executable, "-m", "pytest_gpumatrix", "triage", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write(json.dumps({"text": NO_IMAGE}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["category"] == "no_kernel_image"
        process.stdin.close()
    assert process.returncode == 0
