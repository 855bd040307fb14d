"""What reaches the driver when a kernel is launched: every byte of configuration and parameters."""

from __future__ import annotations

import math
import struct
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from tests.runtime.cuda.fake_driver import SIZES, Facts, FakeDriver, MapFacts
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.cuda.errors import CudaError
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.descriptors import TensorDescriptor


def launcher_of(cuda: FakeDriver, *parameters: str, **facts) -> Launcher:
    cuda.sizes = [SIZES[each] for each in parameters]
    described = Facts(parameters, **facts)
    function = load(b"cubin", "kernel", described.shared, cluster=described.cluster)
    return Launcher(function, described)


def array(address: int, device: int = 0) -> DeviceArray:
    return DeviceArray(address, "fp16", (256, 256), (256, 1), 2, device, None)


@dataclass
class CudaArray:
    """What CuPy shows of its arrays."""

    address: int
    shape: tuple[int, ...] = (256, 256)
    typestr: str = "<f2"

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.address, False), "shape": self.shape, "typestr": self.typestr}


def test_the_configuration_is_what_the_driver_reads(cuda):
    launcher_of(cuda, "ptr", shared=4096, threads=256)((3, 5, 7), [array(0x100)], stream=0x77)
    (launch,) = cuda.launches
    assert launch.grid == (3, 5, 7)
    assert launch.block == (256, 1, 1)
    assert (launch.shared, launch.stream, launch.function) == (4096, 0x77, 0x3000)
    assert launch.attributes == []


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("ptr", 0x7F00_0000_1230, struct.pack("<Q", 0x7F00_0000_1230)),
        ("ptr", None, bytes(8)),
        ("i1", True, b"\1"),
        ("i1", False, b"\0"),
        ("i8", -3, b"\xfd"),
        ("i16", -2, b"\xfe\xff"),
        ("i32", -5, struct.pack("<i", -5)),
        ("i32", 2**32 - 5, struct.pack("<i", -5)),
        ("i64", -(2**63), struct.pack("<q", -(2**63))),
        ("i64", 2**64 - 1, b"\xff" * 8),
        ("u8", 255, b"\xff"),
        ("u16", 65535, b"\xff\xff"),
        ("u32", 2**32 - 1, b"\xff" * 4),
        ("u64", 2**64 - 1, b"\xff" * 8),
        ("i32", np.int32(9), struct.pack("<i", 9)),
        ("f16", 0.333, struct.pack("<e", 0.333)),
        ("f16", 1e9, struct.pack("<e", math.inf)),
        ("f32", 0.1, struct.pack("<f", 0.1)),
        ("f32", -1e300, struct.pack("<f", -math.inf)),
        ("f32", 3, struct.pack("<f", 3.0)),
        ("f64", 0.1, struct.pack("<d", 0.1)),
        ("bf16", 1.0, b"\x80\x3f"),
        ("bf16", 1.00390625, b"\x80\x3f"),  # half way: to even
        ("bf16", 1.01171875, b"\x82\x3f"),  # half way: to even
        ("bf16", -math.inf, b"\x80\xff"),
        ("bf16", 1e300, b"\x80\x7f"),
        ("bf16", math.nan, b"\xc0\x7f"),
    ],
)
def test_every_kind_of_parameter_arrives_as_its_bytes(cuda, kind, value, expected):
    launcher_of(cuda, "i8", kind, "i8")((1,), [17, value, -17])
    (launch,) = cuda.launches
    assert launch.parameters == [b"\x11", expected, b"\xef"]


@pytest.mark.parametrize(("kind", "value"), [("i32", 2**32), ("i8", -129), ("i64", 2**64)])
def test_a_number_that_does_not_fit_is_refused(cuda, kind, value):
    with pytest.raises(OverflowError, match=f"{value} does not fit"):
        launcher_of(cuda, kind)((1,), [value])
    assert cuda.launches == []


