"""Telling all threads an element of a fragment.

    %v = memref.load %frag[0]        ->    tile.parallel (%u) in (1) { %S[%u] = %frag[%u] }
    scf.if (%v > 0) { ... }                %v = memref.load %S[0]

Outside of parallel loops every thread runs the code, and only some hold the element: it goes
through shared memory, so that all of them decide alike. Where only some threads come to the load,
nothing can be done.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Operation

from tilewright.analysis.uniformity import comes_together
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    KernelOp,
    ParallelOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import known
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.stage_fragments import STAGED


def share_elements(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    """Lead reads of single elements through shared memory, where all threads come to them."""
    for op in list(walk(kernel)):
        if isinstance(op, LoadOp) and _is_for_all(op) and comes_together(op):
            _share(op, engine)


def _is_for_all(op: LoadOp) -> bool:
    is_first = all(known(index) == 0 for index in op.indices)
    return space_of(op.memref.type) is Space.FRAGMENT and is_first and not _is_in_loop(op)


def _is_in_loop(op: Operation) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, ParallelOp):
        around = around.parent_op()
    return around is not None


def _share(op: LoadOp, engine: DiagnosticEngine) -> None:
    owner = base_of(op.memref).owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else "fragment"
    code = IndexBuilder(op)
    type = MemRefType(element_type_of(op.memref.type), (1,), NoneAttr(), SpaceAttr(Space.SHARED))
    alloc = AllocOp(type, name=f"{name}_told", dtype=unsigned_dtype(op.memref))
    shared = code.add(alloc).results[0]
    loop = ParallelOp([1])
    code.add(loop)
    body, here = code.inside(loop.body.block), loop.body.block.args[0]
    value = body.add(LoadOp(op.memref, [here for _ in op.indices])).results[0]
    body.add(StoreOp(value, shared, [here]))
    broadcast = LoadOp(shared, [code.index(0)])
    code.add(broadcast)
    text = f"'{name}' is broadcast to all threads through shared memory: every thread reads it here"
    engine.remark(op, text, STAGED)
    code.rewriter.replace_op(op, [], [broadcast.result])
