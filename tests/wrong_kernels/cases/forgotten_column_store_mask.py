"""Masks the rows of a block when it stores, but not its columns."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    block = row * columns + column
    x = tl.load(x_ptr + block, mask=(row < rows) & (column < columns), other=0.0)
    tl.store(out_ptr + block, x * 2.0, mask=row < rows)


@tw.jit
def fixed(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    block = row * columns + column
    x = tl.load(x_ptr + block, mask=(row < rows) & (column < columns), other=0.0)
    tl.store(out_ptr + block, x * 2.0, mask=(row < rows) & (column < columns))


def launch(kernel):
    x = np.arange(35 * 20, dtype=np.float32).reshape(35, 20)
    out = np.zeros((36, 20), np.float32)  # a row more: what is past the last one stays inside
    with tw.running(check_races=True):
        kernel[(3,)](x, out, 35, 20, ROWS=16, COLUMNS=32)
    return out[:35], x * 2
