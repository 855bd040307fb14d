"""Returns from the middle of a loop."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x < 0:
            tl.store(out_ptr, i)
            return


@tw.jit
def fixed(x_ptr, out_ptr, n):
    found = n
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x < 0:
            found = min(found, i)
    tl.store(out_ptr, found)


def launch(kernel):
    x = np.array([1, 2, 3, -1, 5, -2], np.float32)
    out = np.zeros(1, np.int32)
    kernel[(1,)](x, out, 6)
    return out, np.array([3], np.int32)
