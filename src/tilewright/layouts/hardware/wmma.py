"""Fragments of WMMA, the matrix instructions of gfx11 and gfx12 (waves of 32 lanes), 16 x 16 x 16.

Lane ``l``, register ``r``::

    gfx11    A (l % 16, r), lanes 16-31 repeat 0-15    C (2 * r + l / 16, l % 16)
    gfx12    A (l % 16, 8 * (l / 16) + r)              C (8 * (l / 16) + r, l % 16)

On gfx12 the transposed accumulator of one GEMM is the operand A of the next as it is; on gfx11
lanes 16 apart have to exchange rows.
"""

from __future__ import annotations

from tilewright.layouts.hardware.matrix_core import MatrixCore

SIDE = 16
DEPTH = 16
WAVE = 32
RUNS = {16: 1, 8: 8}
"""Neighbouring rows of the accumulator in a lane, by the elements of an operand that it holds."""


def wmma(width: int) -> MatrixCore:
    """The fragments for lanes that hold `width` elements: 16 on gfx11, 8 on gfx12."""
    if width not in RUNS:
        raise ValueError(f"WMMA operands of {width} elements a lane, expected 16 or 8")
    return MatrixCore(SIDE, DEPTH, WAVE, width, RUNS[width])
