"""Whether two results agree, except for a small part of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.runtime.arrays import NumpyArray, host_array, is_array
from tilewright.runtime.tile.tensors import is_torch, on_host


def assert_close(
    actual: Any,
    expected: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    *,
    equal_nan: bool = True,
    base_name: str = "result",
    ref_name: str = "reference",
) -> None:
    """Raise AssertionError if more than the given part of the elements differ.

    An element agrees if it is within ``atol + rtol * |expected|``.
    """
    mismatched = _mismatched_in_torch(actual, expected, rtol, atol, equal_nan=equal_nan)
    if mismatched is not None and mismatched <= max_mismatched_ratio * actual.numel():
        return  # wrong values are compared individually, on the host
    found, reference = _comparable(actual), _comparable(expected)
    if found.shape != reference.shape:
        raise AssertionError(
            f"{base_name} has shape {found.shape}, {ref_name} has shape {reference.shape}"
        )
    agree = np.isclose(found, reference, rtol=rtol, atol=atol, equal_nan=equal_nan)
    mismatched = int(agree.size - np.count_nonzero(agree))
    if mismatched <= max_mismatched_ratio * agree.size:
        return
    first = tuple(int(index) for index in np.argwhere(~agree)[0])
    with np.errstate(invalid="ignore"):
        greatest = float(np.fmax.reduce(np.abs(found - reference), axis=None, initial=0.0))
    raise AssertionError(
        f"{base_name} and {ref_name} differ in {mismatched} of {agree.size} elements "
        f"({mismatched / agree.size:.2%}, {max_mismatched_ratio:.2%} are allowed) with "
        f"rtol={rtol:g}, atol={atol:g}: the first at {list(first)} is {found[first]:g} instead of "
        f"{reference[first]:g}, the greatest difference is {greatest:g}"
    )


def _mismatched_in_torch(
    actual: Any, expected: Any, rtol: float, atol: float, *, equal_nan: bool
) -> int | None:
    """How many elements differ, computed by torch on the tensors' device; None if that is not
    possible.

    Results on a GPU are large, and take longer to copy to the host than to compute.
    """
    if not is_torch(actual) or not is_torch(expected):
        return None
    is_fit = all(
        each.is_floating_point() and each.element_size() <= 4 for each in (actual, expected)
    )
    if not is_fit or actual.device != expected.device or actual.shape != expected.shape:
        return None
    agree = actual.float().isclose(expected.float(), rtol=rtol, atol=atol, equal_nan=equal_nan)
    return actual.numel() - int(agree.sum())


def _comparable(value: Any) -> NumpyArray:
    """`value` as floats that hold all of its values, or nearly so for 64-bit integers."""
    array = host_array(on_host(value)).array if is_array(value) else np.asarray(value)
    small = array.dtype.kind == "V" or (array.dtype.kind == "f" and array.itemsize <= 4)
    return array.astype(np.float32 if small else np.float64)
