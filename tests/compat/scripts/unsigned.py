"""Memory taken for unsigned integers: kernels see no sign."""

import numpy as np
import triton
import triton.language as tl


@triton.jit
def widen_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(tl.float32))


@triton.jit
def halve_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) // 2)


for bits in (8, 16, 32, 64):
    unsigned = getattr(tl, f"uint{bits}")
    x = np.array([-2, -1, 0, 7], f"int{bits}")
    seen = triton.reinterpret(x, unsigned)
    expected = x.view(f"uint{bits}")
    out = np.zeros(4, np.float32)
    widen_kernel[(1,)](seen, out, 4)
    assert (out == expected.astype(np.float32)).all(), (bits, out)
    halves = np.zeros_like(expected)
    halve_kernel[(1,)](seen, triton.reinterpret(halves, unsigned), 4)
    assert (halves == expected // 2).all(), (bits, halves)
    signed = triton.reinterpret(expected, getattr(tl, f"int{bits}"))
    widen_kernel[(1,)](signed, out, 4)
    assert (out == x.astype(np.float32)).all(), (bits, out)

mock = triton.MockTensor(tl.uint32)
text = halve_kernel.warmup(mock, mock, 4, grid=(1,)).asm["ttir"]
assert "arith.divui" in text and "arith.divsi" not in text, text
print("all good")
