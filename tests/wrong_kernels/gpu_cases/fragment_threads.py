"""Gives elements to 256 threads of a block of 128."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((128, 8), "float32")
    B = T.empty((128, 8), "float32")
    with T.Kernel(1, threads=128):
        rows = T.alloc_fragment((128, 8), "float32")
        halves = T.Fragment(
            (128, 8),
            forward_thread_fn=lambda i, j: i * 2 + j // 4,
            forward_index_fn=lambda i, j: j % 4,
        )
        T.annotate_layout({rows: halves})
        T.copy(A, rows)
        T.copy(rows, B)
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((128, 8), "float32")
    B = T.empty((128, 8), "float32")
    with T.Kernel(1, threads=256):
        rows = T.alloc_fragment((128, 8), "float32")
        halves = T.Fragment(
            (128, 8),
            forward_thread_fn=lambda i, j: i * 2 + j // 4,
            forward_index_fn=lambda i, j: j % 4,
        )
        T.annotate_layout({rows: halves})
        T.copy(A, rows)
        T.copy(rows, B)
    return B


def arguments():
    return (np.arange(1024, dtype=np.float32).reshape(128, 8),)


def expected(a):
    return a
