"""Returns a float from one way through a helper and an integer from the other."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong_sign(x):
    if x < 0:
        return -1.0
    return 1


@tw.jit
def sign(x):
    if x < 0:
        return -1.0
    return 1.0


@tw.jit
def wrong(x_ptr, out_ptr):
    tl.store(out_ptr, wrong_sign(tl.load(x_ptr)))


@tw.jit
def fixed(x_ptr, out_ptr):
    tl.store(out_ptr, sign(tl.load(x_ptr)))


def launch(kernel):
    x = np.full(1, -2.5, np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out)
    return out, -np.ones(1, np.float32)
