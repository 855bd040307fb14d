"""Layout conversion through shared memory.

    tile.parallel { %B[..] = %A[..] }    ->    tile.parallel { %S[..] = %A[..] }
                                               tile.parallel { %B[..] = %S[..] }

Fragments that one loop uses may have different layouts, each dictated by another GEMM; an element
may have a data-dependent index; a result of a reduction may be owned by other threads than its
parts; the accumulator of one GEMM may be an operand of the next. Then elements have to move between
threads, through shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.layout_inference.agreement import LayoutConflict
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    GemmOp,
    ParallelOp,
    ReduceOp,
    RegionOp,
    Space,
    SpaceAttr,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.codes.shared import STAGED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.lds import CHUNK_BYTES, LdsSwizzle
from tilewright.passes.gpu.lower.line_reductions import reduce_through_memory
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.tile_regions import copy_elements, part_of

_OPERANDS = (0, 1)
"""Of a GEMM: A and B."""


def stage(clash: LayoutConflict, engine: DiagnosticEngine) -> bool:
    """Let a loop or a reduction use a fragment through shared memory; whether it does.

    A user-specified layout is not worked around: it was meant.
    """
    op, fragment = clash.op, clash.fragment
    owner = fragment.owner
    if isinstance(op, ReduceOp):
        name = owner.buffer_name if isinstance(owner, AllocOp) else "the source"
        remark = engine.remark(
            op,
            f"'{name}' is reduced through shared memory, not by warp shuffles (slower, same "
            f"result): {clash.reason}",
            STAGED,
        )
        result = None if clash.result is None else clash.result.owner
        if isinstance(result, AllocOp) and clash.origin not in (None, op):
            remark.note(*_use_of(op, clash.origin, result.buffer_name, name))
        reduce_through_memory(op)
        return True
    if isinstance(op, GemmOp):
        return _stage_gemm(op, clash, engine)
    if isinstance(op, CopyOp):
        _stage_exchange(op, clash, engine)
        return True
    if _exchange_result(op, fragment):
        return True
    accesses = [
        each
        for each in walk(op)
        if isinstance(each, (LoadOp, StoreOp)) and base_of(each.memref) is fragment
    ]
    if not isinstance(owner, AllocOp) or owner.layout is not None or not accesses:
        return False
    writes = any(isinstance(each, StoreOp) for each in accesses)
    code = IndexBuilder(op)
    layout = None
    if all(each.memref is fragment for each in accesses):
        layout = _spread_over_banks(op, fragment)
    name = f"{owner.buffer_name}_staged"
    dtype = unsigned_dtype(fragment)
    buffer = AllocOp(_in_shared(fragment), name=name, layout=layout, dtype=dtype)
    staged = code.add(buffer).results[0]
    # Also before a loop that writes: it may leave some elements as they are.
    copy_elements(code, fragment, staged)
    for each in accesses:
        index = next(n for n, value in enumerate(each.operands) if value is each.memref)
        seen = each.memref
        each.operands[index] = (
            staged if seen is fragment else code.add(ViewOp(staged, _in_shared(seen))).results[0]
        )
    if writes:
        following = op.next_op
        assert following is not None
        copy_elements(IndexBuilder(following), staged, fragment)
    text = f"'{owner.buffer_name}' is staged through shared memory here: {clash.reason}"
    engine.remark(op, text, STAGED)
    return True


def _exchange_result(loop: ParallelOp, fragment: SSAValue) -> bool:
    """AMD: compute the operand of a GEMM where its parts are, and copy that; whether it is so.

    Operands have fewer bits than the accumulators that they come from.
    """
    stores = [each for each in walk(loop) if isinstance(each, StoreOp)]
    if amd_chip_of(loop) is None or len(stores) != 1:
        return False
    (store,) = stores
    target, owner = store.memref, store.memref.owner
    if (
        not isinstance(owner, AllocOp)
        or owner.space is not Space.FRAGMENT
        or owner.layout is not None
        or target is fragment
        or store.parent is not loop.body.block
        or tuple(store.indices) != tuple(loop.body.block.args)
        or tuple(part_of(target).extents) != loop.extents
        or any(isinstance(each, LoadOp) and base_of(each.memref) is target for each in walk(loop))
        or not _is_operand(target)
        or bit_width(element_type_of(target.type)) > bit_width(element_type_of(fragment.type))
    ):
        return False
    name = f"{owner.buffer_name}_own"
    made = AllocOp(_like(target, Space.FRAGMENT), name=name, dtype=unsigned_dtype(target))
    own = IndexBuilder(loop).add(made).results[0]
    own.name_hint = name
    store.operands[1] = own
    following = loop.next_op
    assert following is not None, "a block ends with a terminator"
    IndexBuilder(following).add(CopyOp(own, target)).location = loop.location
    return True


def _is_operand(fragment: SSAValue) -> bool:
    """Whether a GEMM reads a fragment, or a part of it."""
    return any(
        (isinstance(use.operation, GemmOp) and use.index in _OPERANDS)
        or (isinstance(use.operation, RegionOp) and _is_operand(use.operation.result))
        for use in fragment.uses
    )


def _stage_exchange(op: CopyOp, clash: LayoutConflict, engine: DiagnosticEngine) -> None:
    """Copy between fragments through shared memory."""
    owner = clash.fragment.owner
    assert isinstance(owner, AllocOp)
    code = IndexBuilder(op)
    layout = _spread_over_banks(op, op.dst)
    name = f"{owner.buffer_name}_staged"
    dtype = unsigned_dtype(op.dst)
    alloc = AllocOp(_in_shared(op.dst), name=name, layout=layout, dtype=dtype)
    staged = code.add(alloc).results[0]
    copy_elements(code, op.src, staged)
    copy_elements(code, staged, op.dst)
    text = f"'{owner.buffer_name}' is staged through shared memory here: {clash.reason}"
    engine.remark(op, text, STAGED)
    code.rewriter.erase(op)


def _spread_over_banks(op: Operation, fragment: SSAValue) -> LayoutAttr | None:
    """AMD: padded rows, since the lanes of a wave hold rows of an accumulator."""
    shape = shape_of(fragment.type)
    bits = bit_width(element_type_of(fragment.type))
    row_bytes = shape[-1] * bits // 8
    if amd_chip_of(op) is None or len(shape) != 2 or row_bytes % CHUNK_BYTES:
        return None
    rows = LdsSwizzle(row_bytes, padding_bytes=CHUNK_BYTES).layout((shape[0], shape[1]), bits)
    return LayoutAttr(LayoutMap.from_function(tuple(shape), rows.forward))


def _use_of(
    op: ReduceOp, origin: Operation | None, result: str, source: str
) -> tuple[Operation | None, str]:
    """The use that the layout of a reduction's result follows from, and what would suit it."""
    loop = walk(origin) if isinstance(origin, ParallelOp) else ()
    accesses = [each for each in loop if isinstance(each, (LoadOp, StoreOp))]
    of_source = [each for each in accesses if base_of(each.memref) is base_of(op.src)]
    reads = [
        each
        for each in accesses
        if isinstance(each, LoadOp) and base_of(each.memref) is base_of(op.dst)
    ]
    text = (
        f"the layout of '{result}' follows from this use: shuffles are used if each thread reads "
        f"here only results of elements of '{source}' that it owns"
    )
    for read in reads:
        for each in of_source:
            owned, used = _names(each.indices), _names(read.indices)
            own = (*owned[: op.axis], *owned[op.axis + 1 :])
            if all(own) and all(used) and len(own) == len(used) and own != used:
                return read, (
                    f"{_element(result, used)} is read by the thread that owns "
                    f"{_element(source, owned)}: with {_element(result, own)} shuffles are used; "
                    f"if {_element(result, used)} is meant, nothing has to be changed"
                )
    return (reads[0] if reads else origin), text


