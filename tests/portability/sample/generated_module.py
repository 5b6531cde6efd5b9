"""The text of a module as torch.compile generates it, and launches of its kernel as generated code makes them."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,import-not-found,attr-defined,arg-type"

from __future__ import annotations

import pickle

DOUBLE = """
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.{HEURISTIC}
@triton.jit
def triton_poi_fused_double_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    value = tl.load(in_ptr0 + xindex, xmask)
    tl.store(out_ptr0 + xindex, libdevice.exp(tl_math.abs(value) * 2), xmask)
"""
_DEVICE = """DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9,
        regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024,
        warp_size=32)"""
_META = """filename=__file__,
    triton_meta={{'signature': {{'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}},
        'device': {DEVICE}, 'constants': {{}}, 'enable_fp_fusion': True,
        'configs': [{{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}}]}},
    inductor_meta={{'grid_type': 'Grid1D', 'kernel_name': 'triton_poi_fused_double_0', 'mutated_arg_names': [],
        'force_disable_caches': True}}"""
TUNED = "pointwise(size_hints={{'x': 524288}}, min_elem_per_thread=0, {META})"
USERS = "user_autotune(configs=[{{'XBLOCK': 128, 'num_warps': 8, 'num_stages': 3}}], custom_kernel=True, {META})"


def text(heuristic: str) -> str:
    meta = _META.format(DEVICE=_DEVICE)
    return DOUBLE.replace("{HEURISTIC}", heuristic.format(META=meta))


def load(heuristic: str):
    """The ``CachingAutotuner`` of the module, which is on the disk as Inductor leaves it."""
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.runtime import triton_helpers

    triton_helpers.set_driver_to_gpu = lambda: None  # a fake one is set
    return PyCodeCache.load(text(heuristic)).triton_poi_fused_double_0


def of_worker(tuner):
    """As it comes back from a process that compiled it."""
    tuner._precompile_worker()
    tuner.prepare_for_pickle()
    tuner = pickle.loads(pickle.dumps(tuner))  # noqa: S301 - our own
    tuner.restore_after_unpickle(None)
    return tuner


def choose(tuner, number: int = 0, error: Exception | None = None):
    """Leave one configuration, as tuning on a GPU does, whose launcher does nothing, or fails."""
    tuner.launchers = [_launcher(tuner.compile_results[number].config, error)]
    return tuner


def _launcher(config, error):
    def launcher(*_, stream):
        del stream
        if error is not None:
            raise error

    launcher.config, launcher.store_cubin, launcher.cache_hash = config, False, "hash"
    return launcher
