"""Whether the text of a generated module does no more than define Triton kernels. It may come from anybody.

Running a module runs its statements, and Triton calls what a kernel's code names while it compiles it: ``triton.os``
would lead to everything. So what a kernel does not need is refused, before anything of it is run: of the statements
there are imports, constants and kernels; of names those that the module defines, that it imports from where kernels'
parts are, and a few of Python's own.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pytest_gpumatrix.portability.compiling.kernel_parts import (
    TRITON_HELPERS,
    VALUE_ATTRIBUTES,
    is_constexpr,
    is_kernel_part,
    value_methods,
)

_HELPERS = "torch._inductor.runtime"
# What Inductor's own decorators use, which are out: nothing else needs them.
_UNUSED = frozenset({(_HELPERS, "triton_heuristics"), (f"{_HELPERS}.hints", "")})
# Triton's namespace of builtins, but for getattr and hasattr.
_BUILTINS = frozenset({"float", "int", "isinstance", "len", "list", "max", "min", "print", "range"})
_NEVER = frozenset({"getattr", "hasattr"})  # Triton would find them where a kernel's own name has no value yet
_NODES: tuple[type[ast.AST], ...] = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.With, ast.withitem),
    *(ast.Return, ast.Pass, ast.Assert, ast.Break, ast.Continue),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Subscript, ast.Slice),
    *(ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.Starred, ast.JoinedStr, ast.FormattedValue),
    *(ast.ListComp, ast.comprehension, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)
_TYPE_NAME = re.compile(r"[\w.*]+")  # of an annotation that is text, which Triton compares and does not run


class _Unusable:
    """Stands for what is imported for Inductor's decorators."""


_UNUSABLE, _OWN = _Unusable(), None  # _OWN: what the module itself defines, or a kernel


def objection(module: ast.Module) -> str | None:
    """What in a module is not a kernel's business, or None. Inductor's decorators are out of it already."""
    names: dict[str, Any] = {}
    try:
        for statement in module.body:  # all names first: a kernel finds what is defined after it, too
            for name, value in _bound(statement):
                _bind(statement, name, value, names)
        for statement in module.body:
            _check_statement(statement, names)
    except _RefusedError as refusal:
        return str(refusal)
    return None


class _RefusedError(Exception):
    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(f"line {getattr(node, 'lineno', 0)}: {what}")


