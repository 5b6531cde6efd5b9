"""What recording needs to know of Triton's autotuner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How an autotuner's configurations are recorded."""

    tuner: Any  # kept, so that its id stays its own
    configs: Any
    function: Any  # under the tuner and whatever else wraps it: what the tuner times
    interpreted: bool
    early: bool  # before the launch: a hook that clears the result, as some do, may not be run after it


def plan_of(tuner: Any) -> Plan:
    """How to record a ``triton.runtime.Autotuner``."""
    function = tuner.fn
    while hasattr(getattr(function, "fn", None), "fn"):  # innermost is a jit function, whose own fn is Python's
        function = function.fn
    interpreted = hasattr(function, "rewrite")
    hooks = any(config.pre_hook is not None for config in tuner.configs)
    return Plan(
        tuner=tuner,
        configs=tuner.configs,
        function=function,
        interpreted=interpreted,
        early=interpreted or hooks,
    )


def take_first_configuration(tuner: Any) -> None:
    """There is nothing to time on an interpreter, and asking for a GPU's timer would fail: all take no time."""
    if tuner._do_bench is None:
        tuner.__dict__["do_bench"] = lambda kernel_call, quantiles: [0.0] * len(quantiles)  # noqa: ARG005


def cheap_key(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Equal for launches of one specialisation alone, and fast; None where that cannot be told."""
    key = []
    for value in values:
        part: Any
        if value is None or type(value) in (bool, int, float, str):
            part = (type(value), value)
        elif hasattr(value, "data_ptr"):
            part = (value.dtype, value.data_ptr() % 16)
        elif isinstance(value, tuple):
            part = cheap_key(value)
        elif hasattr(value, "block_shape"):  # a tensor descriptor; tuning sets its block shape
            part = cheap_key((value.base, *value.block_shape))
        else:
            part = None
        if part is None:
            return None
        key.append(part)
    return tuple(key)
