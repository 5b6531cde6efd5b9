"""Gives a leg the machine that its ``runs-on`` would: tests/fake_nvml then reports the card of the leg's device."""

from __future__ import annotations

import os

_CARDS = {"h100": "NVIDIA H100 80GB HBM3@9.0@81559", "rtx3090": "NVIDIA GeForce RTX 3090@8.6@24576"}

if "GPUMATRIX_DEVICE" in os.environ:  # the variable by which the Action tells its Python the device
    os.environ["FAKE_GPUS"] = _CARDS[os.environ["GPUMATRIX_DEVICE"]]
