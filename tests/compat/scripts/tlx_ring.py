"""A ring of buffers between two tasks, as a script for TLX writes it."""

import numpy as np
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.language.extra.tlx.warp_spec import get_bufidx_phase
from triton.tools.tensor_descriptor import TensorDescriptor


def set_block_shape(nargs):
    nargs["source"].block_shape = [nargs["BM"], nargs["BK"]]


@triton.autotune(
    configs=[triton.Config({"BM": 64, "BK": 64}, num_warps=4, pre_hook=set_block_shape)],
    key=["tiles"],
)
@triton.jit
def doubled(source, target, tiles, BM: tl.constexpr, BK: tl.constexpr):
    buffers = tlx.local_alloc((BM, BK), tlx.dtype_of(source), 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_warp_barrier(2, num_warps=4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(tiles):
                i, phase = get_bufidx_phase(k, 2)
                tlx.barrier_wait(empty[i], phase ^ 1)
                tlx.barrier_expect_bytes(full[i], BM * BK * tlx.size_of(tlx.dtype_of(source)))
                tlx.async_descriptor_load(source, buffers[i], [0, k * BK], full[i])
        with tlx.async_task(num_warps=4, registers=96):
            rows = tl.arange(0, BM)
            columns = tl.arange(0, BK)
            for k in range(tiles):
                i, phase = get_bufidx_phase(k, 2)
                tlx.barrier_wait(full[i], phase)
                tile = tlx.local_load(buffers[i])
                tlx.barrier_arrive(empty[i])
                places = rows[:, None] * (tiles * BK) + k * BK + columns[None, :]
                tl.store(target + places, tile * 2)


source = np.arange(64 * 320, dtype=np.float16).reshape(64, 320)
target = np.zeros_like(source)
doubled[(1,)](TensorDescriptor(source, [64, 320], [320, 1], [1, 1]), target, 5)
np.testing.assert_array_equal(target, source * 2)
print("all good")
