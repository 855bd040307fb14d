"""Calls a function that is written in the assembly language of NVIDIA GPUs."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"
PTX = """
__device__ inline float twice(float x) {
  asm volatile("{ .reg .f32 t; add.f32 t, %1, %1; mov.f32 %0, t; }" : "=f"(x) : "f"(x));
  return x;
}
"""


@tw.jit
def wrong(A):
    A: T.Tensor((256,), "float32")
    B = T.empty((256,), "float32")
    with T.Kernel(2, threads=128) as bx:
        T.import_source(PTX)
        for i in T.Parallel(128):
            B[bx * 128 + i] = T.call_extern("float32", "twice", A[bx * 128 + i])
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((256,), "float32")
    B = T.empty((256,), "float32")
    with T.Kernel(2, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + A[bx * 128 + i]
    return B


def arguments():
    return (np.arange(256, dtype=np.float32),)


def expected(a):
    return 2 * a
