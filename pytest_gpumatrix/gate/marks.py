"""The ``gpu`` and ``gpu_xfail`` marks, read into values. One that cannot be read: ValueError, with the right form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as ModuleRequirement
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.gate.expectation import XfailMark
from pytest_gpumatrix.gate.requirement import Otherwise, Requirement
from pytest_gpumatrix.gate.specifier import parse_capabilities
from pytest_gpumatrix.hardware.profile import Feature
from pytest_gpumatrix.hardware.sizes import parse_size
from pytest_gpumatrix.hardware.target import Target
from pytest_gpumatrix.triage.cause import Category

_OPERATOR = re.compile(r"\s*(===|~=|==|!=|<=|>=|<|>)")
_BARE = re.compile(r"\s*(?:sm_?)?(\d{2,3})\s*")
_RIGHT_FORM = """write gpu(">=9.0"), gpu(">=8.0,<9"), gpu("sm_90a"), or keywords such as memory="20GiB" """.strip()


class MarkLike(Protocol):
    """What is read of a ``pytest.Mark``."""

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments."""

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """Keyword arguments."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Keywords:
    """The keywords of the gpu mark, each with its default."""

    memory: str | None = None
    count: int = 1
    shared_memory: str | None = None
    modules: Sequence[str] = ()
    features: Sequence[str] = ()
    otherwise: str = "skip"
    interpret: bool | None = None


def parse_gpu(mark: MarkLike) -> Requirement:
    """Read one ``gpu`` mark."""
    if len(mark.args) > 1:
        raise ValueError(f"gpu takes one specifier, not {len(mark.args)}: {_RIGHT_FORM}")
    keywords = _keywords(mark.kwargs)
    capabilities, target = _specifier(mark.args[0]) if mark.args else (None, None)
    return Requirement(
        text=_text(mark),
        capabilities=capabilities,
        target=target,
        memory=_size("memory", keywords.memory),
        shared_memory=_size("shared_memory", keywords.shared_memory),
        count=_count(keywords.count),
        modules=tuple(_module(text) for text in _strings("modules", keywords.modules)),
        features=frozenset(_feature(text) for text in _strings("features", keywords.features)),
        otherwise=_otherwise(keywords.otherwise),
        interpret=_flag("interpret", keywords.interpret),
    )


def parse_gpu_xfail(mark: MarkLike) -> XfailMark:
    """Read one ``gpu_xfail`` mark. Whether its device is known is for the caller to ask."""
    form = 'write gpu_xfail("<8.9", cause="arch_feature", reason="...") or gpu_xfail("rtx3090", ...)'
    if len(mark.args) != 1 or not isinstance(mark.args[0], str) or not mark.args[0].strip():
        raise ValueError(f"gpu_xfail takes one device or specifier: {form}")
    _refuse_unknown(mark.kwargs, ("cause", "raises", "reason", "strict"), "gpu_xfail")
    where = mark.args[0].strip()
    capabilities, target, device = None, None, None
    if _OPERATOR.match(where) or _BARE.fullmatch(where) or where.lower().startswith("sm_"):
        capabilities, target = _specifier(where)
    else:
        device = where
    reason = mark.kwargs.get("reason", "")
    if not isinstance(reason, str):
        raise ValueError(f"reason must be text, not {reason!r}")
    return XfailMark(
        where=where,
        capabilities=capabilities,
        target=target,
        device=device,
        cause=_cause(mark.kwargs.get("cause")),
        raises=_raises(mark.kwargs.get("raises")),
        reason=reason,
        strict=_flag("strict", mark.kwargs.get("strict", True)) is not False,
    )


def _specifier(value: object) -> tuple[SpecifierSet | None, Target | None]:
    if not isinstance(value, str):
        raise ValueError(f"not a specifier: {value!r}; {_RIGHT_FORM}")
    if value.strip().lower()[-1:] in ("a", "f"):
        return None, Target.parse(value)
    if bare := _BARE.fullmatch(value):
        digits = bare.group(1)
        dotted = f"{digits[:-1]}.{digits[-1]}"
        raise ValueError(
            f'{value!r} is ambiguous: write ">={dotted}" for this capability or later, or "=={dotted}" for it alone'
        )
    try:
        return parse_capabilities(value), None
    except ValueError as error:
        raise ValueError(f"{error}; {_RIGHT_FORM}") from error


def _keywords(kwargs: Mapping[str, Any]) -> _Keywords:
    _refuse_unknown(kwargs, tuple(_Keywords.__dataclass_fields__), "gpu")
    return _Keywords(**kwargs)


def _refuse_unknown(kwargs: Mapping[str, Any], known: Iterable[str], name: str) -> None:
    unknown = sorted(set(kwargs) - set(known))
    if unknown:
        raise ValueError(f"{name} has no keyword {unknown[0]!r}; it takes {', '.join(known)}")


def _size(keyword: str, value: object) -> int:
    if value is None:
        return 0
    if not isinstance(value, str):
        raise ValueError(f'{keyword} must be text with a unit, such as "20GiB", not {value!r}')
    return parse_size(value)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"count must be a number of GPUs, 1 or more, not {value!r}")
    return value


def _strings(keyword: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{keyword} must be a list of text, not {value!r}")
    items = tuple(value)
    for item in items:
        if not isinstance(item, str):
            raise ValueError(f"{keyword} must be a list of text; {item!r} is none")
    return items


def _module(text: str) -> ModuleRequirement:
    try:
        module = ModuleRequirement(text)
    except InvalidRequirement as error:
        raise ValueError(f'not a module: {text!r} (write "flash_attn" or "flash_attn>=2.7")') from error
    if module.extras or module.url or module.marker or not all(part.isidentifier() for part in module.name.split(".")):
        raise ValueError(f'not a module: {text!r} (an import name, such as "flash_attn>=2.7")')
    return module


def _feature(text: str) -> Feature:
    try:
        return Feature(text)
    except ValueError:
        known = ", ".join(feature.value for feature in Feature)
        raise ValueError(f"no feature {text!r}; known: {known}") from None


def _otherwise(value: object) -> Otherwise:
    try:
        return Otherwise(value)
    except ValueError:
        raise ValueError(f'otherwise must be "skip" or "xfail", not {value!r}') from None


def _flag(keyword: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ValueError(f"{keyword} must be True or False, not {value!r}")


def _cause(value: object) -> Category | None:
    if value is None:
        return None
    try:
        return Category(value)
    except ValueError:
        known = ", ".join(category.value for category in Category)
        raise ValueError(f"no cause {value!r}; known: {known}") from None


def _raises(value: object) -> tuple[type[BaseException], ...]:
    types = value if isinstance(value, tuple) else () if value is None else (value,)
    for kind in types:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise ValueError(f"raises must be an exception class or a tuple of them, not {value!r}")
    return types


def _text(mark: MarkLike) -> str:
    return ", ".join([*(repr(arg) for arg in mark.args), *(f"{key}={value!r}" for key, value in mark.kwargs.items())])
