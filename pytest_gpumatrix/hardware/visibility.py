"""Which of a machine's GPUs CUDA shows to a process, from CUDA_VISIBLE_DEVICES. Pure.

The rules are those of the CUDA Programming Guide (CUDA environment variables) and of the MIG User Guide (CUDA
device enumeration); where these are silent, what a driver says in tests/hardware/test_visibility_on_a_gpu.py.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

# CUDA reads an index as C's strtoul does: blanks and a sign before it, and anything behind it.
_INDEX = re.compile(r"[ \t\n\v\f\r]*([+-]?)0*([0-9]+)")
_UUID_DIGITS = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class MigInstance:
    """A part of a GPU in MIG mode, as NVML lists it."""

    uuid: str  # "MIG-..."
    gpu_instance: int
    compute_instance: int

    def old_name(self, card: Card) -> str:
        """What drivers before R470 call it."""
        return f"MIG-{card.uuid}/{self.gpu_instance}/{self.compute_instance}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A GPU of the machine, as far as its being visible goes. Lists of them follow the PCI bus."""

    uuid: str  # "GPU-..."
    mig_mode: bool = False
    instances: tuple[MigInstance, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A visible device: the number of the card in the list, and of its MIG instance, if it is one."""

    card: int
    instance: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Visible:
    """The devices that CUDA shows, in its order, and what was left out and why."""

    places: tuple[Place, ...]
    notes: tuple[str, ...] = ()
    by_index: bool = True  # chosen by their number in CUDA's order, or all of them; not by UUID


def choose(value: str | None, cards: Sequence[Card]) -> Visible:
    """The devices that CUDA shows where CUDA_VISIBLE_DEVICES is ``value`` (None: it is not set)."""
    if value is None:
        listed, notes = [Place(number) for number in range(len(cards))], []
    elif not value.strip():
        listed, notes = [], ["CUDA_VISIBLE_DEVICES is empty, which hides every GPU"]
    else:
        listed, notes = _read(value, cards)
    places, mig_notes = _one_instance(listed, cards)
    by_index = value is None or not _by_uuid(value)
    return Visible(places=tuple(places), notes=(*notes, *mig_notes), by_index=by_index)


def _read(value: str, cards: Sequence[Card]) -> tuple[list[Place], list[str]]:
    """The devices of a list, up to the first entry that CUDA does not take; and what it said no to."""
    entries = value.split(",")
    places: list[Place] = []
    for entry in entries:
        mixed = _by_uuid(entry) != _by_uuid(value)
        found = "it is not written as the first one is" if mixed else _find(entry, cards)
        if isinstance(found, str):
            return places, [f"CUDA_VISIBLE_DEVICES={value!r}: CUDA ignores {entry!r} and what follows it, as {found}"]
        if found in places:
            return [], [f"CUDA_VISIBLE_DEVICES={value!r}: {entry!r} names a GPU twice, so CUDA shows none"]
        places.append(found)
    return places, []


def _by_uuid(entry: str) -> bool:
    return entry.startswith(("GPU-", "MIG-"))


def _find(entry: str, cards: Sequence[Card]) -> Place | str:
    """The device that an entry names, or why it names none."""
    if _by_uuid(entry):
        return _find_uuid(entry, cards)
    match = _INDEX.match(entry)
    if match is None:
        return "it is neither a number nor a UUID"
    number = _unsigned(*match.groups())
    if number < len(cards):
        return Place(number)
    return f"this machine has {len(cards)} GPU{'s' * (len(cards) != 1)}, counted from 0"


def _unsigned(sign: str, digits: str) -> int:
    """A number as strtoul and a cut to 32 bits make it: -1 is the last one, and 4,294,967,296 is 0."""
    if len(digits) > 20 or int(digits) >= 2**64:
        return 2**32 - 1
    return int(sign + digits) % 2**32


def _find_uuid(entry: str, cards: Sequence[Card]) -> Place | str:
    """By the first digits of a UUID. CUDA takes "GPU-" and "MIG-" for the same thing."""
    wanted = _digits(entry)
    found: list[Place] = []
    for number, card in enumerate(cards):
        if _begins(card.uuid, wanted):
            found.append(Place(number))
        for part, instance in enumerate(card.instances):
            if _begins(instance.uuid, wanted) or instance.old_name(card) == entry:
                found.append(Place(number, part))
    if len(found) == 1:
        return found[0]
    return f"{len(found)} devices have a UUID that begins so" if found else "no device here has this UUID"


def _begins(uuid: str, wanted: str | None) -> bool:
    digits = _digits(uuid)
    return digits is not None and wanted is not None and digits.startswith(wanted)


def _digits(uuid: str) -> str | None:
    """What CUDA reads behind "GPU-": 32 hexadecimal digits of either case, or fewer; dashes do not count.

    None where there are none, or where something else stands among them.
    """
    digits = ""
    for sign in uuid[len("GPU-") :].replace("-", ""):
        if len(digits) == _UUID_DIGITS:
            break
        if sign not in string.hexdigits:
            return None
        digits += sign.lower()
    return digits or None


def _one_instance(places: Sequence[Place], cards: Sequence[Card]) -> tuple[list[Place], list[str]]:
    """CUDA shows either whole GPUs or one MIG instance; a GPU in MIG mode stands for its first instance."""
    kept: list[Place] = []
    notes: list[str] = []
    for place in places:
        card = cards[place.card]
        if not card.mig_mode or place.instance is not None:
            kept.append(place)
        elif card.instances:
            kept.append(Place(place.card, 0))
            notes.append(f"{card.uuid} is in MIG mode, so CUDA shows its first instance")
        else:
            notes.append(f"{card.uuid} is in MIG mode and has no instance, so CUDA does not show it")
    instances = [place for place in kept if place.instance is not None]
    if not instances:
        return kept, notes
    if len(kept) > 1:
        notes.append("CUDA shows one MIG instance to a process, and no whole GPU beside it: the first instance counts")
    return instances[:1], notes
