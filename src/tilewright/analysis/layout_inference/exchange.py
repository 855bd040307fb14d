"""Copies between fragments whose elements stay in a wave: lanes exchange registers.

`stage-fragments` makes such a `tile.copy` where a loop computes the operand of a GEMM in the layout
of an accumulator. Layouts of both are known by then; what one instruction sequence can exchange is
listed here, the rest goes through shared memory.

gfx11: of 16 columns a lane holds every other one of the accumulator, and all of the operand. Lanes
16 apart interleave their registers (`amd.interleave`)::

    accumulator  register r of lane l: column 2 * r + l / 16     operand  register r: column r
"""

from __future__ import annotations

import numpy as np

from tilewright.analysis.layout_inference.gemm_plan import Gpu
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.amd.exchange import ROW, WAVE
from tilewright.dialects.tile import CopyOp, Space, space_of
from tilewright.layouts.hardware.amd_chips import Chip


def is_exchange(op: CopyOp) -> bool:
    """Whether a copy is between fragments; others become loops before layouts are inferred."""
    return all(space_of(each.type) is Space.FRAGMENT for each in (op.src, op.dst))


def is_interleaved(source: Table, target: Table, gpu: Gpu) -> bool:
    """Whether interleaving the registers of lanes 16 apart makes `target` of `source`."""
    if not isinstance(gpu, Chip) or gpu.wave != WAVE:
        return False
    if source.shape != target.shape or (source.replicas, target.replicas) != (1, 2):
        return False
    owner = source.owners[..., 0]
    if (np.sort(target.owners, axis=-1) != np.stack([owner & ~ROW, owner | ROW], axis=-1)).any():
        return False
    half = owner // ROW % 2
    return bool((target.registers == 2 * source.registers + half).all())
