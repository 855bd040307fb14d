"""`widen-operands`: GEMMs of 8-bit floats on GPUs whose tensor cores do not support them.

NVIDIA's support them from sm_89 on, AMD's as the table of chips has it: gfx942 multiplies the FNUZ
formats, gfx950 and gfx1201 the OCP ones, the others none.

    tile.gemm %A, %B -> %C : f8, f8 -> f32    ->    copy %A -> %A16 (f16), copy %B -> %B16
                                                    tile.gemm %A16, %B16 -> %C

Every such float is a 16-bit float as well, and multiplication is exact in 32-bit accumulators: the
results are the same, and slower. A remark reports it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    MemRefType,
    ModuleOp,
    NoneAttr,
)
from xdsl.ir import SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, GemmOp, ParallelOp, Space, SpaceAttr, space_of
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_name, arch_of
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.tile_regions import part_of

_FIRST = 89
"""The first generation with MMAs of 8-bit floats."""
_SMALL = (Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType, Float8E5M2FNUZType)


@dataclass(frozen=True)
class WidenOperands(Pass):
    """Multiply 8-bit floats as 16-bit ones where there is no other way."""

    name = "widen-operands"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if not isinstance(op, GemmOp) or space_of(op.c.type) is Space.LOCAL:
                continue
            if _is_small(op) and not _is_native(op):
                engine.remark(
                    op,
                    f"native '{element_type_of(op.a.type)}' MMA not available on "
                    f"{arch_name(op)}: the operands are converted to float16",
                    "TW3005",
                )
                for index, operand in enumerate((op.a, op.b)):
                    op.operands[index] = _widened(op, operand)


def _is_small(op: GemmOp) -> bool:
    return isinstance(element_type_of(op.a.type), _SMALL)


def _is_native(op: GemmOp) -> bool:
    """Whether tensor cores multiply operands of these types."""
    chip = amd_chip_of(op)
    if chip is None:
        return arch_of(op) >= _FIRST
    a, b = (str(element_type_of(each.type)) for each in (op.a, op.b))
    return bool(chip.instructions_for(a, b))


def _widened(op: GemmOp, operand: SSAValue) -> SSAValue:
    code = IndexBuilder(op)
    part = part_of(operand)
    space = space_of(operand.type)
    assert space is not None
    shape = list(shape_of(operand.type))
    type = MemRefType(Float16Type(), shape, NoneAttr(), SpaceAttr(space))
    name = part.buffer.name_hint or "operand"
    wide = code.add(AllocOp(type, name=f"{name}_wide")).results[0]
    loop = ParallelOp(shape)
    code.add(loop)
    body = code.inside(loop.body.block)
    position = list(loop.body.block.args)
    axes = list(range(len(part.extents)))[-len(shape) :]
    loaded = body.add(LoadOp(part.buffer, part.element(body, position, axes))).results[0]
    body.add(StoreOp(converted(body, loaded, Float16Type()), wide, position))
    return wide
