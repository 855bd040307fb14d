"""Give element accesses of fragments a parallel loop, so that layout inference finds an owner.

A fragment is distributed over the threads of a block; the owner of an element is determined by the
loops that access it. An access outside any ``tile.parallel`` names no thread::

    %v = memref.load %frag[0]                tile.parallel (%u) in (1) {
    %w = arith.addf %v, %one           ->      %v = memref.load %frag[%u]
    memref.store %w, %frag[0]                  %w = arith.addf %v, %one
                                               memref.store %w, %frag[%u] }

Only element 0 can be meant: any other index would single out a thread. What the stored value is
computed from moves into the loop with the store, as far as nothing else uses it. A load whose value
decides something else stays where it is; every thread that needs it then holds a copy.

A fragment with another element that is accessed so, by all threads (``if mask[k]: ...``), is a
table for the block: it becomes a buffer in shared memory, where every thread finds any element. One
that GEMMs and reductions use has to stay in registers; then the access is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    FillOp,
    ParallelOp,
    RegionOp,
    RegionType,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.tile.interfaces import base_of, writes
from tilewright.dialects.tile.mixed import known
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.codes.shared import STAGED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import enclosing, walk

ELEMENT_OUTSIDE_LOOP = "TW2001"


@dataclass(frozen=True)
class WrapScalarFragmentAccess(Pass):
    """Put stores to one element of a fragment into a parallel loop of one iteration."""

    name = "wrap-scalar-fragment-access"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        alone = [op for op in walk(module) if isinstance(op, LoadOp | StoreOp) and _is_alone(op)]
        elsewhere = [op for op in alone if _is_in_fragment(op) and not _is_element_zero(op)]
        refused = [op for op in elsewhere if not _may_be_shared(base_of(op.memref))]
        for op in refused:
            _refuse(op, engine)
        if refused:
            return
        for op in elsewhere:
            if _is_in_fragment(op):  # not yet moved along with another access
                _share(base_of(op.memref), op, engine)
        for op in alone:
            if isinstance(op, StoreOp):
                moved = _computation_of(op)
                if any(_is_in_fragment(each) for each in moved):
                    _wrap(op, moved)


def _is_alone(op: Operation) -> bool:
    """Whether no parallel loop is around `op`."""
    return enclosing(op, ParallelOp) is None


def _is_in_fragment(op: Operation) -> bool:
    return isinstance(op, LoadOp | StoreOp) and space_of(op.memref.type) is Space.FRAGMENT


def _is_element_zero(op: LoadOp | StoreOp) -> bool:
    return all(known(index) == 0 for index in op.indices)


def _refuse(op: LoadOp | StoreOp, engine: DiagnosticEngine) -> None:
    indices = [known(index) for index in op.indices]
    shown = ", ".join(str(index) if isinstance(index, int) else "?" for index in indices)
    engine.error(
        op,
        f"Fragment buffer access with non-zero index [{shown}] is not supported. Only "
        "fragment[0] access is allowed: the owner of another element depends on the "
        "layout, and GEMMs, reductions or a user-specified layout keep this fragment in "
        "registers. Loop over it with T.Parallel, or copy it to T.alloc_shared first",
        ELEMENT_OUTSIDE_LOOP,
    )


def _may_be_shared(buffer: SSAValue) -> bool:
    """Whether all uses of a fragment can be of shared memory as well."""
    owner = buffer.owner
    is_free = isinstance(owner, RegionOp) or (
        isinstance(owner, AllocOp) and owner.layout is None and owner.alias is None
    )
    return is_free and all(
        _may_be_shared(use.operation.results[0])
        if isinstance(use.operation, RegionOp)
        else isinstance(use.operation, (CopyOp, FillOp, LoadOp, StoreOp))
        for use in buffer.uses
    )


def _share(buffer: SSAValue, access: LoadOp | StoreOp, engine: DiagnosticEngine) -> None:
    """Allocate a fragment in shared memory instead."""
    owner = buffer.owner
    assert isinstance(owner, AllocOp)
    element, shape = element_type_of(buffer.type), shape_of(buffer.type)
    size = math.prod(shape) * -(-bit_width(element) // 8)
    engine.remark(
        access,
        f"'{owner.buffer_name}' is allocated in shared memory ({size} B), not in registers: this "
        "element is accessed outside of T.Parallel, by all threads",
        STAGED,
    )
    space = Space.SHARED_STATIC if element == i1 else Space.SHARED
    _retype(buffer, SpaceAttr(space))


def _retype(buffer: SSAValue, space: SpaceAttr) -> None:
    element, shape = element_type_of(buffer.type), shape_of(buffer.type)
    is_region = isinstance(buffer.owner, RegionOp)
    type = (
        RegionType(element, shape, space)
        if is_region
        else MemRefType(element, shape, NoneAttr(), space)
    )
    new = Rewriter().retype(buffer, type)
    for use in list(new.uses):
        if isinstance(use.operation, RegionOp):
            _retype(use.operation.results[0], space)


def _computation_of(store: StoreOp) -> list[Operation]:
    """The store, and the ops of its block that only it needs, in their order."""
    chosen: set[Operation] = {store}
    block = store.parent
    assert block is not None  # the store was found inside a kernel
    for op in reversed(list(block.ops)):
        if op in chosen or not _is_computation(op):
            continue
        users = {use.operation for result in op.results for use in result.uses}
        if users and users <= chosen and not _changes_between(op, store):
            chosen.add(op)
    return [op for op in block.ops if op in chosen]


def _is_computation(op: Operation) -> bool:
    return isinstance(op, LoadOp) or (always_removable(type(op)) and not op.regions)


def _changes_between(op: Operation, store: StoreOp) -> bool:
    """Whether what a load reads is written before the store."""
    if not isinstance(op, LoadOp):
        return False
    base, between = base_of(op.memref), op.next_op
    while between is not None and between is not store:
        if any(region.base is base for region in writes(between)):
            return True
        between = between.next_op
    return False


def _wrap(store: StoreOp, moved: list[Operation]) -> None:
    loop = ParallelOp([1])
    Rewriter().insert_before(store, loop)
    end = loop.body_block.last_op
    assert end is not None  # a new body is ended already
    for op in moved:
        op.detach()
        loop.body_block.insert_op_before(op, end)
        if isinstance(op, LoadOp | StoreOp) and _is_in_fragment(op):
            _index_by(op, loop.arguments[0])


def _index_by(op: LoadOp | StoreOp, index: SSAValue) -> None:
    first = len(op.operands) - len(op.indices)
    for position in range(first, len(op.operands)):
        op.operands[position] = index
