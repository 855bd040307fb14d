"""`widen-fragments`: a fragment gets the elements that parallel loops access past its end.

    sinks = T.alloc_fragment([heads], dtype)         heads = 8
    for i in T.Parallel(block_M):                    block_M = 64
        sinks[i] = S[by]                             elements 8 to 63 do not exist

A fragment has no address: where it is only accessed element by element, its extents serve no other
purpose than to be large enough, and TileLang takes those of the loops. So does this pass, with a
warning that has both numbers. A fragment that copies, GEMMs or reductions use as a whole keeps its
extents, and the access past its end is an error of a later check, as it is in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, ParallelOp, Space, SpaceAttr
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

WIDENED = "TW2024"


@dataclass(frozen=True)
class WidenFragments(Pass):
    """Give fragments the elements that loops over more of them access."""

    name = "widen-fragments"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in [op for op in walk(module) if isinstance(op, FuncOp)]:
            found = [op for op in walk(function) if isinstance(op, AllocOp) and _is_short(op)]
            if found:
                ranges = IndexRanges(function)
                for op in found:
                    _widen(op, ranges, engine)


def _is_short(op: AllocOp) -> bool:
    """Whether only loops access a fragment, and one of them goes over more than its elements."""
    if op.space is not Space.FRAGMENT or op.layout is not None or op.alias is not None:
        return False
    accesses = [use.operation for use in op.result.uses]
    if not all(isinstance(each, LoadOp | StoreOp) for each in accesses):
        return False
    shape = shape_of(op.result.type)
    return any(
        _loop_extent(index) > extent
        for each in accesses
        if isinstance(each, LoadOp | StoreOp)
        for extent, index in zip(shape, each.indices, strict=True)
    )


def _loop_extent(index: SSAValue) -> int:
    """How many values an index of a parallel loop has; 0 if it is something else."""
    if not isinstance(index, BlockArgument):
        return 0
    loop = index.owner.parent_op()
    if not isinstance(loop, ParallelOp):
        return 0
    extent = loop.extents[index.index]
    return extent if isinstance(extent, int) else 0


def _widen(op: AllocOp, ranges: IndexRanges, engine: DiagnosticEngine) -> None:
    shape = shape_of(op.result.type)
    wider = list(shape)
    beyond: Operation | None = None
    for use in op.result.uses:
        access = use.operation
        assert isinstance(access, LoadOp | StoreOp)
        for axis, index in enumerate(access.indices):
            if not _loop_extent(index):
                continue
            last = ranges.range(index, access).hi
            if isinstance(last, int) and last >= wider[axis]:
                wider[axis], beyond = last + 1, access
    if beyond is None:
        return  # conditions keep all accesses inside
    diagnostic = engine.warning(
        beyond,
        f"'{op.buffer_name}' has {_text(shape)} elements, but {_text(wider)} are accessed: it is "
        f"allocated with {_text(wider)}",
        WIDENED,
    )
    diagnostic.note(op, f"help: declare it as T.alloc_fragment({wider}, ...)")
    type = MemRefType(element_type_of(op.result.type), wider, NoneAttr(), SpaceAttr(Space.FRAGMENT))
    Rewriter().retype(op.result, type)


def _text(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
