"""From a plan to IR: one allocation for each group of buffers that share, and views of it.

::

    %a = ttg.local_alloc : () -> 3x64x64xf16    %m = ttg.local_alloc : () -> 48x1024xi8
    ...                                         %r = ttg.memdesc_subslice %m[0, 0] -> 24x1024xi8
    ...                                    →    %a = ttg.memdesc_reinterpret %r -> 3x64x64xf16
    %c = ttg.local_alloc %t -> 64x64xf16        %s = ttg.memdesc_subslice %m[0, 0] -> 8x1024xi8
                                                %c = ttg.memdesc_reinterpret %s -> 64x64xf16
                                                ttg.local_store %t, %c

Rows are the largest power of two that divides every offset; types require powers of two everywhere
but in the leading dimension. Buffers that share with no other are left alone, so that the next
allocator is free to place them. Barriers only get the alignment that they need, 8 bytes.

Tensor memory has no slices by column, so there a buffer is an element of an array of its own kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import gcd

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.interfaces import MemDescEncoding
from tilewright.dialects.ttg.memory import LocalAllocOp, LocalDeallocOp, LocalStoreOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp, MemDescReinterpretOp, MemDescSubsliceOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp, TMEMStoreOp
from tilewright.ir.rewrite import Rewriter
from tilewright.memory import Memory
from tilewright.memory.targets import SMEM_BASE_ALIGNMENT, TMEM_ROWS
from tilewright.passes.merging.blocks import BARRIER_ALIGNMENT, Candidate, FunctionPlan, scope_of
from tilewright.passes.merging.groups import Group
from tilewright.passes.tlx.storage_alias.buffers import memory_of, rows_of, unit_of
from tilewright.passes.tlx.storage_alias.carriers import reachable, views_of
from tilewright.passes.tlx.storage_alias.materialise import (
    expanded,
    shared_memory_type,
    tensor_memory_type,
)

BUFFER = "tilewright.buffer"
"""The name of the buffer, on the op that is its view of a merged allocation."""


def merge(plan: FunctionPlan, groups: Sequence[Group], rewriter: Rewriter) -> None:
    """Make allocations of `groups`, which are of `plan`."""
    for group in groups:
        _materialise(group, rewriter)
    for each in plan.candidates:
        # Without it two barriers in a row would be 16 bytes apart.
        if groups and each.buffer.is_barrier and isinstance(each.op, LocalAllocOp):
            each.op.properties["alignment"] = IntegerAttr(BARRIER_ALIGNMENT, i32)
            rewriter.modified(each.op)


def _materialise(group: Group, rewriter: Rewriter) -> None:
    anchor = _anchor([member.op for member in group.members])
    is_shared = group.members[0].memory is Memory.SMEM
    backing, row = _shared_backing(group) if is_shared else (_tensor_backing(group), 0)
    rewriter.insert_before(anchor, backing)
    for member, offset in zip(group.members, group.offsets, strict=True):
        type = replace(memdesc(member.op.result.type), mutable=True)
        if is_shared:
            ops = [*_rows_of(backing.result, member, offset, row, type)]
        else:
            ops = [*_columns_of(backing.result, offset, type)]
        ops[-1].attributes[BUFFER] = StringAttr(member.name)
        _replace(member, ops, type, rewriter)


def _anchor(ops: Sequence[Operation]) -> Operation:
    """The op before which a new op dominates all of `ops`."""
    scope = scope_of(ops[0])
    paths = [_path(op, scope) for op in ops]
    for block, first in reversed(paths[0]):
        others = [next((o for b, o in path if b is block), None) for path in paths]
        if all(other is not None for other in others):
            return _earliest([other for other in others if other is not None], first)
    assert scope is not None and scope.first_block is not None
    start = scope.first_block.first_op
    assert start is not None, "a block has a terminator"
    return start


def _path(op: Operation, scope: Region | None) -> list[tuple[Block, Operation]]:
    """The blocks around `op` with the op that leads there, the outermost first."""
    found: list[tuple[Block, Operation]] = []
    current: Operation | None = op
    while current is not None and current.parent is not None:
        found.append((current.parent, current))
        if current.parent_region() is scope:
            break
        current = current.parent_op()
    return found[::-1]


def _earliest(ops: Sequence[Operation], first: Operation) -> Operation:
    block = first.parent
    assert block is not None
    return next(op for op in block.ops if op in ops)


# -- shared memory -------------------------------------------------------------------------------


def _cluster_bits(group: Group) -> int:
    layouts = [memdesc(member.op.result.type).encoding for member in group.members]
    return max(len(each.cga) for each in layouts if isinstance(each, MemDescEncoding))


def _shared_backing(group: Group) -> tuple[LocalAllocOp, int]:
    """The allocation, and the length of its rows."""
    common = reduce(gcd, (*group.offsets, *(member.size for member in group.members)))
    row = common & -common
    rows = -(-group.size // row)
    flat = shared_memory_type(row, _cluster_bits(group))
    op = LocalAllocOp(flat.with_shape((rows, row)))
    if group.align > SMEM_BASE_ALIGNMENT:
        op.properties["alignment"] = IntegerAttr(group.align, i32)
    op.result.name_hint = "merged"
    return op, row


def _rows_of(
    backing: SSAValue, member: Candidate, offset: int, row: int, type: MemDescType
) -> Iterator[Operation]:
    whole = memdesc(backing.type)
    count = member.size // row
    source = backing
    if (count, row) != whole.shape:
        part = MemDescSubsliceOp(
            backing, (offset // row, 0), whole.with_shape((count, row), whole.shape)
        )
        yield part
        source = part.result
    yield MemDescReinterpretOp(source, type)


# -- tensor memory -------------------------------------------------------------------------------


def _tensor_backing(group: Group) -> TMEMAllocOp:
    rows = max(rows_of(memdesc(member.op.result.type)) for member in group.members)
    columns = -(-group.size // 4) * 4
    return TMEMAllocOp(tensor_memory_type(max(rows, TMEM_ROWS), columns, _cluster_bits(group)))


def _columns_of(backing: SSAValue, offset: int, type: MemDescType) -> Iterator[Operation]:
    if offset == 0:
        yield MemDescReinterpretOp(backing, type)
        return
    slot = offset // unit_of(type)
    array = MemDescReinterpretOp(backing, expanded_front(type, slot + 1))
    index = ConstantOp(IntegerAttr(slot, i32))
    yield array
    yield index
    yield MemDescIndexOp(array.result, index.result, type)


def expanded_front(type: MemDescType, count: int) -> MemDescType:
    """An array of `count` buffers like `type`."""
    return expanded(type.with_shape((1, *type.shape)), count)


# -- the buffers ---------------------------------------------------------------------------------


def _replace(
    member: Candidate, ops: Sequence[Operation], type: MemDescType, rewriter: Rewriter
) -> None:
    old = member.op
    view = ops[-1].results[0]
    seen = [value for value in reachable(old.result, views_of) if value is not old.result]
    for use in list(old.result.uses):
        if isinstance(use.operation, LocalDeallocOp):
            rewriter.erase(use.operation)
    fills: list[Operation] = []
    if old.src is not None:
        fills = [*_fill(old.src, view, type)]
    was_mutable = memdesc(old.result.type).mutable
    view.name_hint = old.result.name_hint
    rewriter.replace_op(old, [*ops, *fills], [view])
    if not was_mutable:
        for value in seen:
            kind = memdesc(value.type)
            if not kind.mutable:
                rewriter.retype(value, replace(kind, mutable=True))


def _fill(src: SSAValue, view: SSAValue, type: MemDescType) -> Iterator[Operation]:
    if memory_of(type) is Memory.TMEM:
        true = ConstantOp(IntegerAttr.from_bool(True))
        yield true
        yield TMEMStoreOp(src, view, true.result)
        return
    yield LocalStoreOp(src, view)
