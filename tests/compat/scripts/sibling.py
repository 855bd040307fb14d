"""Found because the folder of the script is on the path."""

import triton
import triton.language as tl


@triton.jit
def square(x):
    return x * x


SCALE: tl.constexpr = tl.constexpr(3)
