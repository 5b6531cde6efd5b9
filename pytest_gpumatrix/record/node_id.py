"""The node id of a JUnit case that does not say it. Pure."""

from __future__ import annotations

import hashlib

PYTEST = "pytest"  # what pytest calls its suite
LONGEST_ID = 100_000  # characters; a longer id keeps both ends and is told apart by a digest


def node_id(classname: str | None, name: str | None, file: str | None, suite: str | None = None) -> str:
    """Pytest's node id: from the file if that is told, else with classes told by their capital letter.

    Pytest's classname is the path of a file, with dots, and the classes in it. Other tools put there what they group
    tests by (``FooTest``, ``org.example.FooTest``, ``github.com/org/repo``): then it stays as it is, before the name.
    """
    classname, name = classname or "", name or ""
    dotted = classname.split(".") if classname else []
    if file:
        module = file.removesuffix(".py").replace("\\", "/").split("/")
        if dotted[: len(module)] == module:
            return "::".join([file, *dotted[len(module) :], name])
        if not classname and name == ".".join(module):  # what could not be collected
            return file
    if not classname and suite == PYTEST and name and "/" not in name:  # as well
        return name.replace(".", "/") + ".py"
    if not classname or classname == name:  # CTest says it twice
        return name
    if suite != PYTEST and (classname == suite or not all(part.isidentifier() for part in dotted)):
        return f"{classname}::{name}"
    classes: list[str] = []
    while dotted and dotted[-1][:1].isupper():
        classes.insert(0, dotted.pop())
    path = "/".join(dotted) + ".py" if dotted else ""
    return "::".join(part for part in (path, *classes, name) if part)


def bounded_id(test: str) -> str:
    """A node id of bearable length; two that differ stay two."""
    if len(test) <= LONGEST_ID:
        return test
    digest = hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{test[: LONGEST_ID // 2]}...{digest}...{test[-LONGEST_ID // 2 :]}"