def _names(indices: Sequence[SSAValue]) -> tuple[str, ...]:
    """The loop variables that `indices` are; empty where one is something else."""
    return tuple(
        (each.name_hint or "") if isinstance(each, BlockArgument) else "" for each in indices
    )


def _element(name: str, indices: Sequence[str]) -> str:
    return f"{name}[{', '.join(indices)}]"


def _stage_gemm(op: GemmOp, clash: LayoutConflict, engine: DiagnosticEngine) -> bool:
    """Let a GEMM read a fragment in shared memory, or add to another one and copy that back.

    One that goes on after it was issued is left alone: its operands would have to stay until then.
    """
    owner = clash.fragment.owner
    if not isinstance(owner, AllocOp) or owner.layout is not None or op.is_async():
        return False
    name = f"{owner.buffer_name}_staged"
    code = IndexBuilder(op)
    operands = [n for n in range(2) if base_of(op.operands[n]) is clash.fragment]
    for index in operands:
        value = op.operands[index]
        alloc = AllocOp(_in_shared(value), name=name, dtype=unsigned_dtype(value))
        staged = code.add(alloc).results[0]
        copy_elements(code, value, staged)
        op.operands[index] = staged
    if not operands:
        accumulator = op.c
        dtype = unsigned_dtype(accumulator)
        alloc = AllocOp(_like(accumulator, Space.FRAGMENT), name=name, dtype=dtype)
        own = code.add(alloc).results[0]
        if op.clear is None:
            copy_elements(code, accumulator, own)
        op.operands[2] = own
        following = op.next_op
        assert following is not None
        copy_elements(IndexBuilder(following), own, accumulator)
    where = (
        "is staged through shared memory here"
        if operands
        else "is copied to another fragment and back around this GEMM"
    )
    engine.remark(op, f"'{owner.buffer_name}' {where}: {clash.reason}", STAGED)
    return True


def _in_shared(buffer: SSAValue) -> MemRefType:
    return _like(buffer, Space.SHARED)


def _like(buffer: SSAValue, space: Space) -> MemRefType:
    element, shape = element_type_of(buffer.type), shape_of(buffer.type)
    return MemRefType(element, shape, NoneAttr(), SpaceAttr(space))
