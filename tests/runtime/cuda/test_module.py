"""Contexts, devices and loading, as far as the driver is told."""

import ctypes
import struct

import pytest

from tilewright.runtime.cuda import arrays, context, errors, launcher, module, packing
from tilewright.runtime.cuda import driver as driver_module
from tilewright.runtime.cuda.context import current_device, device_properties, ensure_context
from tilewright.runtime.cuda.driver import driver, is_available
from tilewright.runtime.cuda.errors import CudaError, CudaUnavailable
from tilewright.runtime.cuda.module import load, unload


def attributes_set(cuda):
    return [arguments[1:] for name, arguments in cuda.calls if name == "cuFuncSetAttribute"]


def test_a_function_knows_what_it_needs(cuda):
    function = load(b"cubin", "matmul", 1024)
    assert (function.handle, function.module, function.device) == (0x3000, 0x2000, 0)
    assert (function.registers, function.local_bytes, function.static_shared) == (168, 0, 16)
    calls = dict(cuda.calls)
    assert calls["cuModuleLoadData"][1] == b"cubin"
    assert calls["cuModuleGetFunction"][2] == b"matmul"
    assert attributes_set(cuda) == []
    unload(function)
    assert cuda.calls[-1][1][0].value == 0x2000


def test_much_shared_memory_is_asked_for(cuda):
    load(b"cubin", "matmul", 200 * 1024)
    assert attributes_set(cuda) == [(8, 200 * 1024)]
    assert "cuFuncSetCacheConfig" in cuda.names()


def test_more_shared_memory_than_there_is_is_refused_with_numbers(cuda):
    with pytest.raises(
        ValueError, match=r"matmul needs 232464 bytes .* 232448 available on Fake H200 \(sm_90\)"
    ):
        load(b"cubin", "matmul", 232448)


def test_large_clusters_are_allowed(cuda):
    load(b"cubin", "matmul", cluster=(16, 1, 1))
    assert attributes_set(cuda) == [(14, 1)]
    cuda.calls.clear()
    load(b"cubin", "matmul", cluster=(8, 1, 1))
    assert attributes_set(cuda) == []


def test_code_for_another_chip_says_so(cuda):
    cuda.fail["cuModuleLoadData"] = 209
    with pytest.raises(CudaError, match=r"matmul was not compiled for Fake H200 \(sm_90"):
        load(b"cubin", "matmul")


def test_a_thread_without_context_gets_the_primary_one(cuda):
    cuda.context = None
    ensure_context(1)
    assert cuda.context == 0x1001
    cuda.calls.clear()
    ensure_context(0)
    assert cuda.names() == ["cuCtxGetCurrent"]


def test_a_device_tells_what_it_can(cuda):
    facts = device_properties()
    assert (facts.name, facts.capability, facts.multiprocessors) == ("Fake H200", 90, 132)
    assert (facts.shared_optin, facts.l2_bytes) == (232448, 52428800)
    assert current_device() == 0


def test_statuses_are_errors_in_the_drivers_words(cuda):
    cuda.fail["cuCtxGetDevice"] = 400
    with pytest.raises(CudaError) as caught:
        current_device()
    assert str(caught.value) == (
        "CUDA error 400 (CUDA_ERROR_INVALID_HANDLE) in cuCtxGetDevice: invalid resource handle"
    )
    assert (caught.value.status, caught.value.name) == (400, "CUDA_ERROR_INVALID_HANDLE")


def test_without_a_driver_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(driver_module, "_loaded", None)
    monkeypatch.setattr(driver_module, "_LIBRARY", "libcuda-that-is-not-there.so")
    with pytest.raises(
        CudaUnavailable, match=r"no CUDA driver .* on this machine: use target numpy"
    ):
        driver()
    assert not is_available()


def test_numbers_of_the_driver_are_the_drivers():
    bindings = pytest.importorskip("cuda.bindings.driver")
    device, function = bindings.CUdevice_attribute, bindings.CUfunction_attribute
    attribute, result = bindings.CUlaunchAttributeID, bindings.CUresult
    expected = [
        (context._MULTIPROCESSORS, device.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        (context._CLOCK_KHZ, device.CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        (context._L2_BYTES, device.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        (context._MAJOR, device.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        (context._MINOR, device.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        (context._SHARED_OPTIN, device.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        (module._MAX_THREADS, function.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        (module._STATIC_SHARED, function.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        (module._LOCAL_BYTES, function.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        (module._REGISTERS, function.CU_FUNC_ATTRIBUTE_NUM_REGS),
        (module._MAX_DYNAMIC_SHARED, function.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        (
            module._NON_PORTABLE_CLUSTER,
            function.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        ),
        (module._PREFER_SHARED, bindings.CUfunc_cache.CU_FUNC_CACHE_PREFER_SHARED),
        (module._NO_BINARY_FOR_GPU, result.CUDA_ERROR_NO_BINARY_FOR_GPU),
        (launcher._COOPERATIVE, attribute.CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
        (launcher._CLUSTER_DIMENSION, attribute.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
        (
            launcher._CLUSTER_SCHEDULING,
            attribute.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        ),
        (
            launcher._PROGRAMMATIC_SERIALIZATION,
            attribute.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        ),
        (
            launcher._SPREAD,
            bindings.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
        ),
        (launcher._INVALID_CONTEXT, result.CUDA_ERROR_INVALID_CONTEXT),
        (launcher._INVALID_HANDLE, result.CUDA_ERROR_INVALID_HANDLE),
        (launcher._OUT_OF_RESOURCES, result.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
        (launcher._COOPERATIVE_TOO_LARGE, result.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE),
        (
            arrays._POINTER_ORDINAL,
            bindings.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ),
    ]
    assert [ours for ours, _ in expected] == [int(theirs) for _, theirs in expected]
    assert int(result.CUDA_ERROR_ILLEGAL_ADDRESS) in errors._FAULTS
    assert int(result.CUDA_ERROR_INVALID_VALUE) not in errors._FAULTS


def test_the_configuration_of_a_launch_lies_in_memory_as_the_driver_wants_it():
    bindings = pytest.importorskip("cuda.bindings.driver")
    config = bindings.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = 3, 5, 7
    config.blockDimX, config.blockDimY, config.blockDimZ = 128, 2, 1
    config.sharedMemBytes, config.hStream = 4096, bindings.CUstream(0x1122334455667788)
    packed = struct.pack(packing._CONFIG, 3, 5, 7, 128, 2, 1, 4096, 0x1122334455667788, 0, 0)
    assert ctypes.string_at(config.getPtr(), packing._CONFIG_BYTES) == packed


def test_the_attributes_of_a_launch_lie_in_memory_as_the_driver_wants_them():
    bindings = pytest.importorskip("cuda.bindings.driver")
    ours = bytes(launcher._launch_attributes((2, 4, 1), cooperative=True, pdl=True))
    names = bindings.CUlaunchAttributeID
    theirs = []
    for which, field, value in (
        (
            names.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            "programmaticStreamSerializationAllowed",
            1,
        ),
        (names.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, "cooperative", 1),
        (names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, "clusterDim", (2, 4, 1)),
        (
            names.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
            "clusterSchedulingPolicyPreference",
            bindings.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
        ),
    ):
        attribute = bindings.CUlaunchAttribute()
        attribute.id = which
        if isinstance(value, tuple):
            sizes = attribute.value.clusterDim
            sizes.x, sizes.y, sizes.z = value
        else:
            setattr(attribute.value, field, value)
        theirs.append(ctypes.string_at(attribute.getPtr(), launcher._ATTRIBUTE_BYTES))
    assert ours == b"".join(theirs)
