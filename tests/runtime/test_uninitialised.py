"""Arrays without values, and the launch that has to give them some."""

import gc

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.runtime.uninitialised import empty, is_fresh, mark_initialised
from tilewright.targets.numpy.api import NumpyFault


@tw.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, np.nan), (np.int16, -1)])
def test_what_is_not_written_can_be_seen(dtype, bits):
    out = empty((3, 2), dtype)
    assert out.shape == (3, 2)
    np.testing.assert_array_equal(out, np.full((3, 2), bits, dtype))


def test_only_the_array_itself_is_fresh():
    out = empty(8)
    assert is_fresh(out)
    assert not is_fresh(out[1:])
    assert not is_fresh(out.copy())
    mark_initialised(out)
    assert not is_fresh(out)


def test_nothing_is_kept_alive():
    from tilewright.runtime import uninitialised

    before = len(uninitialised._fresh)
    out = empty(8)
    assert len(uninitialised._fresh) == before + 1
    del out
    gc.collect()
    assert len(uninitialised._fresh) == before


def test_a_launch_that_covers_it_says_nothing():
    x = np.arange(100, dtype=np.float32)
    out = tw.empty(100)
    copy[(4,)](x, out, 100, BLOCK=32)
    np.testing.assert_array_equal(out, x)
    assert not is_fresh(out)


def test_a_grid_that_is_too_small_is_told_once():
    x = np.arange(100, dtype=np.float32)
    out = tw.empty(100)
    with pytest.warns(
        UserWarning, match=r"4 of 100 elements of out_ptr were never written"
    ) as told:
        copy[(3,)](x, out, 100, BLOCK=32)
        copy[(3,)](x, out, 100, BLOCK=32)
    assert len(told) == 1
    assert told[0].filename == __file__
    np.testing.assert_array_equal(out[:96], x[:96])


def test_reading_it_is_a_fault():
    out = np.zeros(32, np.float32)
    with pytest.raises(NumpyFault, match=r"uninitialised load: x_ptr\[0\] has not been written"):
        copy[(1,)](tw.empty(32), out, 32, BLOCK=32)


def test_a_kernel_that_reads_it_on_purpose_says_so():
    @tw.jit(check_uninitialised=False)
    def first_half(x_ptr, out_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)  # read, and not used
        tl.store(out_ptr + offsets, tl.where(offsets < 0, x, 1.0))

    out = np.zeros(32, np.float32)
    first_half[(1,)](tw.empty(32), out, BLOCK=32)
    assert (out == 1).all()
    with pytest.raises(NumpyFault, match="uninitialised load"):  # only that kernel
        copy[(1,)](tw.empty(32), out, 32, BLOCK=32)


def test_what_the_host_has_written_is_no_longer_fresh():
    array = tw.empty(4)
    assert is_fresh(array)
    array[1] = 3
    assert not is_fresh(array)
