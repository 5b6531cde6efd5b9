"""Which operators a device's libraries refuse, and in which words: refusals.yml, read and applied. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import resources

import msgspec
import yaml
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.gate.specifier import allows, parse_capabilities
from pytest_gpumatrix.hardware.capability import ComputeCapability


class Backend(str, Enum):
    """A kernel of scaled_dot_product_attention that some devices do not run; the values are PyTorch's names."""

    FLASH = "flash"
    EFFICIENT = "efficient"
    CUDNN = "cudnn"


class ErrorType(str, Enum):
    """What a refusal is raised as."""

    RUNTIME = "RuntimeError"
    VALUE = "ValueError"
    NOT_IMPLEMENTED = "NotImplementedError"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What a refusal may depend on, of one call of an operator."""

    dtype: str = ""  # of its first tensor: "bfloat16"
    head_dim: int | None = None  # of attention
    training: bool = False  # a gradient will be asked for
    dropout: bool = False
    recipes: frozenset[int] = frozenset()  # of a scaled product: how its scales are laid out


class When(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which calls a refusal is about: all that is given must hold."""

    dtypes: tuple[str, ...] = ()
    head_dim: tuple[int, int] | None = None  # from and to
    training: bool | None = None
    dropout: bool | None = None
    recipes: tuple[int, ...] = ()

    def holds(self, call: Call) -> bool:
        """Whether it is about this call."""
        if self.head_dim is not None:
            least, most = self.head_dim
            if call.head_dim is None or not least <= call.head_dim <= most:
                return False
        return (
            (not self.dtypes or call.dtype in self.dtypes)
            and (not self.recipes or not call.recipes.isdisjoint(self.recipes))
            and self.training in (None, call.training)
            and self.dropout in (None, call.dropout)
        )


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """On which devices, and for which calls."""

    capability: tuple[str, ...]
    when: When = When()

    def is_on(self, capability: ComputeCapability) -> bool:
        """Whether it may hold on a device of this capability."""
        return any(allows(specifier, capability) for specifier in _specifiers(self.capability))

    def holds(self, capability: ComputeCapability, call: Call) -> bool:
        """Whether such a device refuses the call."""
        return self.is_on(capability) and self.when.holds(call)


class Refusal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operator's own refusal."""

    operators: tuple[str, ...]
    refused: tuple[Condition, ...]
    raises: ErrorType
    sentence: str
    source: str


class BackendRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A backend of attention, and where it does not serve."""

    operators: tuple[str, ...]
    refused: tuple[Condition, ...]


class Attention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said where no backend of attention serves."""

    sentence: str
    raises: ErrorType
    source: str
    backends: dict[Backend, BackendRow]


class Refusals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """refusals.yml."""

    refusals: tuple[Refusal, ...]
    attention: Attention

    def of(self, operator: str, call: Call, capability: ComputeCapability) -> Refusal | None:
        """The refusal that a call of an operator ("_scaled_mm.out") meets on a device, or None."""
        found = (refusal for refusal in self.refusals if operator in refusal.operators)
        return next((refusal for refusal in found if _any_holds(refusal.refused, capability, call)), None)

    def serves(self, backend: Backend, call: Call, capability: ComputeCapability) -> bool:
        """Whether nothing is known that would keep a backend of attention from serving a call on a device."""
        return not _any_holds(self.attention.backends[backend].refused, capability, call)

    @property
    def attention_operators(self) -> Mapping[str, Backend]:
        """Operator -> the backend of attention that it is."""
        return {operator: backend for backend, row in self.attention.backends.items() for operator in row.operators}

    def operators(self, capability: ComputeCapability) -> Iterator[str]:
        """Those that a device of this capability may refuse."""
        rows: Iterable[Refusal | BackendRow] = (*self.refusals, *self.attention.backends.values())
        for row in rows:
            if any(condition.is_on(capability) for condition in row.refused):
                yield from row.operators


@functools.cache
def load() -> Refusals:
    """The table that ships with the package."""
    text = (resources.files(__package__) / "refusals.yml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), Refusals)


def _any_holds(conditions: Iterable[Condition], capability: ComputeCapability, call: Call) -> bool:
    return any(condition.holds(capability, call) for condition in conditions)


@functools.cache
def _specifiers(texts: tuple[str, ...]) -> tuple[SpecifierSet, ...]:
    return tuple(parse_capabilities(text) for text in texts)
