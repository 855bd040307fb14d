"""Inputs that the profiler makes lie on the GPU that the kernel is compiled for."""

import ctypes
import sys
from dataclasses import dataclass, field
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import FakeDriver
from tilewright import T
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.cuda.memory import DeviceMemory
from tilewright.runtime.tile import profiler as profiler_module
from tilewright.runtime.tile.tensors import in_framework


@dataclass
class DriverWithMemory(FakeDriver):
    """A driver whose memory is that of this machine."""

    memory: dict[int, object] = field(default_factory=dict)

    def _cuMemAlloc_v2(self, address, size):
        room = ctypes.create_string_buffer(size.value + 256)
        place = -(-ctypes.addressof(room) // 256) * 256
        self.memory[place] = room
        self._set(address, place)

    def _cuMemFree_v2(self, address):
        del self.memory[address.value]

    def _move(self, to, source, size):
        ctypes.memmove(to.value, source.value, size.value)

    _cuMemcpyHtoD_v2 = _cuMemcpyDtoH_v2 = _cuMemcpyDtoD_v2 = _move


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    fake = DriverWithMemory(sizes=[8, 8])
    with using(fake):
        yield fake


def doubled(dtype="float32", target="cuda:sm_90a"):
    @T.prim_func
    def main(A: T.Tensor((128,), dtype), B: T.Tensor((128,), dtype)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                B[i] = A[i] + A[i]

    return tw.compile(main, out_idx=-1, target=target)


def test_the_profiler_times_the_gpu_and_not_numpy(gpu, monkeypatch):
    """Without torch there was no array of a GPU to make, and NumPy was timed."""
    timed = []
    monkeypatch.setattr(profiler_module, "do_bench", lambda run, *_, **__: timed.append(run) or 1.0)
    kernel = doubled()
    monkeypatch.setattr(kernel, "launch", lambda values: pytest.fail("it runs on the host"))
    kernel.get_profiler().do_bench()
    (run,) = timed
    result = run()
    (launch,) = gpu.launches
    assert isinstance(result, DeviceMemory)
    assert int.from_bytes(launch.parameters[1], "little") == result.address


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int8", "float8_e4m3fn", "float8_e5m2"]
)
def test_inputs_on_the_gpu_hold_what_those_on_the_host_hold(gpu, dtype):
    (here,) = doubled(dtype, target="numpy").get_profiler().inputs()
    (there,) = doubled(dtype).get_profiler().inputs()
    assert isinstance(here, np.ndarray)
    assert isinstance(there, DeviceMemory)
    assert np.asarray(there).tobytes() == here.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_arrays_on_the_gpu_of_every_element_type_are_taken(gpu, dtype):
    """NumPy has no name for float8_e5m2, and makes no view of it with other strides."""
    kernel = doubled(dtype)
    (given,) = kernel.get_profiler().inputs()
    result = kernel(given)
    (launch,) = gpu.launches
    assert int.from_bytes(launch.parameters[1], "little") == result.address
    assert result.dtype == given.dtype


def test_a_reference_gets_arrays_of_the_host(gpu):
    kernel = doubled()

    def reference(a):
        assert isinstance(a, np.ndarray)
        return np.zeros_like(a)

    with pytest.raises(AssertionError, match="main, result 0 and reference differ"):
        result = DeviceMemory.of(np.ones(128, np.float32))
        kernel.gpu.device.run = lambda plan, values: None
        kernel.gpu._with_outputs = lambda call, arguments, given: ([result], [*given, None])
        kernel.get_profiler().assert_allclose(reference)


def test_memory_of_a_gpu_is_copied_and_given_back(gpu):
    first = DeviceMemory.of(np.arange(6, dtype=np.int16).reshape(2, 3))
    second = first.copy()
    first.set(np.zeros((2, 3), np.int16))
    assert (second.get() == np.arange(6).reshape(2, 3)).all()
    assert np.asarray(second, np.float32).sum() == 15
    assert len(gpu.memory) == 2
    empty = DeviceMemory.of(np.zeros((0, 4), np.float32))
    assert empty.get().shape == (0, 4)
    del first, second, empty
    assert gpu.memory == {}


class _Tensor:
    """As much of a torch tensor as is asked for: it takes NumPy's own types only."""

    def __init__(self, array, device="cpu"):
        assert array.dtype.type.__module__ == "numpy", f"torch has no arrays of {array.dtype}"
        self.array, self.device, self.dtype = array, device, None

    def to(self, device):
        assert self.dtype is None, "small floats are moved as bits"
        return _Tensor(self.array, device)

    def view(self, dtype):
        self.dtype = dtype
        return self


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "int32"])
def test_small_floats_become_tensors_of_torch_by_their_bits(monkeypatch, dtype):
    torch = ModuleType("torch")
    torch.from_numpy = _Tensor
    vars(torch).update({dtype: dtype})
    monkeypatch.setitem(sys.modules, "torch", torch)
    values = np.arange(4).astype(np.float32).astype(T.dtype(dtype).as_numpy())
    tensor = in_framework(values, T.dtype(dtype), "cuda")
    assert tensor.device == "cuda"
    assert tensor.array.tobytes() == values.tobytes()
    assert tensor.dtype == (dtype if values.dtype.type.__module__ == ml_dtypes.__name__ else None)
