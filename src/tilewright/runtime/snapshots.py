"""Array contents in host or device memory: zeroed, or saved and restored.

Arrays on a GPU are changed by their own library, in the stream it works in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.runtime.arrays import host_array
from tilewright.runtime.cuda.arrays import device_array, is_torch


def make_zero(array: Any) -> None:
    if device_array(array) is None:
        host_array(array).array[...] = 0
    elif is_torch(array):
        array.detach().zero_()
    else:
        array[...] = 0


def snapshot(array: Any) -> Callable[[], object]:
    """A function that puts back what `array` holds now."""
    if device_array(array) is None:
        here = host_array(array).array
        saved = here.copy()
        return lambda: np.copyto(here, saved)
    if is_torch(array):
        before = array.detach().clone()
        return lambda: array.detach().copy_(before)
    copied = array.copy()
    return lambda: array.__setitem__(..., copied)
