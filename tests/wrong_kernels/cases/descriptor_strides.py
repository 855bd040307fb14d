"""Describes a tensor whose last dimension is not contiguous."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[32, 64], strides=[1, 32], block_shape=[16, 16])
    out = tl.make_tensor_descriptor(out_ptr, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
    out.store([0, 0], x.load([16, 16]))


@tw.jit
def fixed(x_ptr, out_ptr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[64, 32], strides=[32, 1], block_shape=[16, 16])
    out = tl.make_tensor_descriptor(out_ptr, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
    out.store([0, 0], tl.trans(x.load([16, 16])))


def launch(kernel):
    transposed = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    out = np.zeros((16, 16), np.float32)
    kernel[(1,)](transposed, out)
    return out, transposed.T[16:32, 16:32]
