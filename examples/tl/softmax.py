"""Row-wise softmax in one pass: a row stays on chip between its maximum and its sum.

Programs are persistent: each takes rows `program_id, program_id + num_programs, ...`.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def softmax_kernel(
    out_ptr, in_ptr, in_stride, out_stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr
):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(in_ptr + row * in_stride + offsets, mask=inside, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        result = numerator / tl.sum(numerator, axis=0)
        tl.store(out_ptr + row * out_stride + offsets, result, mask=inside)


def softmax(x, programs=32):
    rows, columns = x.shape
    out = np.empty_like(x)
    in_stride, out_stride = x.strides[0] // x.itemsize, out.strides[0] // out.itemsize
    softmax_kernel[(min(programs, rows),)](
        out, x, in_stride, out_stride, rows, columns, BLOCK=tw.next_power_of_2(columns), STAGES=2
    )
    return out


def example(rng):
    """The result and what NumPy says in float64."""
    x = rng.standard_normal((203, 781), dtype=np.float32)
    exact = x.astype(np.float64)
    numerator = np.exp(exact - exact.max(axis=1, keepdims=True))
    return softmax(x), numerator / numerator.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
