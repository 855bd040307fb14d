"""Elements of matrix fragments as AMD's tables have them, lane by lane and register by register."""

from __future__ import annotations

from tilewright.layouts.hardware.matrix_core import MatrixCore


def accumulator_point(core: MatrixCore, lane: int, register: int) -> tuple[int, int]:
    """Row and column of C, as the tables of AMD's manuals have them."""
    if core.wave == 64 and core.side == 32:
        return 8 * (register // 4) + 4 * (lane // 32) + register % 4, lane % 32
    if core.wave == 64:
        return 4 * (lane // 16) + register, lane % 16
    if core.width == 16:
        return 2 * register + lane // 16, lane % 16
    return 8 * (lane // 16) + register, lane % 16


def operand_point(core: MatrixCore, lane: int, register: int) -> tuple[int, int]:
    """Row and depth of A."""
    if core.wave == 32 and core.width == 16:
        return lane % 16, register
    return lane % core.side, core.width * (lane // core.side) + register