def test_a_tensor_map_is_passed_by_value_and_aligned(cuda):
    launcher = launcher_of(
        cuda,
        *("i32", "tensormap", "i32", "i32", "i64", "i64", "ptr", "tensormap"),
        tensor_maps=(MapFacts(), MapFacts(box=(32, 32), swizzle_bytes=64)),
    )
    base = CudaArray(0x7000)
    descriptor = TensorDescriptor(base, [200, 256], [256, 1], [64, 128])
    launcher((1,), [7, descriptor, 200, 256, 256, 1, base, b"z" * 128])
    (launch,) = cuda.launches
    assert launch.parameters[0] == struct.pack("<i", 7)
    assert launch.parameters[1] == b"\1" * 128
    assert launch.parameters[2:6] == [
        *(struct.pack("<i", each) for each in (200, 256)),
        *(struct.pack("<q", each) for each in (256, 1)),
    ]
    assert launch.parameters[6:] == [struct.pack("<Q", 0x7000), b"z" * 128]
    assert launch.addresses[1] % 64 == launch.addresses[7] % 64 == 0
    assert cuda.maps == [
        {
            "type": 6,
            "rank": 2,
            "address": 0x7000,
            "shape": [256, 200],
            "strides": [512],
            "box": [64, 64],
            "steps": [1, 1],
            "interleave": 0,
            "swizzle": 3,
            "promotion": 2,
            "fill": 0,
        }
    ]


def test_hidden_parameters_are_null_when_nothing_is_asked_for(cuda):
    launcher_of(cuda, "ptr", "scratch", "profile")((1,), [array(0x10)])
    assert cuda.launches[0].parameters == [struct.pack("<Q", 0x10), bytes(8), bytes(8)]
    assert "cuMemAllocAsync" not in cuda.names()


def test_scratch_memory_is_for_all_blocks_and_given_back_behind_the_launch(cuda):
    launcher = launcher_of(
        cuda, "scratch", "profile", scratch_bytes=96, scratch_align=128, num_ctas=2
    )
    cuda.calls.clear()
    launcher((3, 2), [], stream=5)
    names = [name for name in cuda.names() if name.startswith(("cuMem", "cuLaunch"))]
    assert names == ["cuMemAllocAsync", "cuLaunchKernelEx", "cuMemFreeAsync"]
    allocation = dict(cuda.calls)["cuMemAllocAsync"]
    assert allocation[1].value == 3 * 2 * 2 * 96
    assert allocation[2].value == 5
    assert cuda.launches[0].parameters == [struct.pack("<Q", 0x7F0000000100), bytes(8)]


def test_clusters_cooperation_and_early_start_are_attributes(cuda):
    launcher_of(cuda, "i32", cluster=(2, 1, 1), num_ctas=2, cooperative=True, pdl=True)(
        (3, 1, 1), [1]
    )
    (launch,) = cuda.launches
    assert launch.grid == (6, 1, 1)
    assert [struct.unpack("<I4xi", each[:12]) for each in launch.attributes] == [
        (6, 1),
        (2, 1),
        (4, 2),
        (5, 1),
    ]
    assert struct.unpack("<3I", launch.attributes[2][8:20]) == (2, 1, 1)


def test_a_cluster_without_programs_of_several_blocks_leaves_the_grid_alone(cuda):
    launcher_of(cuda, "i32", cluster=(2, 1, 1))((4,), [1])
    assert cuda.launches[0].grid == (4, 1, 1)


def test_an_empty_grid_launches_nothing(cuda):
    launcher_of(cuda, "i32")((4, 0), [1])
    assert cuda.launches == []


def test_nothing_waits_and_nothing_is_allocated_in_a_launch(cuda):
    launcher = launcher_of(cuda, "ptr", "i32")
    launcher((1,), [array(0x10), 1], stream=3)
    cuda.calls.clear()
    launcher.launch(3, 1, 1, 1, 0x10, 1)
    assert cuda.names() == ["cuLaunchKernelEx"]


