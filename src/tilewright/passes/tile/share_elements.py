"""Telling all threads an element of a fragment.

    %v = memref.load %frag[0]        ->    tile.parallel (%u) in (1) { %S[%u] = %frag[%u] }
    scf.if (%v > 0) { ... }                %v = memref.load %S[0]

Outside of parallel loops every thread runs the code, and only some hold the element: it goes
through shared memory, so that all of them decide alike. Where only some threads come to the load,
nothing can be done.

Whether all threads hold the element themselves, as they do after most reductions to one element, is
known once layouts are: then the load stays where it was, and reads a register. Values that decide
which code runs stay in shared memory: that all threads decide alike is proved from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import Table
from tilewright.analysis.threads.uniformity import comes_together
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ConditionOp, ForOp, YieldOp
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
from tilewright.ir.codes.shared import STAGED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.tile.index_builder import IndexBuilder

_SUFFIX = "_told"
_BOUNDS = 3
"""Operands of ``scf.for`` before the carried values."""


@dataclass(frozen=True)
class Broadcast:
    """An element of a fragment that goes to all threads through shared memory."""

    fragment: SSAValue
    rank: int
    cell: AllocOp
    loop: ParallelOp
    load: LoadOp


def share_elements(kernel: KernelOp) -> list[Broadcast]:
    """Lead reads of single elements through shared memory, where all threads come to them."""
    return [
        _share(op)
        for op in list(walk(kernel))
        if isinstance(op, LoadOp) and _is_for_all(op) and comes_together(op)
    ]


def drop_broadcasts(
    broadcasts: Sequence[Broadcast], plan: LayoutPlan, engine: DiagnosticEngine
) -> LayoutPlan:
    """Let threads that hold an element read it; the plan without the loops that are gone."""
    loops, shared = dict(plan.loops), dict(plan.shared)
    for each in broadcasts:
        table = plan.fragments.get(base_of(each.fragment))
        if table is None or not _is_held(table, each.load) or _decides(each.load.result):
            name = each.cell.buffer_name.removesuffix(_SUFFIX)
            text = (
                f"'{name}' is broadcast to all threads through shared memory: every thread reads "
                "it here"
            )
            engine.remark(each.load, text, STAGED)
            continue
        code = IndexBuilder(each.load)
        own = code.add(LoadOp(each.fragment, [code.index(0)] * each.rank))
        code.rewriter.replace_op(each.load, [], [own.results[0]])
        loops.pop(each.loop, None)
        shared.pop(each.cell.result, None)
        code.rewriter.erase(each.loop)
        code.rewriter.erase(each.cell)
    return replace(plan, loops=loops, shared=shared)


def _is_held(table: Table, op: Operation) -> bool:
    """Whether all threads that run `op` own the first element."""
    return table.is_held_by_all((0,) * len(table.shape), threads_of(op).count)


def _decides(value: SSAValue) -> bool:
    """Whether a branch or a loop of the block depends on a value."""
    work, seen = [value], set[SSAValue]()
    while work:
        current = work.pop()
        if current in seen:
            continue
        seen.add(current)
        for use in current.uses:
            user = use.operation
            loop = user.parent_op()
            if enclosing(user, ParallelOp) is not None:
                continue
            if isinstance(user, ForOp) and use.index >= _BOUNDS:
                at = use.index - _BOUNDS
                work += [user.iter_args[at], user.results[at]]
            elif isinstance(user, YieldOp) and isinstance(loop, ForOp):
                work += [loop.iter_args[use.index], loop.results[use.index]]
            elif user.regions or isinstance(user, YieldOp | ConditionOp):
                return True
            else:
                work += user.results
    return False


def _is_for_all(op: LoadOp) -> bool:
    is_first = all(known(index) == 0 for index in op.indices)
    return (
        space_of(op.memref.type) is Space.FRAGMENT
        and is_first
        and enclosing(op, ParallelOp) is None
    )


def _share(op: LoadOp) -> Broadcast:
    owner = base_of(op.memref).owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else "fragment"
    code = IndexBuilder(op)
    type = MemRefType(element_type_of(op.memref.type), (1,), NoneAttr(), SpaceAttr(Space.SHARED))
    cell = AllocOp(type, name=f"{name}{_SUFFIX}", dtype=unsigned_dtype(op.memref))
    shared = code.add(cell).results[0]
    loop = ParallelOp([1])
    code.add(loop)
    body, here = code.inside(loop.body.block), loop.body.block.args[0]
    value = body.add(LoadOp(op.memref, [here for _ in op.indices])).results[0]
    body.add(StoreOp(value, shared, [here]))
    broadcast = LoadOp(shared, [code.index(0)])
    code.add(broadcast)
    found = Broadcast(op.memref, len(op.indices), cell, loop, broadcast)
    code.rewriter.replace_op(op, [], [broadcast.result])
    return found
