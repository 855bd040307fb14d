"""Passes a Python list where the kernel takes a pointer."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def copy(x_ptr, out_ptr):
    offsets = tl.arange(0, 4)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def wrong(out):
    copy[(1,)]([1.0, 2.0, 3.0, 4.0], out)


def fixed(out):
    copy[(1,)](np.array([1.0, 2.0, 3.0, 4.0], np.float32), out)


def launch(run):
    out = np.zeros(4, np.float32)
    run(out)
    return out, np.array([1.0, 2.0, 3.0, 4.0], np.float32)
