"""The three operators of the model as one value: chosen together, loaded together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainer.errors import TrainerError
from trainer.kernels.attention import ATTENTION, Attention
from trainer.kernels.cross_entropy import CROSS_ENTROPY, CrossEntropy
from trainer.kernels.mlp import MLP, MLP_OP
from trainer.kernels.registry import Choice, Op, Request, is_installed

OPS: tuple[Op[Any], ...] = (ATTENTION, CROSS_ENTROPY, MLP_OP)


@dataclass(frozen=True, kw_only=True, slots=True)
class Operators:
    """What the model calls; each field's type says its shapes."""

    attention: Attention
    cross_entropy: CrossEntropy
    mlp: MLP


def choose(
    request: Request,
    forced: Mapping[str, str] | None = None,
    installed: Callable[[str], bool] = is_installed,
) -> tuple[Choice[Any], ...]:
    """One choice per operator, in the order of OPS. ``forced`` maps an operator's name to a kernel's."""
    forced = forced or {}
    return tuple(op.select(request, forced.get(op.name), installed) for op in OPS)


def load(choices: tuple[Choice[Any], ...], *, compiled: bool = False) -> Operators:
    """Import the chosen kernels. One that is installed but does not import is an error, never a silent fallback.

    ``compiled``: the model goes through torch.compile, which cannot look into a launch that is not PyTorch's own; it
    then compiles what is around.
    """
    loaded = {choice.op: _load(choice) for choice in choices}
    if compiled:
        import torch

        for choice in choices:
            if choice.kernel.modules:
                loaded[choice.op] = torch.compiler.disable(loaded[choice.op])  # type: ignore[no-untyped-call]
    return Operators(
        attention=loaded[ATTENTION.name], cross_entropy=loaded[CROSS_ENTROPY.name], mlp=loaded[MLP_OP.name]
    )


def _load(choice: Choice[Any]) -> Any:
    try:
        return choice.kernel.load()
    except ImportError as error:
        option = "--" + choice.op.replace("_", "-")
        raise TrainerError(
            f"{choice.op}: {choice.kernel.name} was chosen but does not import ({error}); "
            f"mend it, or choose another with {option} reference"
        ) from error
