from __future__ import annotations

import pytest

from pytest_gpumatrix.portability.emulation.callers import sees_the_real_card


@pytest.mark.parametrize(
    ("chain", "real"),
    [
        (["a_test.test_it"], False),
        (["torch.cuda.get_device_capability", "a_test.test_it"], False),
        (["torch.cuda.get_device_properties", "torch._inductor.utils.is_big_gpu", "a_test.test_it"], True),
        (["torch.cuda.get_device_properties", "torch.cuda._utils._nvrtc_compile", "a_test.test_it"], True),
        (["torch.cuda.get_device_properties", "torch.cuda._utils.set_shared_memory_config", "a_test.test_it"], False),
        (["functools.wrapper", "torch._inductor.utils.is_big_gpu"], True),
        (["torch._dynamo.variables.torch.call_function", "torch._dynamo.symbolic_convert.step"], False),
        (["torch._dynamo.utils.run_node", "torch._dynamo.utils.get_fake_value"], False),
        (["torch._dynamo.device_interface.get_device_properties", "a_test.test_it"], True),
        (["torch.utils._triton._device_supports_tma", "torch._inductor.utils.use_tma"], False),
        ([".forward", "torch._dynamo.eval_frame._fn"], False),  # a graph that was traced from the code
        (["triton.runtime.jit.run", "a_test.test_it"], True),
        (["triton.language.target_info.current_target", "triton.runtime.jit.run"], False),
        (["triton.language.semantic._has_native_tma"], True),
        (["triton.testing.get_dram_gbps"], False),
        (["torch.cuda.get_device_capability", "torch._dynamo.eval_frame._fn", "a_test.test_it"], False),
        (["torch._dynamo.external_utils.inner", "a_test.test_it"], False),
        (["torch._compile.inner", "torch._dynamo.eval_frame._fn", "a_test.test_it"], False),
        (["torch._dynamo.eval_frame._fn", "torch._inductor.utils.is_big_gpu", "a_test.test_it"], True),
        (["torch.accelerator.memory.get_memory_info", "a_test.test_it"], False),
        (["torch.accelerator.memory.get_memory_info", "torch._inductor.utils.is_big_gpu"], True),
        (["torch._dynamo_of_somebody.ask"], False),
        (["pytest_gpumatrix.portability.recording.specialise.make_specialiser"], True),
        (["torch.cuda.init"], False),
        ([], False),
    ],
)
def test_the_first_caller_that_says_anything_decides(chain: list[str], real: bool) -> None:
    assert sees_the_real_card(chain) is real
