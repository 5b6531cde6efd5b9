"""Modules are found by their files, and never imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pytest_gpumatrix.gate import modules
from pytest_gpumatrix.gate.modules import missing_module


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path with a package that two distributions share, and that must not be imported."""
    package = tmp_path / "sharedpkg"
    (package / "cute").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "cute" / "__init__.py").write_text("raise RuntimeError('imported')")
    for name, version, file in (("sharedpkg", "2.8", ""), ("sharedpkg-four", "4.0b36", "cute/")):
        info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"sharedpkg/{file}__init__.py,,\n")
        (info / "top_level.txt").write_text("sharedpkg\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    modules._distributions.cache_clear()
    missing_module.cache_clear()
    yield tmp_path
    modules._distributions.cache_clear()
    missing_module.cache_clear()


@pytest.mark.parametrize(
    "asked", ["sharedpkg", "sharedpkg.cute", "sharedpkg>=2.7", "sharedpkg.cute>=4.0b1", "json", "os.path"]
)
def test_present(site: Path, asked: str) -> None:
    assert missing_module(Requirement(asked)) is None
    assert "sharedpkg" not in sys.modules


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("sharedpkg.nothing", "not installed"),
        ("nowhere_at_all", "not installed"),
        ("nowhere_at_all.sub", "not installed"),
        ("json.decoder.deeper", "not installed"),
        ("sharedpkg>=3", "here is sharedpkg 2.8"),
        ("sharedpkg.cute>=5", "here is sharedpkg-four 4.0b36"),
        ("json>=1", "its version is unknown"),
    ],
)
def test_missing(site: Path, asked: str, said: str) -> None:
    assert said in str(missing_module(Requirement(asked)))
    assert "sharedpkg" not in sys.modules
