"""Breaks a rule that the kernel states about its constants."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def tiles(out_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(N % BLOCK == 0, "N must be a multiple of BLOCK")
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, offsets)


def wrong(out):
    tiles[(3,)](out, N=96, BLOCK=64)


def fixed(out):
    tiles[(3,)](out, N=96, BLOCK=32)


def launch(run):
    out = np.zeros(96, np.int32)
    run(out)
    return out, np.arange(96, dtype=np.int32)
