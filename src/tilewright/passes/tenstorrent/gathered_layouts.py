"""Tensors whose blocks begin anywhere: the host gathers each block into tiles of its own.

    blocks of 64 rows at 0, 64, 70, 71     ->     4 blocks of 2 tile rows, rows 70 .. 133 twice

A block that is not aligned to the others has no tiles in a tensor that is tilized as a whole. If
the offsets of all accesses are known, the host copies the elements of every block, padded to whole
tiles, sequentially; a block that is written states how many of its elements are valid. The
offset of an access becomes the position of its block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AndiOp, CmpiOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import CopyOp, ParallelOp, RegionOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tenstorrent.enumerate_indices import NotEnumerable, enumerated
from tilewright.passes.tenstorrent.tabulate_scalars import lookup, needed_coordinates

MAX_BLOCKS = 4096


@dataclass(frozen=True)
class Box:
    """An access, as far as the arrangement along one dimension is concerned."""

    op: CopyOp
    region: SSAValue
    offset: Mixed
    extent: int
    is_write: bool
    dim: int


@dataclass(frozen=True)
class Gather:
    """Where the blocks of a dimension begin, and how many elements of each are valid."""

    extent: int
    starts: tuple[int, ...]
    limits: tuple[int, ...] = ()
    """Without limits all elements are."""


def gather_of(boxes: Sequence[Box], size: int) -> Gather | None:
    """The blocks that suit all accesses; None if there are none."""
    extents = {box.extent for box in boxes}
    if len(extents) != 1:
        return None
    (extent,) = extents
    try:
        values = [enumerated([box.offset]).values.values() for box in boxes]
        starts = sorted({offset for each in values for (offset,) in each})
        if not starts or starts[0] < 0 or len(starts) > MAX_BLOCKS:
            return None
        limits = _limits([box for box in boxes if box.is_write], starts, extent)
    except NotEnumerable:
        return None
    gather = Gather(extent, tuple(starts), tuple(limits))
    return gather if _is_disjoint(gather, size) else None


def _is_disjoint(gather: Gather, size: int) -> bool:
    """Whether no element is written by two blocks."""
    if not gather.limits:
        return True
    end = 0
    for start, limit in zip(gather.starts, gather.limits, strict=True):
        if limit and start < end:
            return False
        end = max(end, min(start + limit, size))
    return True


def _limits(boxes: Sequence[Box], starts: Sequence[int], extent: int) -> list[int]:
    """The valid elements of each block; nothing if no access writes."""
    if not boxes:
        return []
    found = dict.fromkeys(starts, 0)
    for box in boxes:
        guard = _guard(box)
        if guard is None:
            for (start,) in enumerated([box.offset]).values.values():
                found[start] = extent
            continue
        index, left, right = guard
        pairs = enumerated([box.offset, left, right], {index: 0}).values.values()
        for start, before, end in pairs:
            found[start] = max(found[start], min(max(end - before, 0), extent))
    return [found[start] for start in starts]


# -- guards ----------------------------------------------------------------------------------------


def _guard(box: Box) -> tuple[SSAValue, SSAValue, SSAValue] | None:
    """The index, and the sides of ``left < right`` in the condition of a store; `left` has it."""
    stores = [
        use.operation
        for use in box.op.src.uses
        if isinstance(use.operation, StoreOp) and use.operation.memref is box.op.src
    ]
    region = box.region.owner
    if len(stores) != 1 or not isinstance(region, RegionOp):
        return None
    (store,) = stores
    large = [dim for dim, extent in enumerate(region.extents) if extent != 1]
    if box.dim not in large or len(large) != len(store.indices):
        return None
    index = store.indices[large.index(box.dim)]
    choice = store.value.owner
    if not isinstance(choice, SelectOp) or not _is_old(choice.operands[2], store):
        return None
    for test in _terms(choice.operands[0]):
        sides = _less_than(test)
        if sides is not None and _depends(sides[0], index) and not _depends_on_loop(sides[1]):
            return index, *sides
    return None


def _is_old(value: SSAValue, store: StoreOp) -> bool:
    load = value.owner
    return (
        isinstance(load, LoadOp)
        and load.memref is store.memref
        and list(load.indices) == list(store.indices)
    )


def _terms(condition: SSAValue) -> Iterator[Operation]:
    owner = condition.owner
    if isinstance(owner, AndiOp):
        for operand in owner.operands:
            yield from _terms(operand)
    elif isinstance(owner, Operation):
        yield owner


def _less_than(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    if not isinstance(op, CmpiOp):
        return None
    left, right = op.operands
    if op.predicate_name in ("slt", "ult"):
        return left, right
    return (right, left) if op.predicate_name in ("sgt", "ugt") else None


def _depends(value: SSAValue, index: SSAValue) -> bool:
    owner = value.owner
    if value is index:
        return True
    return isinstance(owner, Operation) and any(_depends(each, index) for each in owner.operands)


def _depends_on_loop(value: SSAValue) -> bool:
    """Whether a value is different for the elements of a block."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return isinstance(owner.parent_op(), ParallelOp)
    return any(_depends_on_loop(each) for each in owner.operands)


# -- accesses --------------------------------------------------------------------------------------


def use_positions(boxes: Sequence[Box], gather: Gather) -> None:
    """Let accesses state the position of their block instead of its offset."""
    rewriter = Rewriter()
    done: set[Operation] = set()
    for box in boxes:
        region = box.region.owner
        if not isinstance(region, RegionOp) or region in done:
            continue
        done.add(region)
        found = enumerated([box.offset])
        known = {
            at: gather.starts.index(offset) * gather.extent
            for at, (offset,) in found.values.items()
        }
        needed = needed_coordinates(known, len(found.indices))
        made = lookup(known, [found.indices[each] for each in needed], needed)
        rewriter.insert_before(region, made)
        offsets: list[Mixed] = list(region.offsets)
        offsets[box.dim] = made[-1].results[0]
        replacement = RegionOp(region.base, offsets, list(region.extents))
        rewriter.replace_op(region, replacement)
