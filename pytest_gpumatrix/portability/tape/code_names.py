"""What a function's code names."""

from __future__ import annotations

import functools
from types import CodeType


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> frozenset[str]:
    """Every name in a function's code; its strings too, for ``getattr(x, "name")``."""
    return frozenset({*code.co_names, *code.co_freevars, *_texts_in(code)}.union(*map(names_in, _codes_in(code))))


@functools.lru_cache(maxsize=4096)
def global_names_in(code: CodeType) -> frozenset[str]:
    """The names in a function's code that are looked up in its module; its strings too, for ``globals()["name"]``."""
    import dis

    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return frozenset(names.union(_texts_in(code), *map(global_names_in, _codes_in(code))))


@functools.lru_cache(maxsize=4096)
def imports_in(code: CodeType) -> bool:
    """Whether it imports something when it runs, which nobody can follow before."""
    import dis

    own = any(step.opname == "IMPORT_NAME" for step in dis.get_instructions(code))
    return own or any(map(imports_in, _codes_in(code)))


def text_of(code: CodeType) -> str:
    """What a function does, the same in every process: for code that is in no file, or one of many in its line."""
    constants = [text_of(item) if isinstance(item, CodeType) else repr(item) for item in code.co_consts]
    return f"{code.co_name} {code.co_code.hex()} {code.co_names} {constants}"


def _texts_in(code: CodeType) -> list[str]:
    return [constant for constant in code.co_consts if isinstance(constant, str)]


def _codes_in(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
