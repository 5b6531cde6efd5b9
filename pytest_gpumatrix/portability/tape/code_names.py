"""What a function's code names."""

from __future__ import annotations

import functools
from types import CodeType


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> frozenset[str]:
    """Every name in a function's code; its strings too, for ``getattr(x, "name")``."""
    names = {*code.co_names, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_in(constant)
        elif isinstance(constant, str):
            names.add(constant)
    return frozenset(names)


@functools.lru_cache(maxsize=4096)
def global_names_in(code: CodeType) -> frozenset[str]:
    """The names in a function's code that are looked up in its module; its strings too, for ``globals()["name"]``."""
    import dis

    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= global_names_in(constant)
        elif isinstance(constant, str):
            names.add(constant)
    return frozenset(names)


@functools.lru_cache(maxsize=4096)
def imports_in(code: CodeType) -> bool:
    """Whether it imports something when it runs, which nobody can follow before."""
    import dis

    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return any(step.opname == "IMPORT_NAME" for step in dis.get_instructions(code)) or any(map(imports_in, inner))


def text_of(code: CodeType) -> str:
    """What a function does, the same in every process: for code that is in no file, or one of many in its line."""
    constants = [text_of(item) if isinstance(item, CodeType) else repr(item) for item in code.co_consts]
    return f"{code.co_name} {code.co_code.hex()} {code.co_names} {constants}"
