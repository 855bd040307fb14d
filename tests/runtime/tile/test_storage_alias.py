"""Buffers that share storage share bytes in a run, too."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.targets.numpy import NumpyFault


def kernel(reads_first: bool):
    @tw.jit(out_idx=[-1])
    def factory():
        @T.prim_func
        def main(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=32):
                spec = T.storage_alias_spec()
                one = T.alloc_shared((8,), "float32", reuse=spec)
                other = T.alloc_shared((8,), "float32", reuse=spec)
                spec.set_buffer_overlap(T.reuse_group(one, other))
                kept = T.alloc_fragment((8,), "float32")
                T.copy(X, one)
                if reads_first:
                    T.copy(one, kept)
                T.fill(other, 3.0)
                if not reads_first:
                    T.copy(one, kept)
                for i in T.Parallel(8):
                    Y[i] = kept[i] + other[i]

        return main

    return factory()


def test_a_buffer_may_take_the_place_of_one_that_is_done() -> None:
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(kernel(reads_first=True)(x), x + 3)


def test_what_another_buffer_overwrote_is_not_read() -> None:
    with pytest.raises(NumpyFault, match="one"):
        kernel(reads_first=False)(np.arange(8, dtype=np.float32))
