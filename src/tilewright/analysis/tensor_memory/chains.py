"""Statements between a copy from tensor memory and its last use, which can be divided into columns.

    tile.copy %C -> %f          (128 x 256)
    tile.reduce max %f -> %m                      one chain: each statement can be done for some
    tile.parallel (i, j) { S[i, j] = f[i, j] }    columns, and all of them before the next columns

Fragments only pass values on, from a copy to element loops, copies and reductions of rows, where a
thread holds whole rows. Loops access them element by element, and other fragments by row or, if
they can be divided too (`column_fragments`), by element. A statement in between that has nothing
to do with the chain comes before it, one that
needs a result of it after it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.analysis.layout_inference.scopes import GROUP, threads_of
from tilewright.analysis.layout_inference.tensor_memory import LANES, is_move
from tilewright.analysis.pipelining.dependences import has_unknown_effects
from tilewright.analysis.tensor_memory.column_fragments import (
    column_fragments,
    element_fragments,
    is_divisible_loop,
)
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    KernelOp,
    ParallelOp,
    ReduceOp,
    RegionOp,
    Space,
    space_of,
)
from tilewright.dialects.tile.access import AccessedRegion
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk

COLUMNS = 32
"""Of one part."""
_MANY_REGISTERS = 128


@dataclass
class Chain:
    """Statements of one block, in order, and the fragments that only they use in between."""

    ops: list[Operation]
    fragments: set[SSAValue] = field(default_factory=set[SSAValue])
    delayed: list[Operation] = field(default_factory=list[Operation])
    """Statements in between that need what the chain computes."""
    partners: set[SSAValue] = field(default_factory=set[SSAValue])
    """Other fragments that loops access by element."""


def chains(kernel: KernelOp) -> list[Chain]:
    """The chains of a kernel."""
    if not any(is_move(op) for op in walk(kernel)):
        return []
    chain_of: dict[Operation, Chain] = {}
    for fragment, parts in segments(kernel).items():
        for part in parts:
            joined = Chain(list(part), {fragment})
            for op in part:
                other = chain_of.get(op)
                if other is not None and other is not joined:
                    joined.ops += [each for each in other.ops if each not in joined.ops]
                    joined.fragments |= other.fragments
            for op in joined.ops:
                chain_of[op] = joined
    found: list[Chain] = []
    for chain in chain_of.values():
        if not any(chain is each for each in found):
            found.append(chain)
    while True:
        others = column_fragments(kernel, divided_in(found))
        possible = [each for each in found if _is_possible(each, others)]
        if len(possible) == len(found):
            return found
        found = possible  # what is shared with a chain that is none stays whole


def divided_in(found: Sequence[Chain]) -> dict[Operation, set[SSAValue]]:
    """For each statement of chains the fragments that are divided there."""
    return {op: chain.fragments for chain in found for op in chain.ops}


def segments(kernel: KernelOp) -> dict[SSAValue, list[list[Operation]]]:
    """For fragments of two dimensions the statements that use them, divided by `_segments`."""
    found: dict[SSAValue, list[list[Operation]]] = {}
    for op in walk(kernel):
        if not isinstance(op, AllocOp) or op.space is not Space.FRAGMENT or op.layout is not None:
            continue
        if len(shape_of(op.result.type)) == 2:
            parts = _segments(op.result, kernel)
            if parts is not None:
                found[op.result] = parts
    return found


def has_many_registers(fragment: SSAValue) -> bool:
    """Whether a fragment takes so many registers of 128 threads that it is worth dividing."""
    rows, columns = shape_of(fragment.type)
    bits = bit_width(element_type_of(fragment.type))
    return rows * columns * bits // (32 * GROUP) >= _MANY_REGISTERS


def _segments(fragment: SSAValue, kernel: KernelOp) -> list[list[Operation]] | None:
    """The statements that use a fragment, divided where it is written anew.

    None if a value may outlive its statements.
    """
    users = list(dict.fromkeys(_statement(use.operation) for use in fragment.uses))
    if not users or any(each is None for each in users):
        return None
    ordered = [op for op in walk(kernel) if op in users]
    found: list[list[Operation]] = []
    for op in ordered:
        if _fills(op, fragment):
            found.append([op])
        elif not found or found[-1][0].parent is not op.parent:
            return None
        else:
            found[-1].append(op)
    return found


def _statement(op: Operation) -> Operation | None:
    """The copy, reduction of rows or element loop that an op is, or is in."""
    if isinstance(op, CopyOp):
        return op if is_move(op) else None
    if isinstance(op, ReduceOp):
        return op if _reduces_rows(op) else None
    current: Operation | None = op
    while current is not None and not isinstance(current, ParallelOp):
        current = current.parent_op()
    if not isinstance(op, LoadOp | StoreOp):
        return None
    return current


def _reduces_rows(op: ReduceOp) -> bool:
    """Whether each thread reduces rows that it holds."""
    shape = shape_of(op.src.type)
    return (
        op.scope.data == "block"
        and len(shape) == 2
        and shape[0] == LANES
        and op.axis == 1
        and shape_of(op.dst.type) == shape[:1]
        and all(space_of(each.type) is Space.FRAGMENT for each in (op.src, op.dst))
        and not any(isinstance(each.owner, RegionOp) for each in (op.src, op.dst))
    )


def _fills(op: Operation, fragment: SSAValue) -> bool:
    """Whether a statement writes all of a fragment and reads nothing of it."""
    if isinstance(op, CopyOp):
        return op.dst is fragment
    if not isinstance(op, ParallelOp):
        return False
    loads = any(isinstance(each, LoadOp) and each.memref is fragment for each in walk(op))
    stores = [
        each for each in op.body.block.ops if isinstance(each, StoreOp) and each.memref is fragment
    ]
    return (
        not loads
        and bool(stores)
        and op.extents == shape_of(fragment.type)
        and all(tuple(each.indices) == tuple(op.body.block.args) for each in stores)
    )


def _is_possible(chain: Chain, others: Container[SSAValue]) -> bool:
    shapes = {shape_of(each.type) for each in chain.fragments}
    block = chain.ops[0].parent
    if len(shapes) != 1 or block is None or any(op.parent is not block for op in chain.ops):
        return False
    (shape,) = shapes
    positions = {op: index for index, op in enumerate(block.ops)}
    chain.ops.sort(key=lambda op: positions[op])
    if len(shape) != 2 or shape[1] % COLUMNS or threads_of(chain.ops[0]).count != GROUP:
        return False
    is_load = any(isinstance(op, CopyOp) and op.dst in chain.fragments for op in chain.ops)
    if not is_load or not any(map(has_many_registers, chain.fragments)):
        return False
    chain.partners = set()
    return (
        all(_is_divisible(op, chain, shape, others) for op in chain.ops)
        and _are_independent(chain)
        and _come_together(chain)
    )


def _is_divisible(
    op: Operation, chain: Chain, shape: tuple[int, ...], others: Container[SSAValue]
) -> bool:
    if not isinstance(op, ParallelOp):
        return True
    if op.extents != shape or not is_divisible_loop(op):
        return False
    partners = {each for each in element_fragments(op) if each not in chain.fragments}
    chain.partners |= partners
    return all(each in others for each in partners)


def _are_independent(chain: Chain) -> bool:
    """Whether statements only pass elements on to the same elements of the next.

    Another statement then never needs columns that have not been computed.
    """
    for position, op in enumerate(chain.ops):
        for other in chain.ops[position + 1 :]:
            pairs = [
                *((one, another) for one in writes(op) for another in _accesses(other)),
                *((one, another) for one in reads(op) for another in writes(other)),
            ]
            for one, another in pairs:
                if one.base in chain.fragments or not one.may_overlap(another):
                    continue
                is_matrix = len(shape_of(one.base.type)) == 2
                if is_matrix and space_of(one.base.type) is Space.FRAGMENT:
                    continue  # `_is_divisible`: element by element
                both_move = isinstance(op, CopyOp) and isinstance(other, CopyOp)
                same = (one.offsets, one.extents) == (another.offsets, another.extents)
                if not (both_move and same):
                    return False
    return True


def _accesses(op: Operation) -> list[AccessedRegion]:
    return [*reads(op), *writes(op)]


def _come_together(chain: Chain) -> bool:
    """Whether the statements may all run where the last of them is."""
    first, last = chain.ops[0], chain.ops[-1]
    moving: list[Operation] = []
    chain.delayed = []
    op: Operation | None = first
    while op is not None:
        if op in chain.ops:
            if conflict(op, chain.delayed):
                return False
            moving.append(op)
            if op is last:
                return True
        elif not is_pure(op):
            if has_unknown_effects(op):
                return False
            if conflict(op, moving) or conflict(op, chain.delayed):
                if op.results:
                    return False
                chain.delayed.append(op)
        op = op.next_op
    return False


def is_pure(op: Operation) -> bool:
    """Whether an op only computes or declares."""
    return isinstance(op, AllocOp | RegionOp) or (not op.regions and is_side_effect_free(op))


def conflict(op: Operation, others: Sequence[Operation]) -> bool:
    """Whether the order of `op` and one of the others matters."""
    accessed, written = _accesses(op), writes(op)
    for each in others:
        if any(a.may_overlap(b) for a in written for b in _accesses(each)):
            return True
        if any(a.may_overlap(b) for a in accessed for b in writes(each)):
            return True
    return False
