"""Presets keep the tokens per step, fit their card, and say so where they never ran."""

from __future__ import annotations

import pytest

from trainer.errors import TrainerError
from trainer.presets import GIB, NEVER_RUN, PRESETS, TOKENS_PER_STEP, choose_preset, memory_needed

MEMORY = {"rtx3090": 24, "h100": 80, "h200": 141}  # GiB, nominally


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_tokens_per_step_are_equal(preset: object) -> None:
    from trainer.presets import Preset

    assert isinstance(preset, Preset)
    assert preset.micro_batch * preset.accumulation * preset.shape.sequence == TOKENS_PER_STEP


@pytest.mark.parametrize("name", MEMORY)
def test_a_preset_fits_its_card(name: str) -> None:
    assert memory_needed(PRESETS[name], element=2) < 0.8 * MEMORY[name] * GIB


def test_the_big_presets_train_one_model_so_their_losses_can_be_compared() -> None:
    assert PRESETS["rtx3090"].shape == PRESETS["h100"].shape == PRESETS["h200"].shape


@pytest.mark.parametrize(("name", "never"), [("cpu", False), ("rtx3090", True), ("h100", True), ("h200", False)])
def test_a_card_that_we_never_ran_on_says_so(name: str, never: bool) -> None:
    assert (NEVER_RUN in PRESETS[name].note) is never


@pytest.mark.parametrize(
    ("device", "gibibytes", "preset", "micro_batch"),
    [
        ("CPU", None, "cpu", 32),
        ("NVIDIA GeForce RTX 3090", 24, "rtx3090", 16),
        ("NVIDIA H100 80GB HBM3", 80, "h100", 32),
        ("NVIDIA H200", 141, "h200", 32),
        ("NVIDIA A100-SXM4-80GB", 80, "h100", 32),
        ("Tesla T4", 15, "h100", 32),
        ("NVIDIA T600", 4, "h100", 16),
        ("NVIDIA T400", 2, "h100", 8),
    ],
)
def test_auto(device: str, gibibytes: int | None, preset: str, micro_batch: int) -> None:
    chosen = choose_preset(device, None if gibibytes is None else gibibytes * GIB)
    assert (chosen.name, chosen.micro_batch) == (preset, micro_batch)
    assert chosen.micro_batch * chosen.accumulation * chosen.shape.sequence == TOKENS_PER_STEP
    if "A100" in device:
        assert chosen.note == f"no preset for {device}: the h100's, fitted; {NEVER_RUN}"


def test_a_card_too_small_for_the_model_says_so() -> None:
    with pytest.raises(TrainerError, match=r"0\.2 GiB: too little .* --preset cpu"):
        choose_preset("NVIDIA GT 1", GIB // 4)
