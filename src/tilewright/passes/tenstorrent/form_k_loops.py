"""Recognise loops that accumulate a GEMM over K.

    tensix.elementwise outs(acc) { yield 0 }           tensix.matmul_k_loop %k = 0 to %n
    scf.for %k = 0 to %n {                                 inputs(%a, %b) acc(%acc) {clear} {
      tile.copy A[..] -> %a                     ->        tile.copy A[..] -> %a
      tile.copy B[..] -> %b                               tile.copy B[..] -> %b
      tile.gemm %a, %b -> %acc                          }
    }

The loop consists of the loads of its operands and one GEMM into a buffer that is zero before the
loop and used in it by the GEMM alone; names play no role. Partial sums then stay in DST, or are
spilled once per step. Every other GEMM adds to a buffer in L1, step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Operation, Region, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tensix.blocks import ElementwiseOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.program import EndOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp, GemmOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import constant_trip_count, constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.buffer_uses import (
    is_block_op,
    read_positions,
    role_of,
    write_positions,
)


@dataclass(frozen=True)
class FormKLoops(Pass):
    """Convert accumulating loops to ``tensix.matmul_k_loop``."""

    name = "form-k-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for loop in [op for op in walk(function) if isinstance(op, ForOp)]:
                if loop.parent is not None:
                    _form(loop)


def _form(loop: ForOp) -> None:
    gemm = _only_gemm(loop)
    if gemm is None or gemm.transpose_a is not None or trip_count(loop) < 1:
        return
    clear = _clear_before(loop, gemm.c)
    if clear is None or not _has_only(gemm.c, {clear, gemm}, loop):
        return
    if not all(_is_loaded_in(loop, each) for each in (gemm.a, gemm.b)):
        return
    _replace(loop, gemm, clear)


def trip_count(loop: ForOp) -> int:
    """The trip count of a loop; 0 if it is a run-time value."""
    return constant_trip_count(loop.lower_bound, loop.upper_bound, loop.step) or 0


def _only_gemm(loop: ForOp) -> GemmOp | None:
    """The GEMM of a loop that otherwise only loads."""
    found: GemmOp | None = None
    for op in loop.body.block.ops:
        if isinstance(op, GemmOp) and found is None and op.clear is None:
            found = op
        elif isinstance(op, CopyOp) and role_of(op) is Role.READER and found is None:
            continue
        elif op.regions or not (is_removable(op) or isinstance(op, ScfYieldOp)):
            return None
    return found if not loop.init_args else None


def _clear_before(loop: ForOp, acc: SSAValue) -> ElementwiseOp | None:
    """The op before the loop, in its block, that sets `acc` to zero."""
    op = loop.prev_op
    while op is not None:
        if isinstance(op, ElementwiseOp) and acc in op.outputs:
            return op if _yields_zero(op) else None
        if any(acc in each.operands for each in walk(op)):
            return None
        op = op.prev_op
    return None


def _yields_zero(op: ElementwiseOp) -> bool:
    if len(op.outputs) != 1:
        return False
    constant = constant_value(op.results_of_body[0])
    return isinstance(constant, (FloatAttr, IntegerAttr)) and constant.value.data == 0


def _has_only(acc: SSAValue, writers: set[Operation], loop: ForOp) -> bool:
    """Whether only `writers` write `acc`, and in the loop nothing else reads it."""
    for use in acc.uses:
        op = use.operation
        if not is_block_op(op):
            return False
        writes = any(op.operands[n] is acc for n in write_positions(op))
        if writes and op not in writers:
            return False
        if loop.is_ancestor(op) and op not in writers:
            return False
    return True


def _is_loaded_in(loop: ForOp, buffer: SSAValue) -> bool:
    """Whether every iteration loads the buffer, for this GEMM alone."""
    users = [use.operation for use in buffer.uses]
    loads = [op for op in users if isinstance(op, CopyOp) and op.dst is buffer]
    others = [op for op in users if op not in loads]
    return (
        len(loads) == 1
        and loads[0].parent is loop.body.block
        and len(others) == 1
        and others[0].parent is loop.body.block
        and bool(read_positions(others[0]))
    )


def _replace(loop: ForOp, gemm: GemmOp, clear: ElementwiseOp) -> None:
    rewriter = Rewriter()
    rows, columns = buffer_tiles(gemm.c)
    a_rows, a_columns = buffer_tiles(gemm.a)
    depth = a_rows if gemm.transpose_a is not None else a_columns
    block = loop.body.block
    end = block.last_op
    assert end is not None
    a, b, acc = gemm.a, gemm.b, gemm.c
    transpose_a, transpose_b = gemm.transpose_a is not None, gemm.transpose_b is not None
    location = gemm.location
    rewriter.erase(gemm)
    block.erase_op(end)
    block.add_op(EndOp())
    loop.regions[0].detach_block(block)
    made = MatmulKLoopOp(
        (loop.lower_bound, loop.upper_bound, loop.step),
        a,
        b,
        acc,
        (rows, columns, depth),
        Region(block),
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        clear=True,
        attributes=loop.attributes,
    )
    made.location = location
    rewriter.replace_op(loop, made, ())
    rewriter.erase(clear)
