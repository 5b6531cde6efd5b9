from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys

from pytest_gpumatrix.session.launches import tape_versions


def test_a_tape_names_what_decides_what_a_kernel_is_compiled_to() -> None:
    installed = {}
    for name in ("gpumatrix", "torch", "triton", "cuda-core"):
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    found = tape_versions()
    assert found["python"] == platform.python_version()
    assert "gpumatrix" in found
    # PyTorch calls itself 2.13.0+cu130 where its package is 2.13.0.
    assert {name: found[name].partition("+")[0] for name in installed} == {
        name: version.partition("+")[0] for name, version in installed.items()
    }


def test_nothing_is_imported_for_it() -> None:
    script = (
        "import sys; from pytest_gpumatrix.session.launches import tape_versions; tape_versions()\n"
        "print({'torch', 'triton', 'cuda'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
