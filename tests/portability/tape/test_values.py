from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.portability.tape.launch import FunctionReference
from pytest_gpumatrix.portability.tape.values import CannotEncodeError, decode, encode

REFERENCE = FunctionReference(module="m", qualname="f", file="m.py", line=1, source_hash="0")


def no_functions(value: object) -> FunctionReference:
    raise CannotEncodeError(str(value))


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
nested = st.recursive(
    plain,
    lambda inner: st.tuples(inner, inner) | st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(nested)
def test_what_is_encoded_comes_back_with_its_types(value: Any) -> None:
    text = msgspec.json.encode(encode(value, no_functions))
    found = decode(msgspec.json.decode(text), lambda _: None)
    assert repr(found) == repr(value)  # 1, 1.0 and True are different constants, and so are 0.0 and -0.0


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_float_that_json_has_not(value: float) -> None:
    encoded = encode(value, no_functions)
    assert json.loads(msgspec.json.encode(encoded)) == encoded
    assert repr(decode(encoded, lambda _: None)) == repr(value)


def test_tritons_own_values() -> None:
    tl = pytest.importorskip("triton.language")
    for value in (tl.float8e4nv, tl.constexpr(4), (tl.int32, 1)):
        found = decode(msgspec.json.decode(msgspec.json.encode(encode(value, no_functions))), lambda _: None)
        assert repr(found) == repr(value)


def test_a_layout_of_gluon_comes_back() -> None:
    gl = pytest.importorskip("triton.experimental.gluon.language")
    blocked = gl.BlockedLayout([1, 2], [4, 8], [2, 2], [1, 0])
    for layout in (blocked, gl.SliceLayout(1, blocked), gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)):
        found = decode(msgspec.json.decode(msgspec.json.encode(encode(layout, no_functions))), lambda _: None)
        assert type(found) is type(layout)
        assert found == layout


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("triton.experimental.gluon.language_", "BlockedLayout"),
        ("triton.experimental.gluon.language._layouts", "dataclass"),
        ("triton.experimental.gluon.language._layouts", "missing"),
    ],
)
def test_a_tape_chooses_no_other_class(module: str, name: str) -> None:
    pytest.importorskip("triton.experimental.gluon.language")
    with pytest.raises(ValueError, match="no layout of Gluon"):
        decode({"layout": {"module": module, "name": name, "fields": {}}}, lambda _: None)


def test_a_jit_function_is_referred_to() -> None:
    triton = pytest.importorskip("triton")

    @triton.jit
    def function(x):  # type: ignore[no-untyped-def]
        return x

    encoded = encode(function, lambda _: REFERENCE)
    assert decode(encoded, lambda reference: reference) == REFERENCE


class Number(int):
    """Its own behaviour would be lost."""


@pytest.mark.parametrize("value", [object(), Number(1), b"", {1: 2}, (1, {2})])
def test_what_has_no_form_is_refused_by_name(value: object) -> None:
    with pytest.raises(CannotEncodeError, match="has no form on the tape"):
        encode(value, no_functions)


@pytest.mark.parametrize("value", [{}, {"int": "1", "float": "2"}, {"pickle": "x"}, [1]])
def test_what_encode_does_not_write_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="encoded value"):
        decode(value, lambda _: None)
