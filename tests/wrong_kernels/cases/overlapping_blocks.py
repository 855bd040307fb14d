"""Multiplies the program id by another number than the size of a block."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.program_id(0) + tl.zeros((BLOCK,), tl.int32))


@tw.jit
def fixed(out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.program_id(0) + tl.zeros((BLOCK,), tl.int32))


def launch(kernel):
    out = np.zeros(64, np.int32)
    with tw.running(check_races=True):
        kernel[(4,)](out, STEP=12, BLOCK=16)
    return out, np.repeat(np.arange(4, dtype=np.int32), 16)
