from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.binaries.environment import (
    Environment,
    Origin,
    Origins,
    environment_at,
    this_environment,
)


def install(packages: Path, name: str, version: str, *files: str) -> None:
    """What an installer leaves, as far as it is looked at."""
    metadata = packages / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "RECORD").write_text("".join(f"{file},,\n" for file in files))


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    packages = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "venv" / "lib64").symlink_to("lib")
    return tmp_path / "venv"


def test_a_virtual_environment_is_its_packages(venv: Path) -> None:
    packages = venv / "lib" / "python3.12" / "site-packages"
    assert environment_at(venv) == Environment(name=str(venv), roots=(packages,), packages=(packages,))


def test_any_folder_is_all_that_is_in_it(venv: Path) -> None:
    (venv / "pyvenv.cfg").unlink()
    packages = venv / "lib" / "python3.12" / "site-packages"
    assert environment_at(venv) == Environment(name=str(venv), roots=(venv,), packages=(venv, packages))


def test_a_file_belongs_to_the_packages_around_it(venv: Path) -> None:
    packages = venv / "lib" / "python3.12" / "site-packages"
    file = packages / "p" / "a.so"
    file.parent.mkdir()
    file.touch()
    install(packages, "package", "1.0", "p/a.so")
    environment = environment_at(file)
    assert (environment.roots, environment.packages) == ((file,), (packages,))
    assert Origins(environment).of(file) == Origin(name="package", version="1.0")


def test_this_environment_is_the_packages_on_the_search_path(venv: Path, tmp_path: Path) -> None:
    packages = venv / "lib" / "python3.12" / "site-packages"
    entries = ["", str(tmp_path), str(packages), str(venv / "lib64/python3.12/site-packages"), "gone/site-packages"]
    assert this_environment(entries).roots == (packages,)
    with pytest.raises(GpuMatrixError, match="no folder of packages"):
        this_environment([str(tmp_path)])


@pytest.mark.parametrize(("name", "reason"), [("nowhere", "No such file or directory"), ("a\0b", "null byte")])
def test_a_place_that_is_not_there_is_a_mistake(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(GpuMatrixError, match=rf"{reason}: name an environment, a folder or a file"):
        environment_at(tmp_path / name)


def test_files_are_their_distributions(tmp_path: Path) -> None:
    install(tmp_path, "first", "1.0", "first/a.so", "../bin/tool")
    install(tmp_path, "second", "2.0", "shared/b.so")
    origins = Origins(environment_at(tmp_path))
    assert origins.of(tmp_path / "first" / "a.so") == Origin(name="first", version="1.0")
    assert origins.of(tmp_path / "shared" / "b.so") == Origin(name="second", version="2.0")
    assert origins.of(tmp_path / "shared" / "c.so") == Origin(name="shared")
    assert origins.of(tmp_path / "d.so") == Origin(name="d.so")
    assert origins.of(tmp_path.parent / "bin" / "tool") == Origin(name="first", version="1.0")
    assert origins.not_read == []


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'"', b"a.so,,\n" * 3 + b"\xff"])
def test_a_broken_record_costs_its_distribution(tmp_path: Path, content: bytes) -> None:
    install(tmp_path, "good", "1.0", "a.so")
    install(tmp_path, "broken", "1.0")
    (tmp_path / "broken-1.0.dist-info" / "RECORD").write_bytes(content)
    origins = Origins(environment_at(tmp_path))
    assert origins.of(tmp_path / "a.so") == Origin(name="good", version="1.0")
    assert len(origins.not_read) <= 1


def test_a_distribution_without_metadata_has_no_name(tmp_path: Path) -> None:
    install(tmp_path, "package", "1.0", "a.so")
    (tmp_path / "package-1.0.dist-info" / "METADATA").unlink()
    origins = Origins(environment_at(tmp_path))
    assert origins.of(tmp_path / "a.so").name in ("unnamed", "a.so")