def _bound(statement: ast.stmt) -> Iterator[tuple[str, Any]]:
    """The names that a statement of the module binds, with what they lead to."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Import() | ast.ImportFrom():
            yield from _imported(statement)
        case ast.FunctionDef(name=name):
            yield name, _OWN
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name, _OWN
        case _:
            raise _RefusedError(statement, f"a statement of its own: {ast.unparse(statement)[:60]}")


def _bind(node: ast.AST, name: str, value: Any, names: dict[str, Any]) -> None:
    """Each name has one meaning, so that what is checked is what runs."""
    if name.startswith("__") or name in _BUILTINS | _NEVER:
        raise _RefusedError(node, f"defines {name}")
    if name in names and (value is _OWN or names[name] is not value):
        raise _RefusedError(node, f"defines {name} again")
    names[name] = value


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            if alias.name not in ("triton", "triton.language"):
                raise _RefusedError(statement, f"imports {alias.name}")
            yield alias.asname or "triton", importlib.import_module(alias.name if alias.asname else "triton")
            continue
        source = statement.module or ""
        if statement.level or alias.name.startswith("_"):
            raise _RefusedError(statement, f"imports {alias.name} from {source or '.'}")
        yield alias.asname or alias.name, _imported_from(statement, source, alias.name)


def _imported_from(statement: ast.ImportFrom, source: str, name: str) -> Any:
    if (source, name) in _UNUSED or (source, "") in _UNUSED:
        return _UNUSABLE
    if f"{source}.{name}" == TRITON_HELPERS:
        return importlib.import_module(TRITON_HELPERS)
    if source not in (TRITON_HELPERS, "triton") and not f"{source}.".startswith("triton.language."):
        raise _RefusedError(statement, f"imports {name} from {source}")
    return _attribute(statement, importlib.import_module(source), name)


def _check_statement(statement: ast.stmt, names: dict[str, Any]) -> None:
    match statement:
        case ast.FunctionDef():
            _check_function(statement, names)
        case ast.Assign(value=value):
            _check_constant(value, names)
        case ast.AnnAssign(annotation=annotation, value=value):
            _check_annotation(annotation, names)
            if value is not None:
                _check_constant(value, names)


def _check_function(function: ast.FunctionDef, names: dict[str, Any]) -> None:
    if not function.decorator_list:
        raise _RefusedError(function, f"{function.name} is no kernel")
    for decorator in function.decorator_list:
        _check_decorator(decorator, names)
    if type_parameters := getattr(function, "type_params", None):  # Python 3.12 and later
        raise _RefusedError(type_parameters[0], "has parameters of types")
    arguments = function.args
    for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
        _check_constant(default, names)
    parameters = [node for node in ast.walk(arguments) if isinstance(node, ast.arg)]
    for annotation in (function.returns, *(parameter.annotation for parameter in parameters)):
        if annotation is not None:
            _check_annotation(annotation, names)
    items = [item for statement in function.body for item in ast.walk(statement)]
    local = {item.arg for item in parameters}
    local |= {item.id for item in items if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    for name in sorted(local):
        if name.startswith("__") or name in _NEVER or names.get(name, _OWN) is not _OWN:
            raise _RefusedError(function, f"{function.name} uses {name} for a value of its own")
    scope = {**names, **dict.fromkeys(local, _OWN)}
    for item in items:
        _check_node(item, scope)


def _check_decorator(decorator: ast.expr, names: dict[str, Any]) -> None:
    match decorator:
        case ast.Attribute(value=ast.Name(id="triton"), attr="jit"):
            is_plain = True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="triton"), attr="jit"), args=[], keywords=keywords):
            is_plain = all(_is_switch(keyword.value) for keyword in keywords)
        case _:
            is_plain = False
    if not is_plain or names.get("triton") is not importlib.import_module("triton"):
        raise _RefusedError(decorator, f"a decorator of its own: {ast.unparse(decorator)[:60]}")


def _is_switch(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, type(None)))


def _check_annotation(annotation: ast.expr, names: dict[str, Any]) -> None:
    match annotation:
        case ast.Constant(value=None):
            return
        case ast.Constant(value=str(text)) if _TYPE_NAME.fullmatch(text):
            return
        case ast.Name() | ast.Attribute():
            for node in ast.walk(annotation):
                _check_node(node, names)
            return
    raise _RefusedError(annotation, f"an annotation of its own: {ast.unparse(annotation)[:60]}")


def _check_constant(value: ast.expr, names: dict[str, Any]) -> None:
    """Python runs it: numbers and text, Triton's types, other constants, ``tl.constexpr`` of these, and tuples."""
    match value:
        case ast.Constant() | ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=ast.Constant()):
            return
        case ast.Tuple(elts=items) | ast.List(elts=items):
            parts = items
        case ast.Name() | ast.Attribute():
            parts = []
            for node in ast.walk(value):
                _check_node(node, names)
        case ast.Call(func=called, args=[content], keywords=[]) if is_constexpr(_resolved(called, names)):
            parts = [content]
        case ast.Call(func=called):
            raise _RefusedError(value, f"calls {ast.unparse(called)[:60]}")
        case _:
            raise _RefusedError(value, f"a value of its own: {ast.unparse(value)[:60]}")
    for part in parts:
        _check_constant(part, names)


def _check_node(node: ast.AST, names: dict[str, Any]) -> None:
    """One node of a kernel's body: a name, an attribute, a call, or what makes expressions and loops of them."""
    match node:
        case ast.Name(id=name) if name not in _BUILTINS and (name not in names or names[name] is _UNUSABLE):
            raise _RefusedError(node, f"uses {name}")
        case ast.Attribute(attr=name) if name.startswith("_"):
            raise _RefusedError(node, f"uses {name}")
        case ast.Attribute():
            found = _resolved(node, names)
            if found is None and node.attr not in VALUE_ATTRIBUTES | value_methods():
                raise _RefusedError(node, f"uses {ast.unparse(node)[:60]}")
        case ast.Call(func=called) if not isinstance(called, (ast.Name, ast.Attribute)):
            raise _RefusedError(node, f"calls {ast.unparse(called)[:60]}")
        case _ if not isinstance(node, _NODES):
            raise _RefusedError(node, f"has a {type(node).__name__} inside of a kernel")


def _resolved(node: ast.expr, names: dict[str, Any]) -> Any:
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
    if not is_kernel_part(found):
        raise _RefusedError(node, f"uses {name} of {module.__name__}")
    return found
