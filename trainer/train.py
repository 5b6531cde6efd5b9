"""The training loop: draw a step's sequences, accumulate gradients over micro batches, update, say so."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from trainer.data import Sampler, Text
from trainer.devices import Device
from trainer.errors import TrainerError
from trainer.kernels.operators import load
from trainer.kernels.registry import Choice
from trainer.log import SCHEMA, Log, versions
from trainer.model import GPT
from trainer.optimizer import make_optimizers, rate_at, set_rate
from trainer.presets import Preset, parameters

VALIDATION_SEQUENCES = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """All that decides what a run computes."""

    device: Device
    preset: Preset
    dtype: str  # of activations and matrix products
    choices: tuple[Choice[Any], ...]
    text: Text
    seed: int
    steps: int  # the length of the schedule
    stop_after: int  # <= steps
    compiled: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """losses: one per step, nats per byte, before the step's update."""

    losses: tuple[float, ...]
    validation_loss: float


def header(run: Run) -> dict[str, object]:
    """The first line of the log: enough to run it again, and to compare it with another."""
    preset = run.preset
    return {
        "schema": SCHEMA,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "device": run.device.name,
        "capability": run.device.capability,
        "versions": versions() | {"cuda": torch.version.cuda},
        "preset": preset.name,
        "note": preset.note,
        "model": asdict(preset.shape),
        "parameters": parameters(preset.shape),
        "tokens_per_step": preset.tokens_per_step,
        "micro_batch": preset.micro_batch,
        "accumulation": preset.accumulation,
        "dtype": run.dtype,
        "compile": run.compiled,
        "kernels": {choice.op: {"kernel": choice.kernel.name, "why": choice.reason} for choice in run.choices},
        "text": {"source": run.text.source, "sha256": run.text.sha256, "bytes": run.text.train.numel()},
        "seed": run.seed,
        "steps": run.steps,
        "stop_after": run.stop_after,
    }


def train(run: Run, log: Log, say: Callable[[str], None]) -> Result:
    """Train and return the losses; every step goes to ``log`` and, as a line for people, to ``say``.

    Raises TrainerError where memory runs out or the loss is not finite.
    """
    log.write("header", header(run))
    with _out_of_memory_explained(run):
        model = build_model(run)
        forward = torch.compile(model) if run.compiled else model
        optimizers = make_optimizers(model, dtype=getattr(torch, run.dtype))
        sampler = Sampler(run.text.train, run.preset.shape.sequence, run.seed)
        losses: list[float] = []
        speeds: list[float] = []
        for step in range(run.stop_after):
            began = time.perf_counter()
            set_rate(optimizers, rate_at(step, run.steps))
            loss = _step(run, forward, optimizers, sampler)
            speed = run.preset.tokens_per_step / (time.perf_counter() - began)
            if not math.isfinite(loss):
                raise TrainerError(f"the loss is {loss} at step {step + 1}: lower the rates, or use --dtype float32")
            losses.append(loss)
            speeds.append(speed)
            log.write("step", {"step": step + 1, "loss": loss, "tokens_per_second": round(speed)})
            say(f"step {step + 1:>{len(str(run.steps))}}/{run.steps}  loss {loss:.4f}  {speed:,.0f} tokens/s")
        validation = _validation_loss(run, model)
    log.write("footer", _footer(run, len(losses), validation, speeds))
    say(f"validation loss {validation:.4f}")
    return Result(losses=tuple(losses), validation_loss=validation)


def build_model(run: Run) -> GPT:
    """Draw the weights on the CPU, then move them, so that every device begins with the same ones."""
    operators = load(run.choices, compiled=run.compiled)
    model = GPT(run.preset.shape, operators, seed=run.seed, dtype=getattr(torch, run.dtype))
    return model.to(run.device.torch_name)


def micro_batches(inputs: Tensor, targets: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut (sequences, T) inputs and targets into pairs of ``size`` sequences; the last may be smaller."""
    for first in range(0, inputs.shape[0], size):
        yield inputs[first : first + size], targets[first : first + size]


def _step(
    run: Run,
    forward: Callable[[Tensor, Tensor, float], Tensor],
    optimizers: tuple[torch.optim.Optimizer, ...],
    sampler: Sampler,
) -> float:
    """One update from tokens_per_step tokens; the loss is their mean, whatever the micro batch."""
    preset = run.preset
    inputs, targets = (
        x.to(run.device.torch_name) for x in sampler.sample(preset.micro_batch * preset.accumulation)
    )  # (sequences, T) each
    total = torch.zeros((), device=run.device.torch_name)
    for micro in micro_batches(inputs, targets, preset.micro_batch):
        loss = forward(*micro, 1 / preset.tokens_per_step)
        loss.backward()  # type: ignore[no-untyped-call] # torch leaves it untyped
        total += loss.detach()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return total.item()  # waits for the device


@torch.no_grad()
def _validation_loss(run: Run, model: GPT) -> float:
    """The mean loss of sequences from files that training does not see; always the same ones."""
    device, preset = run.device.torch_name, run.preset
    sampler = Sampler(run.text.validation, preset.shape.sequence, seed=0)
    inputs, targets = (x.to(device) for x in sampler.sample(VALIDATION_SEQUENCES))
    total = torch.zeros((), device=device)
    for micro in micro_batches(inputs, targets, preset.micro_batch):
        total += model(*micro, 1 / inputs.numel())
    return total.item()


def _footer(run: Run, steps: int, validation: float, speeds: list[float]) -> dict[str, object]:
    footer: dict[str, object] = {"status": "finished", "steps": steps, "validation_loss": validation}
    if len(speeds) > 1:  # the first step loads and compiles kernels
        p20, p50, p80 = (round(q) for q in _quintiles(speeds[1:]))
        footer["tokens_per_second"] = {"p20": p20, "p50": p50, "p80": p80}
    if run.device.capability is not None:
        footer["peak_memory_bytes"] = torch.cuda.max_memory_allocated(run.device.torch_name)
    return footer


def _quintiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    cuts = statistics.quantiles(values, n=10, method="inclusive")
    return cuts[1], cuts[4], cuts[7]


@contextmanager
def _out_of_memory_explained(run: Run) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        half = max(1, run.preset.micro_batch // 2)
        raise TrainerError(
            f"out of memory on {run.device.name} with micro batches of {run.preset.micro_batch} x "
            f"{run.preset.shape.sequence} tokens: try --micro-batch {half} (the tokens per step stay the same)"
        ) from error
