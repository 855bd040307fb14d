"""Calls a kernel function from itself."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def factorial(n):
    if n <= 1:
        result = 1
    else:
        result = n * factorial(n - 1)
    return result


@tw.jit
def wrong(out_ptr, n):
    tl.store(out_ptr, factorial(n))


@tw.jit
def fixed(out_ptr, n):
    result = 1
    for i in range(2, n + 1):
        result *= i
    tl.store(out_ptr, result)


def launch(kernel):
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 6)
    return out, np.array([720], np.int32)
