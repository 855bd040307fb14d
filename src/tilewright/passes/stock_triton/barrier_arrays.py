"""Arrays of mbarriers: one barrier a row.

TLX writes an array of barriers as ``<Nxi64>`` and takes a part of it with an index, which leaves
the rank as it is. In stock Triton an index takes away the first dimension, so an array is
``<Nx1xi64>``. Layouts are of rank 1 in both.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.ttg.context import PARTITIONS_OP
from tilewright.dialects.ttg.types import MemDescType
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.memdesc_types import retype_buffer

_INDEX = "ttg.memdesc_index"


def barrier_rows(module: ModuleOp, rewriter: Rewriter) -> None:
    """Give every array of barriers a second dimension of one."""
    for op in list(walk(module)):
        if op.name == _INDEX or not op.results:
            continue
        for value in op.results:
            type = value.type
            if isinstance(type, MemDescType) and type.rank == 1 and _is_indexed(value):
                retype_buffer(value, type.with_shape((*type.shape, 1)), rewriter)


def _is_indexed(value: SSAValue) -> bool:
    """Whether `value`, or what a partition calls it, is an array that parts are taken of."""
    return any(_takes_part(use.operation, use.index) for use in value.uses)


def _takes_part(op: Operation, index: int) -> bool:
    if op.name == PARTITIONS_OP:
        return any(_is_indexed(region.blocks[0].args[index]) for region in op.regions)
    return op.name == _INDEX
