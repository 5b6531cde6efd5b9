"""What launches of CUDA C++ have in common, whichever package makes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pytest_gpumatrix.portability.tape.launch import Extent, FunctionReference
from pytest_gpumatrix.portability.tape.values import CannotEncodeError

# The driver's numbers of the attributes that say what a kernel was allowed: how much dynamic shared memory it may be
# given, and whether its clusters may be of more than 8 blocks.
_MAX_DYNAMIC_SHARED_MEMORY = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_NON_PORTABLE_CLUSTERS = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


def first_kernel(code: Any, otherwise: str) -> str:
    """The name of the first kernel that a source defines, C++ or PTX."""
    _, found, rest = str(code).partition("__global__")
    if not found:
        entry = re.search(r"\.entry\s+(\w+)", str(code))
        return entry[1] if entry else otherwise
    match = re.search(r"(\w+)\s*\(", re.sub(r"__\w+__\s*\([^)]*\)", "", rest[:1000]))  # without __launch_bounds__(...)
    return match[1] if match else otherwise


def extent(sizes: Any) -> Extent:
    """Sizes in x, y and z, of which the last ones may be left out, or one alone. ValueError for more than three."""
    given = [int(size) for size in sizes] if isinstance(sizes, (tuple, list)) else [int(sizes)]
    x, y, z = [*given, *[1] * (3 - len(given))]
    return x, y, z


def what_is_allowed(ask: Callable[[int], int | None], dynamic_shared_memory: int) -> dict[str, Any]:
    """The fields of a CudaLaunch that say what the driver allows its kernel: ``ask`` tells an attribute, if it can."""
    non_portable = ask(_NON_PORTABLE_CLUSTERS)
    return {
        "shared_memory_opt_in": ask(_MAX_DYNAMIC_SHARED_MEMORY) if dynamic_shared_memory else None,
        "non_portable_clusters": None if non_portable is None else bool(non_portable),
    }


def no_functions(value: Any) -> FunctionReference:
    """For ``encode``, where no function may be among the values."""
    raise CannotEncodeError(f"a {type(value).__qualname__} is no option")
