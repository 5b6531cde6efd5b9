"""Whether the text of a generated module does no more than define Triton kernels. It may come from anybody.

Running a module runs its statements, and Triton calls what a kernel's code names while it compiles it: ``triton.os``
would lead to everything. So what is not a kernel's business is refused, before anything of it is run.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

_HELPERS = "torch._inductor.runtime"
# What Inductor's own decorators use, which are out: nothing else needs them.
_UNUSED = frozenset({(_HELPERS, "triton_heuristics"), (f"{_HELPERS}.hints", "")})
_REFUSED_NAMES = frozenset({"getattr", "eval", "exec", "open"})
# What a value in a kernel may be asked for, beside the methods of Triton's own types.
_OF_VALUES = frozenset({"shape", "dtype", "type", "value", "element_ty", "scalar", "numel", "T"})
_OF_DESCRIPTORS_AND_TYPES = frozenset(
    {"block_shape", "base", "strides", "name", "primitive_bitwidth", "int_bitwidth", "itemsize"}
)


def objection(module: ast.Module) -> str | None:
    """What in a module is not a kernel's business, or None. Inductor's decorators are out of it already."""
    names: dict[str, Any] = {}
    try:
        for statement in module.body:
            _take(statement, names)
    except _RefusedError as refusal:
        return str(refusal)
    return None


class _RefusedError(Exception):
    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(f"line {getattr(node, 'lineno', 0)}: {what}")


def _take(statement: ast.stmt, names: dict[str, Any]) -> None:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Import() | ast.ImportFrom():
            names.update(_imported(statement))
        case ast.FunctionDef():
            names[statement.name] = None
            for decorator in statement.decorator_list:
                _check_decorator(decorator)
            _check([statement.args, *statement.body], names)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            names[name] = None
            _check_constant(value or statement, names)
        case _:
            raise _RefusedError(statement, f"a statement of its own: {ast.unparse(statement)[:60]}")


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            if alias.name not in ("triton", "triton.language"):
                raise _RefusedError(statement, f"imports {alias.name}")
            whole = importlib.import_module(alias.name if alias.asname else "triton")
            yield alias.asname or "triton", whole
            continue
        source = statement.module or ""
        if statement.level or alias.name.startswith("_") or not source.startswith((_HELPERS, "triton")):
            raise _RefusedError(statement, f"imports {alias.name} from {source or '.'}")
        yield alias.asname or alias.name, _imported_from(statement, source, alias.name)


def _imported_from(statement: ast.ImportFrom, source: str, name: str) -> Any:
    if (source, name) in _UNUSED or (source, "") in _UNUSED:
        return None
    if source == _HELPERS and name == "triton_helpers":
        return importlib.import_module(f"{source}.{name}")
    if source != f"{_HELPERS}.triton_helpers" and source.partition(".")[0] != "triton":
        raise _RefusedError(statement, f"imports {name} from {source}")
    return _attribute(statement, importlib.import_module(source), name)


def _check_decorator(decorator: ast.expr) -> None:
    match decorator:
        case ast.Attribute(value=ast.Name(id="triton"), attr="jit"):
            return
        case ast.Call(func=ast.Attribute(value=ast.Name(id="triton"), attr="jit"), args=[], keywords=keywords):
            if all(isinstance(keyword.value, ast.Constant) for keyword in keywords):
                return
    raise _RefusedError(decorator, f"a decorator of its own: {ast.unparse(decorator)[:60]}")


def _check_constant(value: ast.AST, names: Mapping[str, Any]) -> None:
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in ("tl.constexpr", "triton.language.constexpr"):
            raise _RefusedError(node, f"calls {ast.unparse(node.func)[:60]}")
    _check([value], names)


def _check(nodes: Sequence[ast.AST], names: Mapping[str, Any]) -> None:
    """The parts of a kernel, or an expression: what its names and attributes lead to."""
    items = [item for node in nodes for item in ast.walk(node)]
    local = {item.arg for item in items if isinstance(item, ast.arg)}
    local |= {item.id for item in items if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    known = {name: value for name, value in names.items() if name not in local}
    for item in items:
        match item:
            case ast.Name(id=name) if name.startswith("__") or name in _REFUSED_NAMES:
                raise _RefusedError(item, f"uses {name}")
            case ast.Attribute(attr=name) if name.startswith("_"):
                raise _RefusedError(item, f"uses {name}")
            case ast.Attribute():
                _check_attribute(item, known)
            case ast.Import() | ast.ImportFrom() | ast.Lambda() | ast.Global() | ast.Nonlocal() | ast.FunctionDef():
                raise _RefusedError(item, f"has a {type(item).__name__} inside of a kernel")


def _check_attribute(node: ast.Attribute, names: Mapping[str, Any]) -> None:
    found = _resolved(node, names)
    if found is None and node.attr not in _OF_VALUES | _OF_DESCRIPTORS_AND_TYPES | _methods():
        raise _RefusedError(node, f"uses {ast.unparse(node)[:60]}")


def _resolved(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a chain of attributes leads to that begins with an imported name; None for any other expression."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _resolved(node.value, names)
    return _attribute(node, owner, node.attr) if isinstance(owner, ModuleType) else None


def _attribute(node: ast.AST, module: ModuleType, name: str) -> Any:
    found = getattr(module, name, None)
    if found is None:
        raise _RefusedError(node, f"{module.__name__} has no {name}")
    if not _is_a_kernels_business(found):
        raise _RefusedError(node, f"uses {name} of {module.__name__}")
    return found


def _is_a_kernels_business(found: Any) -> bool:
    from triton.language.core import constexpr, dtype, is_builtin
    from triton.runtime.jit import JITCallable

    if isinstance(found, ModuleType):
        name = found.__name__
        return name in ("triton", f"{_HELPERS}.triton_helpers") or name.startswith("triton.language")
    if isinstance(found, (bool, int, float, str, dtype, constexpr, JITCallable)) or is_builtin(found):
        return True
    if isinstance(found, FunctionType):  # empty, in the place of the target's own
        return found.__module__ == "triton.language.extra.libdevice"
    return isinstance(found, type) and found.__module__.startswith("triton.language.")


def _methods() -> frozenset[str]:
    """The public methods of values in a kernel."""
    import triton.language as tl

    kinds = (tl.tensor, tl.constexpr, tl.dtype, tl.tuple, getattr(tl, "tensor_descriptor", tl.tensor))
    return frozenset(name for kind in kinds for name in dir(kind) if not name.startswith("_"))
