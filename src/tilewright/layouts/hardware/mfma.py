"""Fragments of MFMA, the matrix instructions of gfx9 (waves of 64 lanes).

AMD's matrix instruction calculator gives them, and Triton's linear layouts agree. ``w`` is
``K / 2`` for 32 x 32 and ``K / 4`` for 16 x 16, lane ``l``, register ``r``::

    32 x 32    A (l % 32, w * (l / 32) + r)    C (8 * (r / 4) + 4 * (l / 32) + r % 4, l % 32)
    16 x 16    A (l % 16, w * (l / 16) + r)    C (4 * (l / 16) + r, l % 16)

`MatrixCore` has the rest: several instructions along K, transposed accumulators, tiles of a block.
"""

from __future__ import annotations

from tilewright.layouts.hardware.matrix_core import MatrixCore

WAVE = 64
SIDES = (32, 16)
RUN = 4
"""Neighbouring rows of the accumulator that a lane holds."""


def mfma(side: int, k: int) -> MatrixCore:
    """The fragments of ``side x side x k``."""
    if side not in SIDES:
        raise ValueError(f"MFMA of {side} rows, expected 32 or 16")
    return MatrixCore(side, k, WAVE, width=k * side // WAVE, run=RUN)
