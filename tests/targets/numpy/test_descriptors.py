"""Host-made descriptors that do not fit their array, and some that do."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.targets.numpy.api import Buffer, Descriptor, NumpyFault
from tilewright.targets.numpy.buffers import region_of
from tilewright.targets.numpy.descriptors import check_descriptor

# Large arrays are aligned to pages; the views below count on the first element's address.
WHOLE = np.zeros((64, 64), np.float32)


def check(array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    buffer = Buffer("a", array)
    check_descriptor(Descriptor(buffer, shape, strides), region_of(buffer), None)


@pytest.mark.parametrize(
    ("array", "shape", "strides"),
    [
        (WHOLE, (64, 64), (64, 1)),
        (WHOLE, (64, 3), (64, 1)),
        (WHOLE, (4096,), (1,)),
        (WHOLE[:, 4:32], (64, 28), (64, 1)),
        (WHOLE, (0, 64), (64, 1)),
    ],
)
def test_a_descriptor_that_fits(array, shape, strides):
    check(array, shape, strides)


@pytest.mark.parametrize(
    ("array", "shape", "strides", "problem"),
    [
        (WHOLE, (65, 64), (64, 1), "it reaches 64 elements past the end"),
        (WHOLE, (64, 65), (64, 1), "it reaches 1 element past the end"),
        (WHOLE, (64, 64), (1, 64), "the last stride is 64, not 1"),
        (WHOLE, (64, 10), (10, 1), "stride 0 is 40 bytes, not a multiple of 16"),
        (WHOLE, (64, 64), (64,), "2 extents but 1 strides"),
        (WHOLE[:, 1:], (64, 63), (64, 1), "base address is 4 bytes past a multiple of 16"),
    ],
)
def test_a_descriptor_that_does_not_fit(array, shape, strides, problem):
    with pytest.raises(NumpyFault) as fault:
        check(array, shape, strides)
    assert fault.value.diagnostic.message == f"descriptor of a: {problem}"
    assert fault.value.diagnostic.code == "TW6110"


def test_the_whole_message():
    with pytest.raises(NumpyFault) as fault:
        check(WHOLE, (65, 64), (64, 1))
    assert str(fault.value).splitlines() == [
        "error[TW6110]: descriptor of a: it reaches 64 elements past the end",
        "  note: it has shape (65, 64) and strides (64, 1)",
        "  note: a is float32 with shape (64, 64)",
        "  note: reduce the shape or strides: a has 4096 elements",
    ]
