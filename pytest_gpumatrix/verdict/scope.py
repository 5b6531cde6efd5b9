"""Over which devices a change happened, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """The devices of one change of one test, and how the others stand to it. The CPU is never among them."""

    bad: tuple[str, ...]  # with this change
    good: tuple[str, ...]  # good, expected to fail, or failed before
    failed_before: tuple[str, ...] = ()  # those of ``good`` that did
    failing_otherwise: bool = False  # a device fails by another change: no "only" would be true
    uncertain: bool = False  # a compiled or unknown cell could say otherwise
    failure: bool = True  # the change is a failure, so that its absence is a pass


def scope_of(spread: Spread, architectures: Mapping[str, str | None]) -> str:
    """The first scope that holds. ``architectures`` has every device of the matrix; None: not known."""
    scope = _certain_scope(spread, architectures)
    if spread.failed_before:
        scope += f" ({', '.join(spread.failed_before)} failed before)"
    return f"at least {scope}" if spread.uncertain else scope


def _certain_scope(spread: Spread, architectures: Mapping[str, str | None]) -> str:
    bad = _families(spread.bad, architectures)
    good = _families(spread.good, architectures)
    one_family = len(bad) == 1 and not spread.failing_otherwise and None not in bad | good
    if not spread.good:
        others = set(architectures.values()) - bad - {None}
        return f"{_only(bad)} only, nothing else runs it" if one_family and others else "everywhere"
    if one_family and not bad & good:
        return f"{_only(bad)} only"
    if spread.failing_otherwise:
        return ", ".join(spread.bad)
    if spread.failure and len(bad) > 1 and len(good) == 1 and not bad & good and None not in bad | good:
        return f"passes on {_only(good)} only"
    return f"{spread.bad[0]} only" if len(spread.bad) == 1 else ", ".join(spread.bad)


def _families(devices: Collection[str], architectures: Mapping[str, str | None]) -> set[str | None]:
    return {architectures[device] for device in devices}


def _only(families: Collection[str | None]) -> str:
    (family,) = families
    return str(family)
