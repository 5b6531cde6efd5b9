"""What to train on which card. All presets take the same number of tokens per step.

micro_batch x accumulation x sequence = tokens_per_step. A smaller card takes smaller micro batches and more of them:
the steps, and so the losses, stay the same. The cpu preset has a smaller model; the others share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from trainer.errors import TrainerError
from trainer.model import VOCABULARY, Shape

GIB = 2**30
TOKENS_PER_STEP = 16_384
NEVER_RUN = "never run on this card; sizes from memory arithmetic"
_OF_MEMORY = 0.8  # what we plan to use: the rest is CUDA's context, the libraries' work spaces and fragments


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """A model and how its step is cut."""

    name: str
    shape: Shape
    micro_batch: int  # sequences at a time
    tokens_per_step: int = TOKENS_PER_STEP
    note: str = ""

    def __post_init__(self) -> None:
        if self.micro_batch < 1 or self.tokens_per_step < 1:
            raise TrainerError(f"micro batch {self.micro_batch}, tokens per step {self.tokens_per_step}: below 1")
        if self.tokens_per_step % (self.micro_batch * self.shape.sequence):
            raise TrainerError(
                f"{self.tokens_per_step} tokens per step are no multiple of micro batch {self.micro_batch} "
                f"x sequence {self.shape.sequence}"
            )

    @property
    def accumulation(self) -> int:
        """Micro batches per step."""
        return self.tokens_per_step // (self.micro_batch * self.shape.sequence)


_SMALL = Shape(layers=2, dim=128, head_dim=64, sequence=256)
_SPEEDRUN = Shape(layers=6, dim=384, head_dim=64, sequence=512)
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(name="cpu", shape=_SMALL, micro_batch=32),
            # Half of what its 24 GiB would take: a desktop's screen and the reference attention want some too.
            Preset(name="rtx3090", shape=_SPEEDRUN, micro_batch=16, note=NEVER_RUN),
            Preset(name="h100", shape=_SPEEDRUN, micro_batch=32, note=NEVER_RUN),
            Preset(name="h200", shape=_SPEEDRUN, micro_batch=32),
        )
    }
)


def parameters(shape: Shape) -> int:
    """Weights: four attention matrices and two of the MLP per layer, the embedding and the head."""
    return shape.layers * (4 * shape.dim**2 + 2 * shape.dim * shape.hidden) + 2 * VOCABULARY * shape.dim


def memory_needed(preset: Preset, element: int) -> int:
    """Bytes that a step needs at its peak, by arithmetic, with ``element`` bytes per activation. An upper estimate.

    Weights, gradients and two optimiser states in float32; per token and layer what backward keeps, in widths of
    dim: 3 norms (3), q, k, v, normalised and rotated (9, in part float32: 12), attention's output (1), the two
    sums (2), hidden twice (8), rounded up to 32; the cast weights; logits and their gradient in float32.
    The reference attention alone would add its T x T scores.
    """
    shape = preset.shape
    tokens = preset.micro_batch * shape.sequence
    weights = parameters(shape) * (16 + element)
    activations = tokens * shape.layers * shape.dim * 32 * element
    return weights + activations + tokens * VOCABULARY * 12


def choose_preset(device_name: str, memory: int | None) -> Preset:
    """What "auto" means: the card's own preset, else the largest that fits, its micro batch halved until it does.

    ``memory`` is in bytes; None is the CPU.
    """
    if memory is None:
        return PRESETS["cpu"]
    spelled = device_name.lower().replace(" ", "")
    for name in ("rtx3090", "h200", "h100"):
        if name in spelled:
            return PRESETS[name]
    preset = replace(PRESETS["h100"], note=f"no preset for {device_name}: the h100's, fitted; {NEVER_RUN}")
    while memory_needed(preset, element=4) > _OF_MEMORY * memory:  # 4: a card before 8.0 uses float32
        if preset.micro_batch == 1:
            raise TrainerError(
                f"{device_name} has {memory / GIB:.1f} GiB: too little for the speedrun's model (try --preset cpu)"
            )
        preset = replace(preset, micro_batch=preset.micro_batch // 2)
    return preset
