"""The command line: ``python -m trainer`` trains, ``python -m trainer explain`` says which kernels it would use."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.devices import Device, default_dtype, find_device
from trainer.errors import TrainerError
from trainer.explain import explain
from trainer.kernels.operators import OPS, choose
from trainer.kernels.registry import Request

if TYPE_CHECKING:
    from trainer.presets import Preset
    from trainer.train import Run

_PRESETS = ("auto", "cpu", "rtx3090", "h100", "h200")  # named here too: presets.py loads torch


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit code: 0, or 2 for what the user can mend."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments[:1] == ["explain"]:
            return _explain(_explain_parser().parse_args(arguments[1:]))
        return _train(_train_parser().parse_args(arguments))
    except TrainerError as error:
        print(f"trainer: {error}", file=sys.stderr)
        return 2


def _explain_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer explain", description=explain.__doc__)
    parser.add_argument("--device", default="here", help="here (default), cpu, or a card: rtx3090, h100, ...")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser


def _explain(options: argparse.Namespace) -> int:
    explanation = explain(options.device)
    print(json.dumps(explanation.as_json(), indent=2) if options.format == "json" else explanation.as_text())
    return 0


def _train_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer",
        description="Train a small GPT on bytes. 'python -m trainer explain' says which kernels it would use.",
    )
    parser.add_argument("--preset", choices=_PRESETS, default="auto")
    parser.add_argument("--steps", type=_positive, default=200, metavar="N", help="the schedule's length (200)")
    parser.add_argument("--stop-after", type=_positive, metavar="N", help="stop early, on the same schedule")
    parser.add_argument("--seed", type=_seed, default=0, help="of the weights and of the order of the text")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--dtype", choices=("auto", "bfloat16", "float32"), default="auto")
    for op in OPS:
        names = tuple(kernel.name for kernel in op.kernels)
        parser.add_argument(f"--{op.name.replace('_', '-')}", choices=names, help="this kernel, or an error")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model: a minute before step 1")
    parser.add_argument("--log", type=Path, metavar="FILE", help="JSON lines (default: a new file in runs/)")
    parser.add_argument("--text", type=Path, metavar="DIR", help="train on the files of DIR")
    parser.add_argument("--pattern", type=_pattern, default="*.py", help="which files of DIR (*.py)")
    for size in ("layers", "dim", "sequence", "micro-batch", "tokens-per-step"):
        parser.add_argument(f"--{size}", type=_positive, metavar="N", help="instead of the preset's")
    return parser


def _positive(text: str) -> int:
    number = int(text)  # argparse turns ValueError into a usage error
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number


def _seed(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**64:
        raise argparse.ArgumentTypeError("PyTorch takes seeds from -2**63 to 2**64 - 1")
    return number


def _pattern(text: str) -> str:
    if not text or Path(text).is_absolute():
        raise argparse.ArgumentTypeError(f"{text!r} must be relative to the folder: '*.py' or 'src/*.txt'")
    return text


def _train(options: argparse.Namespace) -> int:
    from trainer.log import Log, default_path
    from trainer.train import train

    run = make_run(options)
    for line in describe(run):
        print(line)
    with Log(options.log or default_path(run.preset.name)) as log:
        print(f"log: {log.path}", flush=True)
        train(run, log, say=lambda line: print(line, flush=True))
    return 0


def make_run(options: argparse.Namespace) -> Run:
    """Turn the command line into a run; TrainerError where its parts do not fit."""
    from trainer.data import read_text
    from trainer.train import Run

    device = find_device(options.device)
    preset = _preset(options, device)
    dtype = default_dtype(device.capability) if options.dtype == "auto" else options.dtype
    if dtype == "bfloat16" and device.capability is not None and device.capability < (8, 0):
        raise TrainerError(f"{device.name} has no bfloat16, which needs compute capability 8.0: try --dtype float32")
    request = Request(
        capability=device.capability,
        dtype=dtype,
        head_dim=preset.shape.head_dim,
        interpret=os.environ.get("TRITON_INTERPRET") == "1",
    )
    forced = {op.name: getattr(options, op.name) for op in OPS if getattr(options, op.name) is not None}
    return Run(
        device=device,
        preset=preset,
        dtype=dtype,
        choices=choose(request, forced),
        text=read_text(options.text, options.pattern),
        seed=options.seed,
        steps=options.steps,
        stop_after=min(options.stop_after or options.steps, options.steps),
        compiled=options.compile,
    )


def _preset(options: argparse.Namespace, device: Device) -> Preset:
    from trainer.presets import PRESETS, choose_preset

    preset = choose_preset(device.name, device.memory) if options.preset == "auto" else PRESETS[options.preset]
    shape = {name: getattr(options, name) for name in ("layers", "dim", "sequence") if getattr(options, name)}
    cut = {name: getattr(options, name) for name in ("micro_batch", "tokens_per_step") if getattr(options, name)}
    return replace(preset, shape=replace(preset.shape, **shape), **cut)


def describe(run: Run) -> list[str]:
    """What will run, and why, in a line each."""
    preset, shape = run.preset, run.preset.shape
    note = f" ({preset.note})" if preset.note else ""
    cut = f"{preset.micro_batch} x {shape.sequence} x {preset.accumulation} = {preset.tokens_per_step:,} tokens a step"
    return [
        f"device: {run.device.name}, {run.dtype}",
        f"preset: {preset.name}{note}: {shape.layers} layers of {shape.dim}, {cut}",
        f"text: {run.text.source}, {run.text.train.numel():,} bytes, sha256 {run.text.sha256[:12]}",
        *(f"{choice.op}: {choice.kernel.name} ({choice.reason})" for choice in run.choices),
    ]


if __name__ == "__main__":
    sys.exit(main())
