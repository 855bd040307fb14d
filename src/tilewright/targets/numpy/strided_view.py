"""Views with strides of their own, of arrays of any element type.

NumPy rebuilds the element type from its name, and the name that `ml_dtypes` gives float8_e5m2
(`<f1`) is not one that NumPy reads. So the view has integers of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def strided_view(array: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
    """The memory from the first element of `array` on, with `strides` in bytes."""
    integers = array.view(f"u{array.itemsize}")
    return np.lib.stride_tricks.as_strided(integers, shape, strides).view(array.dtype)
