from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest

from pytest_gpumatrix.session import loaded as module
from pytest_gpumatrix.session.loaded import Loaded, cuda_in_use, loaded_in_worker, together, torch_reserved


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("torch")
    module.__version__ = "2.9.0+cu130"
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "triton", "triton.knobs", "numpy"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def loaded() -> Loaded:
    return module.loaded(SimpleNamespace(stash=pytest.Stash()))  # type: ignore[arg-type]


def tf32(*, matmul: SimpleNamespace, cudnn: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(cuda=SimpleNamespace(matmul=matmul), cudnn=cudnn)


@pytest.mark.parametrize(
    ("matmul", "cudnn", "told"),
    [
        (SimpleNamespace(allow_tf32=False), SimpleNamespace(allow_tf32=True), "cudnn"),
        (SimpleNamespace(allow_tf32=True), SimpleNamespace(allow_tf32=True), "matmul, cudnn"),
        (SimpleNamespace(allow_tf32=False), SimpleNamespace(allow_tf32=False), "none"),
        # The newer names, which a test may have used: then torch refuses to be asked by the older ones.
        (
            SimpleNamespace(fp32_precision="tf32"),
            SimpleNamespace(conv=SimpleNamespace(fp32_precision="ieee")),
            "matmul",
        ),
    ],
)
def test_where_torch_rounds_to_tf32(torch: Any, matmul: SimpleNamespace, cudnn: SimpleNamespace, told: str) -> None:
    torch.backends = tf32(matmul=matmul, cudnn=cudnn)
    assert loaded().torch_tf32 == told


def test_what_torch_was_built_for(torch: Any) -> None:
    torch._C = SimpleNamespace(_cuda_getArchFlags=lambda: "sm_80 sm_90")
    torch.version = SimpleNamespace(cuda="13.0")
    found = loaded()
    assert found.torch_archs == "sm_80 sm_90"
    assert (found.versions["torch"], found.versions["torch_cuda"]) == ("2.9.0+cu130", "13.0")


def test_a_torch_for_the_cpu(torch: Any) -> None:
    torch._C, torch.version = SimpleNamespace(), SimpleNamespace(cuda=None)
    assert loaded().torch_archs is None
    assert "torch_cuda" not in loaded().versions


def test_nothing_is_loaded() -> None:
    assert loaded().versions.keys() == {"python", "pytest"}
    assert not cuda_in_use()


class Ptxas:
    def __init__(self, error: Exception) -> None:
        self._error = error

    @property
    def version(self) -> str:
        raise self._error


@pytest.mark.parametrize(
    ("ptxas", "versions"),
    [
        (SimpleNamespace(version="12.8"), {"ptxas": "12.8"}),
        (Ptxas(RuntimeError("Cannot find ptxas")), {}),
        (Ptxas(PermissionError("ptxas")), {}),
    ],
)
def test_tritons_assembler(monkeypatch: pytest.MonkeyPatch, ptxas: object, versions: dict[str, str]) -> None:
    monkeypatch.setitem(sys.modules, "triton.knobs", SimpleNamespace(nvidia=SimpleNamespace(ptxas=ptxas)))
    assert {name: value for name, value in loaded().versions.items() if name == "ptxas"} == versions


def test_the_real_torch() -> None:
    """Asked by names that it has, and it makes no CUDA context for it. In a process of its own: it is loaded once."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    code = (
        "import torch\n"
        "from pytest_gpumatrix.session.loaded import _torch_tf32, cuda_in_use, loaded_versions\n"
        "print(_torch_tf32(), loaded_versions()['torch'] == torch.__version__, cuda_in_use())\n"
        "torch.backends.cuda.matmul.fp32_precision = 'tf32'\n"
        "print(_torch_tf32())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["cudnn True False", "matmul, cudnn"]


def test_what_several_processes_loaded() -> None:
    parts = [
        Loaded(versions={"python": "3.12"}),
        Loaded(versions={"python": "3.12", "torch": "2.9"}, torch_archs="sm_90", torch_tf32="none"),
        Loaded(versions={"python": "3.12", "triton": "3.5"}, torch_tf32="matmul", not_measured=("a", "b")),
        Loaded(versions={}, not_measured=("b",)),
    ]
    assert together(parts) == Loaded(
        versions={"python": "3.12", "torch": "2.9", "triton": "3.5"},
        torch_archs="sm_90",
        torch_tf32="none",
        not_measured=("a", "b"),
    )


def test_a_worker_that_died_tells_nothing() -> None:
    assert loaded_in_worker(SimpleNamespace()) is None
    assert loaded_in_worker(SimpleNamespace(workeroutput={"exitstatus": 0})) is None
    told = {"gpumatrix_loaded": {"versions": {"torch": "2.9"}}}
    assert loaded_in_worker(SimpleNamespace(workeroutput=told)) == Loaded(versions={"torch": "2.9"})


@pytest.mark.parametrize(
    "fake",
    [
        SimpleNamespace(),
        MagicMock(),
        # A torch for the CPU of which a test says that it has a GPU.
        SimpleNamespace(_C=SimpleNamespace(), cuda=SimpleNamespace(is_initialized=lambda: True)),
        SimpleNamespace(__version__=None, version=None, backends=None, cuda=None, _C=None),
    ],
)
def test_a_torch_that_a_test_made_up_breaks_nothing(monkeypatch: pytest.MonkeyPatch, fake: object) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setitem(sys.modules, "triton.knobs", fake)
    json = msgspec.json.encode(loaded())
    assert msgspec.json.decode(json, type=Loaded) == loaded()
    assert torch_reserved() in (None, 1)  # what a MagicMock is as a number
