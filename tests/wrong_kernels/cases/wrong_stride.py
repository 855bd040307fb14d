"""Uses the number of rows as the distance between rows."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def row_sums(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + j, mask=j < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def wrong(x, out):
    rows, columns = x.shape
    row_sums[(rows,)](x, out, rows, columns, BLOCK=32)


def fixed(x, out):
    rows, columns = x.shape
    row_sums[(rows,)](x, out, columns, columns, BLOCK=32)


def launch(run):
    x = np.arange(48 * 24, dtype=np.float32).reshape(48, 24)
    out = np.zeros(48, np.float32)
    run(x, out)
    return out, x.sum(axis=1)
