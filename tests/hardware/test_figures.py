"""The data files: every figure has a source, and what cannot be right is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from pytest_gpumatrix.hardware import figures
from pytest_gpumatrix.hardware.capability import ComputeCapability

FILES = ("sources.yml", "capabilities.yml", "profiles.yml")
SOURCES = "page: {title: A page, url: https://example.org/page}"
PROFILE = """
some-gpu:
  name: Some
  capability: ["8.6", page]
  nvml_names: {NVIDIA Some: page}
  memory: [24GiB, page]
  sm_count: [82, page]
"""


def _rows(name: str) -> dict[str, Any]:
    data = yaml.safe_load(figures.data_file(name))
    rows: dict[str, Any] = data["capabilities"] if name == "capabilities.yml" else data
    return rows


@pytest.mark.parametrize("name", ["capabilities.yml", "profiles.yml"])
def test_every_figure_has_a_source_that_is_listed(name: str) -> None:
    sources = figures.read_sources(figures.data_file("sources.yml"))
    checked = 0
    for row in _rows(name).values():
        for key, figure in row.items():
            if key == "name":  # what we call it
                continue
            named = figure.values() if isinstance(figure, dict) else figure[1:]
            for source in named:
                assert source in sources, (name, key, figure)
                checked += 1
    assert checked > 50


def test_every_source_is_used() -> None:
    text = figures.data_file("capabilities.yml") + figures.data_file("profiles.yml")
    assert [name for name in figures.read_sources(figures.data_file("sources.yml")) if name not in text] == []


@pytest.mark.parametrize("name", FILES)
def test_no_key_is_written_twice(name: str) -> None:
    def twice(node: yaml.Node | None) -> Iterator[str]:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            yield from (key for key in set(keys) if keys.count(key) > 1)
            for _, value in node.value:
                yield from twice(value)

    assert list(twice(yaml.compose(figures.data_file(name)))) == []


def _read(profile: str = PROFILE, sources: str = SOURCES) -> object:
    known_sources = figures.read_sources(sources)
    limits, _ = figures.read_capabilities(
        figures.data_file("capabilities.yml"), figures.read_sources(figures.data_file("sources.yml"))
    )
    return figures.read_profiles(profile, limits, known_sources)


def test_a_row_without_bandwidth_can_be_read() -> None:
    assert _read() != ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[82, page]", "82"), "sm_count"),
        (("[82, page]", "[82]"), "sm_count"),
        (("[82, page]", "[many, page]"), "sm_count"),
        (("[82, page]", "[82, nowhere]"), "some-gpu: sources.yml has no 'nowhere'"),
        (("{NVIDIA Some: page}", "{NVIDIA Some: nowhere}"), "some-gpu: sources.yml has no 'nowhere'"),
        (("[24GiB, page]", "[24, page]"), "memory"),
        (("[24GiB, page]", "['24', page]"), "not a size"),
        (("name: Some", "nmae: Some"), "nmae|name"),
        (("name: Some", "name: Some\n  colour: green"), "colour"),
        (('["8.6", page]', '["8.5", page]'), "capabilities.yml has no 8.5"),
        (('["8.6", page]', '["86", page]'), "not a compute capability"),
        (("some-gpu:", "some-gpu: ["), "profiles.yml"),
    ],
)
def test_a_row_that_cannot_be_right_is_refused(change: tuple[str, str], message: str) -> None:
    old, new = change
    assert old in PROFILE
    with pytest.raises(ValueError, match=message):
        _read(profile=PROFILE.replace(old, new))


@pytest.mark.parametrize(
    "source",
    [
        "{title: A page}",
        "{url: https://example.org}",
        "{title: A page, url: http://example.org}",
        "{title: A page, url: https://example.org, measured: by hand}",
        "{title: A page, url: https://example.org, author: somebody}",
    ],
)
def test_a_source_is_a_page_or_a_measurement(source: str) -> None:
    with pytest.raises(ValueError, match=r"sources\.yml|source"):
        figures.read_sources(f"page: {source}")


def test_a_feature_that_is_not_known_is_refused() -> None:
    sources = figures.read_sources(figures.data_file("sources.yml"))
    text = figures.data_file("capabilities.yml").replace("{bf16: cuda-guide, fp8", "{bf61: cuda-guide, fp8")
    with pytest.raises(ValueError, match="bf61"):
        figures.read_capabilities(text, sources)


def test_capabilities_are_listed_in_order() -> None:
    names = [ComputeCapability.parse(name) for name in _rows("capabilities.yml")]
    assert names == sorted(names)
