"""Asks for the program id along an axis that no grid has."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(out_ptr):
    program = tl.program_id(3)
    tl.store(out_ptr + program, program)


@tw.jit
def fixed(out_ptr):
    program = tl.program_id(0)
    tl.store(out_ptr + program, program)


def launch(kernel):
    out = np.ones(4, np.int32)
    kernel[(4,)](out)
    return out, np.arange(4, dtype=np.int32)