def test_launches_of_several_threads_do_not_share_a_block(cuda):
    launcher = launcher_of(cuda, "i64", "i64")

    def many(first):
        for step in range(200):
            launcher((1,), [first + step, -(first + step)], stream=1)

    threads = [threading.Thread(target=many, args=(at * 1000,)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    seen = sorted(
        tuple(struct.unpack("<q", each)[0] for each in launch.parameters)
        for launch in cuda.launches
    )
    assert seen == sorted((at * 1000 + s, -(at * 1000 + s)) for at in range(4) for s in range(200))


def test_a_wrong_number_of_values_is_refused(cuda):
    with pytest.raises(TypeError, match=r"takes 2 parameters \(ptr, i32\), got 1"):
        launcher_of(cuda, "ptr", "i32", "scratch")((1,), [array(0x10)])


def test_a_kernel_that_records_a_profile_is_refused(cuda):
    with pytest.raises(ValueError, match="kernel is instrumented for Triton's Proton"):
        launcher_of(cuda, "scratch", "profile", profile_bytes=64)


def test_host_memory_is_refused(cuda):
    with pytest.raises(
        ValueError, match=r"parameter 1 of kernel is a numpy\.ndarray in host memory"
    ):
        launcher_of(cuda, "ptr", "ptr")((1,), [array(0x10), np.zeros(3)])


def test_memory_of_another_device_is_refused(cuda):
    with pytest.raises(ValueError, match=r"parameter 0 of kernel is on GPU 1.* loaded on GPU 0"):
        launcher_of(cuda, "ptr")((1,), [array(0x10, device=1)])


def test_a_thread_without_a_context_gets_the_primary_one(cuda):
    launcher = launcher_of(cuda, "i32")
    cuda.context, cuda.fail["cuLaunchKernelEx"] = None, 201
    launcher((1,), [1])
    assert cuda.context == 0x1000
    assert len(cuda.launches) == 1


def test_a_failed_launch_says_what_did_not_fit(cuda):
    launcher = launcher_of(cuda, "i32", cluster=(2, 1, 1))
    cuda.fail["cuLaunchKernelEx"] = 1
    with pytest.raises(CudaError) as caught:
        launcher((3,), [1])
    assert str(caught.value) == (
        "CUDA error 1 (CUDA_ERROR_INVALID_VALUE) in cuLaunchKernelEx: invalid argument\n"
        "  kernel kernel, grid (3, 1, 1). Axis 0 of the grid has 3 blocks, not a multiple "
        "of the cluster size 2."
    )
    assert caught.value.status == 1
    cuda.fail["cuLaunchKernelEx"] = 701
    with pytest.raises(
        CudaError, match="128 threads with 168 registers each and 1024 bytes of shared"
    ):
        launcher((2,), [1])


@pytest.mark.parametrize("status", [1, 912])
def test_a_grid_that_does_not_fit_its_clusters_is_named_whatever_the_driver_calls_it(cuda, status):
    launcher = launcher_of(cuda, "i32", cluster=(1, 4, 1))
    cuda.fail["cuLaunchKernelEx"] = status
    with pytest.raises(CudaError) as caught:
        launcher((2, 6), [1])
    assert "Axis 1 of the grid has 6 blocks, not a multiple of the cluster size 4." in str(
        caught.value
    )


def test_a_fault_names_the_launches_before_it(cuda):
    launcher = launcher_of(cuda, "i32")
    launcher((1,), [1])
    cuda.fail["cuModuleLoadData"] = 700
    with pytest.raises(CudaError) as caught:
        load(b"cubin", "other")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(
        "CUDA error 700 (CUDA_ERROR_ILLEGAL_ADDRESS) in cuModuleLoadData: an"
    )
    assert lines[1].startswith("  The failing kernel was launched earlier.")
    code = test_a_fault_names_the_launches_before_it.__code__
    assert lines[2] == f"    kernel, launched at {__file__}:{code.co_firstlineno + 2}"


def test_blocking_launches_wait_and_name_the_kernel(cuda, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CUDA_BLOCKING", "1")
    launcher = launcher_of(cuda, "i32")
    launcher((1,), [1], stream=9)
    assert cuda.names()[-1] == "cuStreamSynchronize"
    cuda.fail["cuStreamSynchronize"] = 700
    with pytest.raises(CudaError, match=r"in cuStreamSynchronize.*\n  after kernel kernel\n"):
        launcher((1,), [1], stream=9)
