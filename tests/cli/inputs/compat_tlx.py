"""The kernel of `tlx` as it is written for TLX: one scaled array, by way of two buffers that share their storage."""

import numpy as np
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    first = tlx.local_alloc((BLOCK,), tl.float32, 1, reuse=spec)
    second = tlx.local_alloc((BLOCK,), tl.float16, 1, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(first, second, group_type=tlx.reuse_group_type.shared))
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tlx.local_store(first[0], tl.load(x_ptr + offsets, mask=inside, other=0.0) * 2)
    doubled = tlx.local_load(first[0])
    tlx.local_store(second[0], doubled.to(tl.float16))
    tl.store(out_ptr + offsets, tlx.local_load(second[0]).to(tl.float32), mask=inside)


x = np.ones(100, np.float32)
out = np.zeros_like(x)
scale[(1,)](x, out, 100)
