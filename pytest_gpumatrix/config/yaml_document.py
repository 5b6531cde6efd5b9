"""YAML text as plain values, each with the line where it stands. Hostile text is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from pytest_gpumatrix.errors import GpuMatrixError

_LARGEST = 1024 * 1024  # bytes
_DEEPEST = 32  # collections within collections
_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))

YamlPath = tuple["str | int", ...]  # keys and indexes from the top: ("devices", "h100", "profile")


@dataclass(frozen=True, kw_only=True, slots=True)
class YamlDocument:
    """A parsed file: its value (dict, list, str, int, float, bool, None) and the line of each part."""

    source: str  # the file's name, for messages
    value: Any
    lines: Mapping[YamlPath, int]  # of each key and list item, from 1

    def place(self, path: YamlPath) -> str:
        """ "gpumatrix.yml:12": where a part stands, or the nearest part around it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.source}:{self.lines.get(path, 1)}"


def parse_yaml(content: bytes, source: str) -> YamlDocument:
    """Parse one YAML document. GpuMatrixError with file and line for malformed text, a key that stands twice,
    aliases (they can grow without bound), tags, too deep nesting, and a key that is not text.
    """
    if len(content) > _LARGEST:
        raise GpuMatrixError(f"{source}: {len(content):,} bytes; at most {_LARGEST:,} are read")
    try:
        loader = _Loader(content.decode("utf-8-sig"))
        node = loader.get_single_node()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise GpuMatrixError(f"{source}:{line}: not UTF-8 text; save it as UTF-8") from error
    except yaml.reader.ReaderError as error:
        line = content.decode("utf-8-sig")[: error.position].count("\n") + 1
        raise GpuMatrixError(f"{source}:{line}: not YAML: a control character; remove it") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(text for text in (error.context, error.problem) if text)
        raise GpuMatrixError(f"{source}:{mark.line + 1 if mark else 1}: not YAML: {problem}") from error
    if node is None:
        raise GpuMatrixError(f"{source}:1: the file is empty; begin it with 'version: 1'")
    lines: dict[YamlPath, int] = {}
    value = _Builder(source, loader, lines).build(node, ())
    return YamlDocument(source=source, value=value, lines=lines)


class _Loader(yaml.SafeLoader):
    """SafeLoader without aliases, of bounded depth, and with dates left as text (for a located error)."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML's stubs say nothing
        self._depth += 1
        problem = None
        if isinstance(event, yaml.AliasEvent):
            problem = "aliases (*name) are not used here; write it out"
        elif self._depth > _DEEPEST:
            problem = f"nested deeper than {_DEEPEST} levels"
        if problem:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Builder:
    """Nodes -> plain values; notes each line on the way."""

    def __init__(self, source: str, loader: _Loader, lines: dict[YamlPath, int]) -> None:
        self._source = source
        self._loader = loader
        self._lines = lines

    def build(self, node: yaml.Node, path: YamlPath) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode) and node.tag in _TAGS:
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag in _TAGS:
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: YamlPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(key_node)
            if not isinstance(key, str):
                raise self._error(key_node, f'the key {key} is not text; write it in quotes: "{key}"')
            here = (*path, key)
            if key in result:
                raise self._error(
                    key_node, f"{key!r} stands twice (first on line {self._lines[here]}); keep one of them"
                )
            self._lines[here] = key_node.start_mark.line + 1
            result[key] = self.build(value_node, here)
        return result

    def _scalar(self, node: yaml.Node) -> Any:
        if node.tag not in _TAGS or not isinstance(node, yaml.ScalarNode):
            raise self._error(node, f"{node.tag!r} is not used here; write text, numbers, lists and mappings")
        try:
            return self._loader.construct_object(node)
        except (ValueError, yaml.YAMLError) as error:
            shown = node.value if len(node.value) < 40 else f"{node.value[:40]}..."
            raise self._error(node, f"{shown!r} cannot be read: {error}") from error

    def _error(self, node: yaml.Node, text: str) -> GpuMatrixError:
        return GpuMatrixError(f"{self._source}:{node.start_mark.line + 1}: {text}")
