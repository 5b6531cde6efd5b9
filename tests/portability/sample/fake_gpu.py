"""A GPU for Triton's runtime that compiles like one and launches nothing."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability

COMPILED: list[str] = []  # by Triton's own hook: what it compiled, as JSON


class _Utils:
    def __init__(self, capability: ComputeCapability) -> None:
        self._limits = catalogue.load().limits(capability)

    def get_device_properties(self, *_):
        return {"max_shared_mem": self._limits.shared_memory_per_block}

    def load_binary(self, *_):
        registers, spills = 32, 0
        return "module", "function", registers, spills, self._limits.threads_per_block


class _Driver:
    def __init__(self, capability: ComputeCapability) -> None:
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", 10 * capability.major + capability.minor, 32)
        self.utils = _Utils(capability)

    def get_current_device(self):
        return 0

    def get_current_stream(self, *_):
        return 0

    def get_current_target(self):
        return self._target

    def get_benchmarker(self):
        def benchmark(kernel_call, quantiles):
            kernel_call()
            return [1.0] * len(quantiles)

        return benchmark

    def launcher_cls(self, *_):
        return lambda *_: None


def activate(capability: ComputeCapability) -> None:
    """Make it Triton's active driver, and note what Triton says that it compiled."""
    import triton

    triton.runtime.driver.set_active(_Driver(capability))
    triton.knobs.runtime.jit_post_compile_hook = _note


def _note(**told):
    COMPILED.append(told["compile"]["specialization_data"])
