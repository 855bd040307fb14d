"""Gathers rows with an index that is one too large."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def gather_rows(table_ptr, index_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    j = tl.arange(0, BLOCK)
    x = tl.load(table_ptr + row * width + j, mask=j < width)
    tl.store(out_ptr + tl.program_id(0) * width + j, x, mask=j < width)


def wrong(table, index, out):
    gather_rows[(index.size,)](table, index, out, table.shape[1], BLOCK=16)


def fixed(table, index, out):
    gather_rows[(index.size,)](table, index - 1, out, table.shape[1], BLOCK=16)


def launch(run):
    table = np.arange(50, dtype=np.float32).reshape(5, 10)
    index = np.array([1, 5, 3], np.int32)
    out = np.zeros((3, 10), np.float32)
    run(table, index, out)
    return out, table[index - 1]
