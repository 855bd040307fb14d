"""Simplify the fill of copies that need none.

    tile.copy %r -> %tile fill(%zero)    ->    tile.copy %r -> %tile

A fill is needed where a region may reach out of its tensor, and where it is not what such a read
gives anyway. A copy that stays inside, of a tensor whose safe value is not zero, is given a fill of
zero, which it never reads: a copy that fills with zeros can be asynchronous, as TMA and cp.async
write zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.tensors.outside_values import (
    has_zeros,
    is_zero,
    outside_value,
    safe_value,
    stays_inside,
    tensor_of,
    zero_of,
)
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import CopyOp, Space, space_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class SimplifyFills(Pass):
    """Drop fills of copies that stay inside of their tensor, and fills that change nothing."""

    name = "simplify-fills"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in walk(module):
            if isinstance(function, FuncOp):
                copies = [op for op in walk(function) if isinstance(op, CopyOp) and _is_filled(op)]
                ranges = IndexRanges(function) if copies else None
                for op in copies:
                    assert ranges is not None
                    _simplify(op, ranges)


def _is_filled(op: CopyOp) -> bool:
    """Whether a copy may read something other than zero outside of its tensor."""
    if space_of(op.src.type) is not Space.GLOBAL:
        return False
    return op.fill is not None or not has_zeros(tensor_of(op.src))


def _simplify(op: CopyOp, ranges: IndexRanges) -> None:
    usual = safe_value(tensor_of(op.src))
    is_inside = stays_inside(op, ranges)
    if op.fill is not None and (outside_value(op) == usual or (is_inside and is_zero(usual))):
        op.operands = [op.src, op.dst]
    elif is_inside and not is_zero(outside_value(op)):
        op.operands = [op.src, op.dst, _zero(op)]


def _zero(op: CopyOp) -> SSAValue:
    return IndexBuilder(op).add(ConstantOp(zero_of(element_type_of(op.src.type)))).results[0]
