"""Descriptors from the host, an allocator nobody calls, small floats, compile errors by name."""

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.compiler.errors import CompilationError
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy_kernel(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    tile = source.load([row, 0])
    target.store([row, 0], tile + 1)


@triton.jit
def widen_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(tl.float32))


@triton.jit
def wrong_kernel(x_ptr):
    tl.store(x_ptr, tl.arange(0, 3))


triton.set_allocator(lambda size, alignment, stream: 1 / 0)
x = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)
y = np.zeros_like(x)
source = TensorDescriptor(x, x.shape, (16, 1), [32, 16])
target = TensorDescriptor.from_tensor(y, [32, 16])
assert target.strides == [16, 1] and not target.round_f32_to_tf32
copy_kernel[(2,)](source, target, 32)
assert (y == x + 1).all()

small = np.array([1.5, -2, 0.25, 448] * 4, ml_dtypes.float8_e4m3fn)
wide = np.empty(16, np.float32)
widen_kernel[(1,)](triton.reinterpret(small.view(np.int8), tl.float8e4nv), wide, 16)
assert (wide == small.astype(np.float32)).all()

try:
    wrong_kernel[(1,)](wide)
except CompilationError as error:
    assert "descriptors.py" in str(error) and "tl.arange(0, 3)" in str(error)
else:
    raise AssertionError("arange(0, 3) compiled")
print("all good")
