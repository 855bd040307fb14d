"""What a GEMM requires of layouts, by the rules of the vendor.

`nvidia_gemms` and `amd_gemms` have the rules; docs/design/layouts.md#gemm-instructions.
"""

from __future__ import annotations

from tilewright.analysis.layout_inference import amd_gemms, nvidia_gemms
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan, Gpu
from tilewright.analysis.layout_inference.nvidia_gemms import Rounding
from tilewright.analysis.layout_inference.scopes import Threads
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.amd.ops import matrix_core
from tilewright.dialects.tile import GemmOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.amd_chips import Chip


def choose(op: GemmOp, threads: Threads, gpu: Gpu, *, wgmma: bool = True) -> GemmPlan:
    """The instruction and the partition for a GEMM; raises `Infeasible`."""
    if isinstance(gpu, Chip):
        return amd_gemms.choose(op, threads, gpu)
    return nvidia_gemms.choose(op, threads, gpu, wgmma=wgmma)


def rounding(op: GemmOp, gpu: Gpu) -> Rounding | None:
    """Which operand bits are ignored; None if none are. AMD's float32 instructions ignore none."""
    return None if isinstance(gpu, Chip) else nvidia_gemms.rounding(op)


def accumulator(op: GemmOp, plan: GemmPlan, gpu: Gpu) -> Table:
    """The layout of the accumulator."""
    m, n, _ = op.mnk
    if isinstance(gpu, Chip):
        core = matrix_core(amd_gemms.instruction_of(op, plan, gpu))
        return amd_gemms.accumulator((m, n), plan, core)
    return nvidia_gemms.accumulator((m, n), plan)


def operand(op: GemmOp, plan: GemmPlan, gpu: Gpu, *, is_a: bool) -> Table:
    """The layout of an operand in registers, as the instruction multiplies it: not transposed.

    A GEMM of an AMD GPU may read a part of the fragment along K; the layout is that of the whole.
    """
    m, n, k = op.mnk
    if isinstance(gpu, Chip):
        k = amd_gemms.held_depth(op, is_a=is_a)
        core = matrix_core(amd_gemms.instruction_of(op, plan, gpu))
        if is_a:
            return amd_gemms.operand_a((m, k), plan, core)
        return amd_gemms.operand_b((k, n), plan, core)
    bits = bit_width(element_type_of(op.a.type))
    if is_a:
        return nvidia_gemms.operand_a((m, k), bits, plan)
    return nvidia_gemms.operand_b((k, n), bits, plan)
