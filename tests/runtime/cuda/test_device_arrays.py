"""Arrays on a GPU, from whichever library: where they are and what they hold."""

import sys
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.cuda.fake_torch import Parameter, Tensor, fake_torch
from tilewright.runtime.cuda.arrays import TORCH_ELEMENTS, device_array
from tilewright.runtime.cuda.streams import current_stream, stream_handle


class CudaArray:
    """What `__cuda_array_interface__` shows, and what CuPy has besides."""

    def __init__(self, interface, **others):
        self.__cuda_array_interface__ = interface
        self.__dict__.update(others)


class Exported:
    """Memory of NumPy that says it is on a GPU, by DLPack."""

    def __init__(self, array, kind=2, index=1):
        self.array, self.device = array, (kind, index)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream):
        assert stream == -1  # nobody waits
        return self.array.__dlpack__()


def facts(array):
    return (
        array.address,
        array.element,
        array.shape,
        array.strides,
        array.element_bytes,
        array.device,
    )


def test_tensors_of_torch_are_asked_directly():
    torch = fake_torch()
    tensor = Tensor(0x100, (4, 8), torch.bfloat16, 1)
    assert facts(device_array(tensor)) == (0x100, "bf16", (4, 8), (8, 1), 2, 1)
    assert device_array(Parameter(0x100, (4,), torch.float32)).element == "fp32"
    assert device_array(Tensor(0x100, (4,), torch.float32, -1)) is None
    with pytest.raises(TypeError, match=r"unsupported tensor element type torch\.complex64"):
        device_array(Tensor(0x100, (4,), torch.complex64))


def test_every_element_type_of_torch_has_a_name_of_ours():
    from tilewright.runtime.arrays import _DTYPE_NAMES

    assert set(TORCH_ELEMENTS.values()) == set(_DTYPE_NAMES.values())


def test_the_array_interface_is_read(cuda):
    cuda.device = 3
    interface = {"data": (0x200, False), "shape": (4, 8), "typestr": "<i4", "strides": (64, 8)}
    assert facts(device_array(CudaArray(interface))) == (0x200, "i32", (4, 8), (16, 2), 4, 3)
    interface["strides"] = None
    assert device_array(CudaArray(interface)).strides == (8, 1)


def test_cupy_says_more_than_its_interface():
    array = CudaArray(
        {"data": (0x200, False), "shape": (4,), "typestr": "<V2"},
        dtype=np.dtype(ml_dtypes.bfloat16),
        device=SimpleNamespace(id=2),
    )
    assert facts(device_array(array)) == (0x200, "bf16", (4,), (1,), 2, 2)


def test_an_empty_array_has_no_address():
    found = device_array(CudaArray({"data": (0, False), "shape": (0,), "typestr": "<f4"}))
    assert (found.address, found.shape) == (0, (0,))


@pytest.mark.parametrize(
    ("dtype", "element"),
    [("f2", "fp16"), ("f8", "fp64"), ("i1", "i8"), ("u4", "u32"), ("?", "i1")],
)
def test_dlpack_is_read(dtype, element):
    memory = np.zeros((6, 8), dtype)
    view = memory[1::2, 2:]
    found = device_array(Exported(view))
    assert found.address == view.ctypes.data
    assert (found.element, found.shape, found.strides) == (element, (3, 6), (16, 1))
    assert (found.element_bytes, found.device) == (memory.itemsize, 1)


def test_dlpack_of_other_devices_is_no_memory_of_a_gpu():
    assert device_array(Exported(np.zeros(3), kind=1)) is None
    assert device_array(np.zeros(3)) is None
    assert device_array(3) is None


def test_dlpack_of_unknown_elements_is_refused():
    with pytest.raises(TypeError, match="element type: code 5, 64 bits"):
        device_array(Exported(np.zeros(3, np.complex64)))


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (0, 0),
        (0x77, 0x77),
        (SimpleNamespace(cuda_stream=5), 5),
        (SimpleNamespace(ptr=6), 6),
        (SimpleNamespace(handle=SimpleNamespace(value=7)), 7),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 8)), 8),
        (SimpleNamespace(__cuda_stream__=(0, 9)), 9),
        (np.int64(10), 10),
    ],
)
def test_streams_of_all_libraries_have_a_handle(stream, handle):
    assert stream_handle(stream) == handle


def test_what_is_no_stream_is_refused():
    with pytest.raises(TypeError, match=r"expected a torch, CuPy or cuda-core stream, .* got str"):
        stream_handle("main")


def test_the_current_stream_is_torchs_then_cupys_then_the_default(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert current_stream(0) == 0
    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0x33))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert current_stream(0) == 0x33
    torch = fake_torch(stream=0x44)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert current_stream(1) == 0x45
    torch.cuda.is_initialized = lambda: False
    assert current_stream(1) == 0x33
