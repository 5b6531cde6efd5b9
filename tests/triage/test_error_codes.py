"""CUDA's own error codes, in the spellings of the runtime, the driver and those who wrap them."""

# ruff: noqa: E501 - one row is one code

from __future__ import annotations

import pytest

from pytest_gpumatrix.triage.classify import classify_log

# number, runtime name, driver name, words, category.
# Source: CUDA Runtime API and CUDA Driver API, "cudaError_t" and "CUresult"
CODES = [
    (1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument", "genuine_failure"),
    (2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "unknown"),
    (3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error", "driver_platform"),
    (9, "cudaErrorInvalidConfiguration", "", "invalid configuration argument", "genuine_failure"),
    (34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library", "driver_platform"),
    (35, "cudaErrorInsufficientDriver", "", "CUDA driver version is insufficient for CUDA runtime version", "driver_platform"),
    (36, "cudaErrorCallRequiresNewerDriver", "", "API call is not supported in the installed CUDA driver", "driver_platform"),
    (46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable", "device_state"),
    (98, "cudaErrorInvalidDeviceFunction", "", "invalid device function", "no_kernel_image"),
    (100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected", "driver_platform"),
    (101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal", "gpu_topology"),
    (200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid", "unknown"),
    (209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device", "no_kernel_image"),
    (214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered", "device_state"),
    (217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices", "gpu_topology"),
    (218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed", "no_kernel_image"),
    (220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected during the execution", "device_state"),
    (221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found", "driver_platform"),
    (222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain.", "driver_platform"),
    (226, "cudaErrorContained", "CUDA_ERROR_CONTAINED", "Invalid access of peer GPU memory over nvlink or a hardware error", "device_state"),
    (302, "cudaErrorSharedObjectSymbolNotFound", "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found", "broken_install"),
    (303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed", "broken_install"),
    (304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS", "driver_platform"),
    (400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle", "genuine_failure"),
    (500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found", "broken_install"),
    (700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered", "sticky_crash"),
    (701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch", "onchip_limit"),
    (702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated", "device_state"),
    (710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "device-side assert triggered", "sticky_crash"),
    (714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error", "sticky_crash"),
    (715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered", "sticky_crash"),
    (716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address", "sticky_crash"),
    (717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space", "sticky_crash"),
    (718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC", "invalid program counter", "sticky_crash"),
    (719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure", "sticky_crash"),
    (720, "cudaErrorCooperativeLaunchTooLarge", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch", "onchip_limit"),
    (801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported", "unknown"),
    (802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized", "driver_platform"),
    (803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination", "driver_platform"),
    (804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW", "driver_platform"),
    (805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server", "driver_platform"),
    (999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error", "unknown"),
]  # fmt: skip
LIBRARIES = [
    ("CUBLAS_STATUS_NOT_INITIALIZED", "unknown"),
    ("CUBLAS_STATUS_ALLOC_FAILED", "unknown"),
    ("CUBLAS_STATUS_INVALID_VALUE", "genuine_failure"),
    ("CUBLAS_STATUS_ARCH_MISMATCH", "library_no_engine"),
    ("CUBLAS_STATUS_EXECUTION_FAILED", "sticky_crash"),
    ("CUBLAS_STATUS_INTERNAL_ERROR", "unknown"),
    ("CUBLAS_STATUS_NOT_SUPPORTED", "library_no_engine"),
    ("CUDNN_STATUS_NOT_INITIALIZED", "unknown"),
    ("CUDNN_STATUS_BAD_PARAM", "genuine_failure"),
    ("CUDNN_STATUS_ARCH_MISMATCH", "library_no_engine"),
    ("CUDNN_STATUS_NOT_SUPPORTED", "library_no_engine"),
    ("CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", "library_no_engine"),
    ("CUDNN_STATUS_EXECUTION_FAILED", "sticky_crash"),
    ("CUDNN_STATUS_INTERNAL_ERROR", "unknown"),
    ("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "broken_install"),
    ("CUDNN_STATUS_VERSION_MISMATCH", "broken_install"),
    ("CUSPARSE_STATUS_ARCH_MISMATCH", "library_no_engine"),
    ("CUSPARSE_STATUS_EXECUTION_FAILED", "sticky_crash"),
    ("CUSOLVER_STATUS_ALLOC_FAILED", "unknown"),
    ("CUSOLVER_STATUS_ARCH_MISMATCH", "library_no_engine"),
    ("CUFFT_NOT_SUPPORTED", "library_no_engine"),
    ("CUFFT_ALLOC_FAILED", "unknown"),
    ("CUFFT_EXEC_FAILED", "sticky_crash"),
    ("CURAND_STATUS_LAUNCH_FAILURE", "sticky_crash"),
    ("CURAND_STATUS_ARCH_MISMATCH", "library_no_engine"),
]


@pytest.mark.parametrize(("number", "runtime", "driver", "words", "category"), CODES)
def test_a_code_is_known_in_every_spelling(number: int, runtime: str, driver: str, words: str, category: str) -> None:
    texts = [
        f"RuntimeError: CUDA error: {words}",
        f"torch.AcceleratorError: CUDA error: {words}\nCUDA kernel errors might be asynchronously reported",
        f"RuntimeError: Triton Error [CUDA]: {words}" if number not in (1, 3, 999, 801) else words + ": CUDA error: " + words,
        f"cupy_backends.cuda.api.runtime.CUDARuntimeError: {runtime}: {words}",
        f"thrust: parallel_for failed: {runtime}: {words}",
        f"XlaRuntimeError: INTERNAL: {driver or runtime}: {words}",
        f"numba.cuda.cudadrv.driver.CudaAPIError: [{number}] Call to cuX results in {driver or runtime}",
        f"ONNXRuntimeError : CUDA failure {number}: {words} ; GPU=0",
        f"CUDA error at a.cu:31 code={number}({runtime}) \"f(x)\"",
    ]  # fmt: skip
    assert {text: classify_log(text).category.value for text in texts} == dict.fromkeys(texts, category)


@pytest.mark.parametrize(("status", "category"), LIBRARIES)
def test_a_status_is_known(status: str, category: str) -> None:
    for text in (f"RuntimeError: CUDA error: {status} when calling `f(handle)`", f"error {status} (8) in a.cu:3"):
        assert classify_log(text).category.value == category
