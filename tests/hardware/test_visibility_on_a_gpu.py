"""What ``choose`` says against what the driver does. It needs a GPU; no context is made."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pytest_gpumatrix.hardware import nvml, visibility

# Prints the UUIDs of the devices that CUDA counts. A driver reads the variable once, so each value has a process.
ASK_CUDA = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int(0)
if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
    count.value = 0
uuids = []
for device in range(count.value):
    raw = (ctypes.c_ubyte * 16)()
    assert cuda.cuDeviceGetUuid_v2(ctypes.byref(raw), device) == 0
    uuids.append(bytes(raw).hex())
print(json.dumps(uuids))
"""
NUMBERS = [
    "0", " 0", "0 ", "+0", "-0", "00", "0x0", "0gpu", "0-2", "0.5", "0;1", "-1", "{count}",
    "2147483648", "4294967296", "4294967297", "-4294967296", "9223372036854775808",
    "18446744073709551616", "99999999999999999999",
]  # fmt: skip
LISTS = [
    "", " ", "0,", ",0", "0,,", "0, ", "0,abc", "0,-1,0", "0,{count},0", "0,0", "0,00",
    "0,4294967296", "{count},0", "-1,0", "0,{uuid}", "0,{uuid},0", "{uuid},0", "{uuid},{uuid}",
    "{uuid},GPU-", "{uuid},abc,{uuid}",
]  # fmt: skip
# Of the first GPU's UUID {1} is the first digit, {8} the first eight; {upper} and {bare} are its digits.
WORDS = [
    "abc", "NoDevFiles", "all", "GPU-", "gpu-{8}", "{8}", "GPU-{1}", "GPU-{1},GPU-{8}", "GPU-{8}",
    "GPU-{8}-", "GPU-{8} ", "GPU-{8}x", "GPU-{8}_", "GPU- {8}", "GPU-x", "GPU--{8}", "GPU-{upper}",
    "GPU-{bare}", " {uuid}", "{uuid} ", "{uuid}x", "{uuid}{uuid}", "GPU-{uuid}", "MIG-{8}",
    "MIG-{uuid}", "MIG-{uuid}/0/0", "MIG-", "MIG-{8}x", "MIG-{8}/0/0", "MIG-{bare}/0/0", "GPU-{8},MIG-{8}",
    "MIG-{8},GPU-{8}", "MIG-{8},MIG-{8}", "MIG-{8},0", "0,MIG-{8}", "MIG-{8},GPU-x",
]  # fmt: skip


@pytest.fixture(scope="module")
def listed() -> tuple[nvml.ListedGpu, ...]:
    reading = nvml.read()
    if reading.reason is not None:
        pytest.skip(reading.reason)
    return reading.gpus


@pytest.mark.parametrize("value", [None, *NUMBERS, *LISTS, *WORDS])
def test_cuda_shows_what_we_say(value: str | None, listed: tuple[nvml.ListedGpu, ...]) -> None:
    environ = {**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    environ.pop("CUDA_VISIBLE_DEVICES", None)
    if value is not None:
        value = environ["CUDA_VISIBLE_DEVICES"] = _filled(value, listed[0].card.uuid, len(listed))
    ran = subprocess.run([sys.executable, "-c", ASK_CUDA], env=environ, capture_output=True, text=True, check=True)
    visible = visibility.choose(value, [gpu.card for gpu in listed])
    said = [_uuid(listed[place.card].card, place.instance) for place in visible.places]
    assert json.loads(ran.stdout) == [uuid[4:].replace("-", "") for uuid in said], (value, visible.notes)


def _filled(value: str, uuid: str, count: int) -> str:
    digits = uuid[4:]
    facts = {"uuid": uuid, "count": str(count), "1": digits[0], "8": digits[:8]}
    facts |= {"upper": digits.upper(), "bare": digits.replace("-", "")}
    for name, fact in facts.items():
        value = value.replace(f"{{{name}}}", fact)
    return value


def _uuid(card: visibility.Card, instance: int | None) -> str:
    return card.uuid if instance is None else card.instances[instance].uuid
