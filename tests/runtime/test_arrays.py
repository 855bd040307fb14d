"""Arrays of several libraries as memory of this machine."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.runtime.arrays import element_name, host_array, is_array


def test_numpy_arrays_are_taken_as_they_are():
    array = np.arange(6).reshape(2, 3)[:, ::2]
    assert host_array(array).array is array


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (np.bool_, "i1"),
        (np.uint8, "u8"),
        (np.int64, "i64"),
        (np.float16, "fp16"),
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "fp8e4nv"),
        (ml_dtypes.float8_e5m2, "fp8e5"),
    ],
)
def test_element_types_have_the_names_of_kernels(dtype, name):
    assert element_name(np.dtype(dtype)) == name


def test_an_element_type_without_a_name_is_explained():
    with pytest.raises(TypeError, match=r"unsupported array element type complex128.*float32"):
        element_name(np.dtype(np.complex128))


class _Exporter:
    """An array of another library: all it offers is DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_shares_memory_that_can_be_written():
    array = np.zeros(4, np.float32)
    host = host_array(_Exporter(array))
    host.array[2] = 7
    assert array.tolist() == [0, 0, 7, 0]


class _OnDevice:
    """Stands for a CuPy array: its memory is somewhere else."""

    __cuda_array_interface__ = {}

    def __init__(self, values):
        self.values = np.array(values)

    def get(self):
        return self.values.copy()

    def set(self, values):
        self.values[...] = values


def test_arrays_on_a_device_are_copied_here_and_back_and_that_is_said_once():
    array = _OnDevice([1, 2])
    with pytest.warns(UserWarning, match="CuPy arrays are copied to the host"):
        host = host_array(array)
    host.array[0] = 9
    assert array.values.tolist() == [1, 2]
    host.finish()
    assert array.values.tolist() == [9, 2]
    host_array(array)  # a second warning would be an error


def test_a_device_array_that_cannot_be_copied_is_refused():
    class Opaque:
        __cuda_array_interface__ = {}

    with pytest.raises(TypeError, match=r"cannot copy .* to the host"):
        host_array(Opaque())


def test_numbers_and_lists_are_no_arrays():
    assert not is_array(3)
    assert not is_array([1, 2])
    assert is_array(np.zeros(1))


@tw.jit
def _add_pairs(pairs, out):
    i = tl.arange(0, 4)
    tl.store(out[0] + i, tl.load(pairs[0] + i) + tl.load(pairs[1][0] + i) * pairs[1][1])


def test_arrays_of_other_libraries_inside_tuples_are_arrays():
    first, second, out = np.arange(4.0, dtype=np.float32), np.ones(4, np.float32), np.zeros(4, "f4")
    pairs = (_Exporter(first), (_Exporter(second), 3))
    _add_pairs[(1,)](pairs, (_Exporter(out),))
    assert out.tolist() == [3, 4, 5, 6]


@tw.jit
def _load_window(window, out):
    tl.store(out, tl.sum(window.load([0, 0])))


@pytest.mark.parametrize(("extent", "fix"), [(48, 64), (0, 1), (-16, 1), (16.5, 16), (3, 4)])
@pytest.mark.parametrize("late", [False, True])
def test_a_descriptor_block_that_is_not_a_power_of_two_is_told_at_the_launch(extent, fix, late):
    window = tw.TensorDescriptor.from_tensor(
        np.ones((64, 64), np.float32), [16, 16] if late else [16, extent]
    )
    window.block_shape = [16, extent]
    with pytest.raises(ValueError, match="is not a power of two") as caught:
        _load_window[(1,)](window, np.zeros(1, np.float32))
    assert (
        f"argument 'window': extent {extent} of dimension 1 of the descriptor's block "
        f"[16, {extent}] is not a power of two: use {fix}"
    ) in str(caught.value)
    assert f"{__file__}:" in str(caught.value)
