"""Which kernel is chosen, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trainer.errors import TrainerError
from trainer.kernels import mlp_tiles
from trainer.kernels.attention import ATTENTION
from trainer.kernels.cross_entropy import CROSS_ENTROPY
from trainer.kernels.mlp import MLP_OP
from trainer.kernels.operators import choose, load
from trainer.kernels.registry import Capability, Choice, Kernel, Op, Refusal, Request, is_installed

# Bytes of shared memory that a block may opt in to, and the stages of `stages` that Triton buffers there.
# CUDA C++ Programming Guide, table of technical specifications per compute capability; Triton 3.7.
ROOM = {
    (8, 0): (163, -1),
    (8, 6): (99, -1),
    (8, 9): (99, -1),
    (9, 0): (227, 0),
    (10, 0): (227, 0),
    (12, 0): (99, -1),
}


def everything(_: str) -> bool:
    return True


def without(*missing: str) -> Callable[[str], bool]:
    return lambda module: module not in missing


@pytest.mark.parametrize(
    ("capability", "attention", "cross_entropy", "mlp"),
    [
        (None, "sdpa", "reference", "reference"),
        ((7, 5), "sdpa", "reference", "reference"),
        ((8, 0), "sdpa", "cuda", "triton"),
        ((8, 6), "sdpa", "cuda", "triton"),
        ((8, 9), "sdpa", "cuda", "triton"),
        ((9, 0), "sdpa", "cuda", "triton"),
        ((10, 0), "sdpa", "cuda", "triton"),
        ((10, 3), "sdpa", "cuda", "triton"),
        ((12, 0), "sdpa", "cuda", "triton"),
    ],
)
def test_dispatch(capability: Capability | None, attention: str, cross_entropy: str, mlp: str) -> None:
    dtype = "bfloat16" if capability is not None and capability >= (8, 0) else "float32"
    choices = choose(Request(capability=capability, dtype=dtype), installed=everything)
    assert [choice.kernel.name for choice in choices] == [attention, cross_entropy, mlp]


@pytest.mark.parametrize(
    ("op", "request_", "missing", "kernel", "reasons"),
    [
        (
            CROSS_ENTROPY,
            Request(capability=(9, 0), dtype="bfloat16"),
            ("cuda.core", "triton"),
            "reference",
            [
                "needs module cuda.core, which is not installed here (pip install 'cuda-core[cu13]')",
                "needs module triton, which is not installed here (pip install triton)",
            ],
        ),
        (
            CROSS_ENTROPY,
            Request(capability=None, dtype="float32", interpret=True),  # never interpreted unless asked for by name
            (),
            "reference",
            ["needs a CUDA GPU", "needs a CUDA GPU"],
        ),
    ],
)
def test_reasons(
    op: Op[Callable[..., object]], request_: Request, missing: tuple[str, ...], kernel: str, reasons: list[str]
) -> None:
    choice: Choice[Callable[..., object]] = op.select(request_, installed=without(*missing))
    assert choice.kernel.name == kernel
    assert [refusal.reason for refusal in choice.refused] == reasons
    assert all(reason in choice.reason for reason in reasons)


@pytest.mark.parametrize(
    ("request_", "missing", "reason"),
    [
        (Request(capability=(8, 6), dtype="bfloat16"), (), "needs compute capability 9.0 or later, this is 8.6"),
        (
            Request(capability=(12, 0), dtype="bfloat16"),
            (),
            "is made for compute capability 10.9 at most, this is 12.0",
        ),
        (Request(capability=(9, 0), dtype="float32"), (), "takes bfloat16 and float16, not float32"),
        (
            Request(capability=(9, 0), dtype="bfloat16", head_dim=192),
            (),
            "takes a head_dim of 8 to 128 that 8 divides, not 192",
        ),
        (
            Request(capability=(9, 0), dtype="bfloat16"),
            ("flash_attn.cute",),
            "needs module flash_attn.cute, which is not installed here (pip install flash-attn-4)",
        ),
        (Request(capability=None, dtype="bfloat16"), (), "needs a CUDA GPU"),
    ],
)
def test_what_flash_attention_refuses(request_: Request, missing: tuple[str, ...], reason: str) -> None:
    kernel = ATTENTION.kernel("flash_attn.cute")
    assert kernel.refusal(request_, without(*missing)) == reason
    assert kernel.refusal(Request(capability=(9, 0), dtype="bfloat16"), everything) is None


def test_a_forced_kernel_runs_or_raises() -> None:
    hopper = Request(capability=(9, 0), dtype="bfloat16")
    choice = MLP_OP.select(hopper, "reference", everything)
    assert (choice.kernel.name, choice.reason, choice.refused) == ("reference", "asked for", ())
    with pytest.raises(TrainerError, match=r"flash_attn\.cute was asked for, but it needs compute capability 9\.0"):
        ATTENTION.select(Request(capability=(8, 6), dtype="bfloat16"), "flash_attn.cute", everything)
    with pytest.raises(TrainerError, match=r"attention has no kernel 'fa3'; it has: sdpa, flash_attn\.cute, reference"):
        ATTENTION.select(hopper, "fa3", everything)


def test_a_forced_triton_kernel_may_be_interpreted() -> None:
    interpreted = Request(capability=None, dtype="float32", interpret=True)
    assert MLP_OP.select(interpreted, "triton", everything).kernel.name == "triton"
    with pytest.raises(TrainerError, match="needs a CUDA GPU"):
        MLP_OP.select(Request(capability=None, dtype="float32"), "triton", everything)
    with pytest.raises(TrainerError, match="cannot be interpreted in bfloat16"):
        MLP_OP.select(Request(capability=None, dtype="bfloat16", interpret=True), "triton", everything)


def _nothing() -> None:
    return None


def test_an_operator_needs_a_kernel_that_runs_anywhere() -> None:
    anywhere = Kernel(name="anywhere", load=lambda: _nothing)
    hopper = Kernel(name="hopper", load=lambda: _nothing, min_capability=(9, 0))
    module = Kernel(name="module", load=lambda: _nothing, modules=("some_module",))
    for kernels in ((), (anywhere, hopper), (module,)):
        with pytest.raises(ValueError, match="the last kernel must run anywhere"):
            Op("op", kernels)
    with pytest.raises(ValueError, match="two kernels have one name"):
        Op("op", (anywhere, anywhere))
    chosen = Op("op", (hopper, anywhere)).select(Request(capability=(8, 0), dtype="float32"))
    assert chosen.refused == (Refusal(kernel="hopper", reason="needs compute capability 9.0 or later, this is 8.0"),)


def test_a_module_is_looked_for_without_importing_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "explosive").mkdir()
    (folder / "explosive" / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "explosive" / "part.py").touch()
    monkeypatch.syspath_prepend(folder)
    assert is_installed("explosive.part")
    assert not is_installed("explosive.other")
    assert not is_installed("no_such_module_here.part")


def test_a_chosen_kernel_that_does_not_import_is_an_error() -> None:
    def broken() -> Callable[..., object]:
        raise ImportError("libsomething.so: cannot open")

    request = Request(capability=None, dtype="float32")
    kernel = Kernel(name="broken", load=broken)
    choice = Choice(op="cross_entropy", kernel=kernel, refused=(), forced=False)
    with pytest.raises(TrainerError, match=r"broken was chosen .*libsomething.so.* --cross-entropy reference"):
        load((choice, *(other for other in choose(request) if other.op != "cross_entropy")))


@pytest.mark.parametrize("capability", ROOM, ids="sm_{0[0]}{0[1]}".format)
def test_tiles_fit_in_shared_memory(capability: Capability) -> None:
    for tiles in (mlp_tiles.tiles_for(capability), mlp_tiles.ANYWHERE):
        kibibytes, unbuffered = ROOM[capability]
        assert (tiles.m + tiles.n) * tiles.k * 2 * (tiles.stages + unbuffered) <= kibibytes * 1024


def test_every_listed_capability_has_its_room_checked() -> None:
    assert set(mlp_tiles.TILES) == set(ROOM)
    assert mlp_tiles.tiles_for((8, 7)) == mlp_tiles.tiles_for(None) == mlp_tiles.ANYWHERE
