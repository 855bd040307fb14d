"""Views of arrays of every element type."""

import ml_dtypes
import numpy as np
import pytest

from tilewright.targets.numpy.strided_view import strided_view


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.int8, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2],
)
def test_a_view_with_strides_of_its_own(dtype):
    array = np.arange(12).astype(dtype)
    view = strided_view(array, (3, 2), (4 * array.itemsize, array.itemsize))
    assert view.dtype == array.dtype
    elements = array.astype(int)
    np.testing.assert_array_equal(view.astype(int), elements[[[0, 1], [4, 5], [8, 9]]])
    view[1, 1] = 0
    assert int(array[5]) == 0
