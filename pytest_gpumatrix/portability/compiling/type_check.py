"""Whether the type of a parameter, as it stands on a tape, is no more than that: Triton runs the layout in it."""

from __future__ import annotations

import ast
from typing import Any

_LAYOUTS = frozenset({"NVMMASharedLayout", "PaddedSharedLayout", "SwizzledSharedLayout"})
_DESCRIPTOR = "tensordesc"
_NODES = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.USub, ast.keyword, ast.Load)


def refused_type(kind: Any) -> str | None:
    """The first type in a signature's entry that is not taken; None if all are.

    A descriptor's is "tensordesc<fp16[64, 64]>", with Gluon "tensordesc<fp16[64, 64],NVMMASharedLayout(...)>".
    """
    if isinstance(kind, list):
        return next(filter(None, map(refused_type, kind)), None)
    if not isinstance(kind, str):
        return repr(kind)
    _, _, after = kind.partition(_DESCRIPTOR)
    layout = after.partition("]")[2].rstrip(">").lstrip(",")
    return kind if layout and not _is_layout(layout) else None


def _is_layout(text: str) -> bool:
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _LAYOUTS):
        return False
    return all(isinstance(node, _NODES) for part in (*call.args, *call.keywords) for node in ast.walk(part))
