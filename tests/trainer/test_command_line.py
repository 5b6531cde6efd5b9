"""`python -m trainer` and `python -m trainer explain`, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from trainer.__main__ import main
from trainer.model import GPT

SMALL = ("--preset", "cpu", "--device", "cpu", "--micro-batch", "4", "--tokens-per-step", "1024", "--sequence", "128")


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_loss_falls_on_the_default_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.jsonl"
    assert main([*SMALL, "--steps", "20", "--log", str(log)]) == 0
    header, *steps, footer = _records(log)
    losses = [step["loss"] for step in steps]
    assert len(losses) == 20
    assert losses[0] == pytest.approx(5.55, abs=0.15)
    assert sum(losses[-3:]) / 3 < losses[0] - 1.5
    assert footer["validation_loss"] < losses[0] - 1.5
    assert header["kernels"]["mlp"] == {"kernel": "reference", "why": "triton needs a CUDA GPU"}
    assert (header["type"], header["schema"], header["device"], header["capability"]) == ("header", 1, "CPU", None)
    assert (footer["type"], footer["status"], footer["steps"]) == ("footer", "finished", 20)
    assert (header["tokens_per_step"], header["accumulation"], header["seed"]) == (1024, 2, 0)
    assert header["versions"]["torch"] == torch.__version__.partition("+")[0] or header["versions"]["torch"]
    out = capsys.readouterr().out
    assert "mlp: reference (triton needs a CUDA GPU)" in out
    assert "step  1/20  loss 5." in out


def test_a_seed_decides_the_losses_whatever_the_micro_batch(tmp_path: Path) -> None:
    curves = []
    for number, extra in enumerate(([], ["--micro-batch", "8"], ["--attention", "reference"], ["--seed", "1"])):
        log = tmp_path / f"{number}.jsonl"
        assert main([*SMALL, "--steps", "10", "--stop-after", "3", *extra, "--log", str(log)]) == 0
        curves.append([record["loss"] for record in _records(log) if record["type"] == "step"])
    assert len(curves[0]) == 3
    assert curves[1] == pytest.approx(curves[0], abs=1e-4)
    assert curves[2] == pytest.approx(curves[0], abs=1e-4)
    assert curves[3] != pytest.approx(curves[0], abs=1e-2)


def test_a_log_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text("an old run")
    assert main([*SMALL, "--steps", "1", "--log", str(log)]) == 2
    assert log.read_text() == "an old run"
    assert "exists, and a log is never written over: name another with --log" in capsys.readouterr().err
    assert main([*SMALL, "--steps", "1", "--log", str(log / "below")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_without_a_name_a_log_gets_a_new_one_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--steps", "1"]) == 0
    (log,) = (tmp_path / "runs").iterdir()
    assert [record["type"] for record in _records(log)] == ["header", "step", "footer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "h900"], "invalid choice: 'h900'"),
        (["--mlp", "cutlass"], "invalid choice: 'cutlass'"),
        (["--steps", "0"], "0 is below 1"),
        (["--steps", "many"], "invalid _positive value: 'many'"),
    ],
)
def test_a_usage_error(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "cuda:99"], "device 'cuda:99' is not here"),
        (["--device", "gpu"], "no device 'gpu': write auto, cpu, cuda or cuda:N"),
        (
            ["--device", "cpu", "--attention", "flash_attn.cute"],
            "flash_attn.cute was asked for, but it needs a CUDA GPU",
        ),
        (["--device", "cpu", "--cross-entropy", "cuda"], "cuda was asked for, but it needs a CUDA GPU"),
        ([*SMALL, "--tokens-per-step", "1000"], "1000 tokens per step are no multiple of micro batch 4 x sequence 128"),
        ([*SMALL, "--dim", "100"], "head_dim 64 must be even and divide dim 100"),
        ([*SMALL, "--text", "no_such_folder"], "0 files match *.py"),
        (["explain", "--device", "h900"], "no device 'h900'; known: here, cpu, t4,"),
    ],
)
def test_what_the_user_can_mend(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_out_of_memory_says_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 26.00 GiB")

    monkeypatch.setattr(GPT, "logits", full)
    log = tmp_path / "run.jsonl"
    assert main([*SMALL, "--steps", "1", "--log", str(log)]) == 2
    assert "try --micro-batch 2 (the tokens per step stay the same)" in capsys.readouterr().err
    assert _records(log)[-1]["status"] == "failed"


def test_another_error_of_the_run_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(GPT, "logits", broken)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        main([*SMALL, "--steps", "1", "--log", str(tmp_path / "run.jsonl")])
    assert _records(tmp_path / "run.jsonl")[-1] == {
        "type": "footer",
        "status": "failed",
        "error": "RuntimeError: shapes do not match",
    }


def test_a_loss_that_is_not_finite_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logits = GPT.logits
    monkeypatch.setattr(GPT, "logits", lambda self, tokens: logits(self, tokens) * float("nan"))
    assert main([*SMALL, "--steps", "2", "--log", str(tmp_path / "run.jsonl")]) == 2
    assert "the loss is nan at step 1" in capsys.readouterr().err
    assert [record["type"] for record in _records(tmp_path / "run.jsonl")] == ["header", "footer"]


@pytest.mark.parametrize(
    ("device", "row"),
    [
        ("rtx3090", "attention      flash_attn.cute  refused     needs compute capability 9.0 or later, this is 8.6"),
        ("t4", "mlp            triton           refused     needs compute capability 8.0 or later, this is 7.5"),
        ("cpu", "cross_entropy  reference        chosen      the first that runs"),
        ("rtx5090", "mlp            triton           chosen      the first that runs"),
        ("rtx5090", "mlp            reference        not needed  triton comes before it"),
    ],
)
def test_explain(device: str, row: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--device", device]) == 0
    assert row in capsys.readouterr().out.splitlines()


def test_explain_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--device", "h100", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["device"], answer["capability"], answer["dtype"]) == ("h100", "9.0", "bfloat16")
    chosen = {row["op"]: row["kernel"] for row in answer["kernels"] if row["status"] == "chosen"}
    assert set(chosen) == {"attention", "cross_entropy", "mlp"}


def test_explain_for_a_named_device_loads_no_torch() -> None:
    program = (
        "import sys; from trainer.__main__ import main; code = main(['explain', '--device', 'rtx3090']);"
        "sys.exit(code or any(name in sys.modules for name in ('torch', 'triton', 'cuda.core')))"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL
    )


def test_presets_of_the_command_line_are_those_that_there_are() -> None:
    from trainer.__main__ import _PRESETS
    from trainer.presets import PRESETS

    assert set(_PRESETS) == {"auto", *PRESETS}


@pytest.mark.parametrize("option", [("--seed", "99999999999999999999999"), ("--pattern", "/etc/*"), ("--pattern", "")])
def test_what_pytorch_or_a_glob_would_refuse_is_refused_first(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.jsonl"
    with pytest.raises(SystemExit) as ended:
        main([*SMALL, *option, "--log", str(log)])
    assert ended.value.code == 2
    assert option[0] in capsys.readouterr().err
    assert not log.exists()
