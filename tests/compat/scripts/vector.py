"""One kernel, a helper from a sibling file, arguments, an exit code; prints what it sees of itself."""

import sys

import numpy as np
import sibling
import triton
import triton.language as tl
from sibling import SCALE, square
from triton import cdiv, next_power_of_2


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, square(x) * SCALE, mask=mask)


def main():
    n = int(sys.argv[1])
    x = np.arange(n, dtype=np.int32)
    out = np.full_like(x, -1)
    compiled = kernel[lambda meta: (cdiv(n, meta["BLOCK"]),)](x, out, n, BLOCK=next_power_of_2(100))
    assert (out == 3 * x * x).all()
    assert "tt.store" in compiled.asm["ttir"]
    assert not [name for name in sys.modules if name.startswith("triton._C")]
    print("argv", sys.argv[1:], "name", __name__, "sibling", sibling.__name__)
    print("file", __file__)
    print("version", triton.__version__, "kernel", kernel.__name__, kernel.fn.__module__)


if __name__ == "__main__":
    main()
    sys.exit(int(sys.argv[2]))
