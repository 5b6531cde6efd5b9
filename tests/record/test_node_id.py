"""Node ids of JUnit cases that do not say theirs."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.record.node_id import LONGEST_ID, bounded_id, node_id


@pytest.mark.parametrize(
    ("classname", "name", "file", "suite", "expected"),
    [
        ("tests.test_a", "test_b", None, "pytest", "tests/test_a.py::test_b"),
        ("tests.test_a", "test_b", None, None, "tests/test_a.py::test_b"),
        ("tests.test_a.TestC.TestD", "test_b[1]", None, None, "tests/test_a.py::TestC::TestD::test_b[1]"),
        ("tests.gpu-tests.test_a", "test_b", None, "pytest", "tests/gpu-tests/test_a.py::test_b"),
        ("tests.test_a.lower", "test_b", "tests/test_a.py", None, "tests/test_a.py::lower::test_b"),
        ("", "tests/test_a.py", None, None, "tests/test_a.py"),
        ("", "tests.test_a", None, "pytest", "tests/test_a.py"),
        ("", "tests.test_a", "tests/test_a.py", "pytest", "tests/test_a.py"),
        ("FooTest", "Works", "/build/foo_test.cc", "FooTest", "FooTest::Works"),
        ("FooTest", "Works", None, None, "FooTest::Works"),
        ("Head/FooTest", "Works/0", None, "Head/FooTest", "Head/FooTest::Works/0"),
        ("org.example.FooTest", "works", None, "org.example.FooTest", "org.example.FooTest::works"),
        ("example.org/kernels", "TestA/b", None, "example.org/kernels", "example.org/kernels::TestA/b"),
        ("a program", "a program", None, "(empty)", "a program"),
        (None, None, None, None, ""),
    ],
)
def test_node_ids_are_rebuilt(
    classname: str | None, name: str | None, file: str | None, suite: str | None, expected: str
) -> None:
    assert node_id(classname, name, file, suite) == expected


def test_long_ids_are_bounded_and_stay_apart() -> None:
    one, other = ("t.py::test[" + "x" * 500_000 + middle + "y" * 500_000 for middle in "12")
    assert bounded_id(one) != bounded_id(other)
    assert len(bounded_id(one)) < LONGEST_ID + 200
    assert bounded_id("t.py::" + "x" * 10_000) == "t.py::" + "x" * 10_000
