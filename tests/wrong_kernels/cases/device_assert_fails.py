"""Breaks a rule that the kernel states about its data."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def gather(table_ptr, index_ptr, out_ptr, n):
    offsets = tl.program_id(0) * 16 + tl.arange(0, 16)
    index = tl.load(index_ptr + offsets)
    tl.device_assert(index < n, "index out of range")
    tl.store(out_ptr + offsets, tl.load(table_ptr + index))


def wrong(table, index, out):
    gather[(2,)](table, index, out, table.size, debug=True)


def fixed(table, index, out):
    gather[(2,)](table, index % table.size, out, table.size, debug=True)


def launch(run):
    table = np.arange(20, dtype=np.float32) * 2
    index = np.arange(32, dtype=np.int32)
    out = np.zeros(32, np.float32)
    run(table, index, out)
    return out, table[index % 20]
