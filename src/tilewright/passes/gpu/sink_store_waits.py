"""`sink-store-waits`: a tile is being stored while the next one is computed.

    for tile { ...                               for tile { ...
               bar                                          if leader { tma_store.wait }
               write C                                      bar
               bar                            ->            write C
               if leader { tma_store C                      bar
                           tma_store.wait } }               if leader { tma_store C } }
                                                 if leader { tma_store.wait }

The thread that stores waits until shared memory has been read, so that others may write there
again. In a loop over tiles no thread does so before the barrier before the next tile's writes, so
the wait can move there. No other buffer may overlap these bytes meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import (
    BarOp,
    BulkLoadOp,
    TmaLoadOp,
    TmaStoreBase,
    TmaStoreWaitOp,
)
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pending_accesses import share_bytes
from tilewright.passes.gpu.shared_accesses import accesses_of
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class SinkStoreWaits(Pass):
    """Wait for the store of a tile before the next one is written, not at once."""

    name = "sink-store-waits"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                for op in list(walk(function)):
                    if isinstance(op, IfOp):
                        _sink(op, function)


def _sink(leader: IfOp, function: FuncOp) -> None:
    wait = _wait_at_the_end(leader)
    loop = _loop_around(leader)
    if wait is None or loop is None:
        return
    stored = {base_of(op.src) for op in walk(leader) if isinstance(op, TmaStoreBase)}
    barrier = _barrier_before(leader, stored)
    if barrier is None or _is_used_elsewhere(leader, barrier, loop, function, stored):
        return
    if not _can_be_made_again(leader.condition, loop):
        return
    for anchor in (barrier, loop.next_op):
        assert anchor is not None  # a block is ended
        code = IndexBuilder(anchor)
        condition = _made_again(leader.condition, loop, code, {})
        inside = Block([YieldOp()])
        code.add(IfOp(condition, [], Region(inside)))
        code.inside(inside).add(copy_op(wait, {}))
    wait.detach()
    wait.erase()


def _wait_at_the_end(leader: IfOp) -> TmaStoreWaitOp | None:
    """The wait of a part that one thread runs, which ends with it."""
    if leader.results or len(leader.else_region.blocks):
        return None
    end = leader.then_region.block.last_op
    last = None if end is None else end.prev_op
    if not isinstance(last, TmaStoreWaitOp) or last.read is None or last.count:
        return None
    return last if any(isinstance(op, TmaStoreBase) for op in walk(leader)) else None


def _loop_around(op: Operation) -> ForOp | None:
    """The loop whose iterations contain the store, each or some of them."""
    parent = op.parent_op()
    while isinstance(parent, IfOp):
        parent = parent.parent_op()
    return parent if isinstance(parent, ForOp) else None


def _accesses(op: Operation, stored: set[SSAValue]) -> bool:
    return any(
        share_bytes(access.buffer, each)
        for inner in walk(op)
        for access in accesses_of(inner)
        for each in stored
    )


def _barrier_before(leader: IfOp, stored: set[SSAValue]) -> Operation | None:
    """The barrier before the first access to what is stored, in the block of the store."""
    block = leader.parent
    assert block is not None
    barrier: Operation | None = None
    for op in block.ops:
        if op is leader or _accesses(op, stored):
            return barrier if op is not leader else None
        if isinstance(op, BarOp | BarrierOp):
            barrier = op
    return None


def _is_used_elsewhere(
    leader: IfOp, barrier: Operation, loop: ForOp, function: FuncOp, stored: set[SSAValue]
) -> bool:
    """Whether these bytes are accessed between a store and the barrier of the next iteration."""
    between: set[Operation] = set()
    op: Operation | None = barrier
    while op is not None and op is not leader:
        between.update(walk(op))
        op = op.next_op
    between.update(walk(leader))
    own = _role_of(loop)
    for inner in walk(function):
        if inner in between:
            continue
        if isinstance(inner, TmaLoadOp | BulkLoadOp):
            if any(share_bytes(base_of(inner.dst), each) for each in stored):
                return True
        elif own.is_ancestor(inner) and not _is_inside(inner, loop):
            continue  # before the first store, or after the last wait
        elif any(
            share_bytes(access.buffer, each)
            for access in accesses_of(inner)
            if access.is_write or not access.by_engine
            for each in stored
        ):
            return True
    return False


def _role_of(op: Operation) -> Region:
    """The code of the threads that run an op: a role, or the whole kernel."""
    region = op.parent_region()
    assert region is not None
    while (outer := region.parent_op()) is not None and not isinstance(outer, WsOp | FuncOp):
        above = outer.parent_region()
        assert above is not None
        region = above
    return region


def _is_inside(op: Operation, loop: ForOp) -> bool:
    parent = op.parent_op()
    while parent is not None and parent is not loop:
        parent = parent.parent_op()
    return parent is loop


def _can_be_made_again(value: SSAValue, loop: ForOp) -> bool:
    """Whether a value of the loop can be had outside of it: it depends on the thread only."""
    owner = value.owner
    if isinstance(owner, Block):
        return owner.parent_op() is not loop and not (
            (parent := owner.parent_op()) is not None and _is_inside(parent, loop)
        )
    if not _is_inside(owner, loop):
        return True
    is_pure = owner.name.startswith("arith.") or owner.name == "gpu.thread_id"
    return is_pure and all(_can_be_made_again(each, loop) for each in owner.operands)


def _made_again(
    value: SSAValue, loop: ForOp, code: IndexBuilder, made: dict[SSAValue, SSAValue]
) -> SSAValue:
    owner = value.owner
    if isinstance(owner, Block) or not _is_inside(owner, loop):
        return value
    if value not in made:
        for operand in owner.operands:
            made[operand] = _made_again(operand, loop, code, made)
        code.add(copy_op(owner, made))
    return made[value]
