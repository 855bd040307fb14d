"""Fragments that may be replaced by one for each few columns: loops access them element by element.

    tile.parallel (i, j) in (128, 128) { O[i, j] = O[i, j] * m[i] }

Such loops can be divided into columns wherever they are, and then no access is left that needs two
of the parts. A loop must access all such fragments of its shape in this way, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, ParallelOp, Space, space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk


def column_fragments(
    kernel: KernelOp, chained: Mapping[Operation, Collection[SSAValue]]
) -> dict[SSAValue, list[ParallelOp]]:
    """Fragments that only element loops use, and these loops.

    `chained` are statements with the fragments that will be divided there anyway.
    """
    loops: dict[SSAValue, list[ParallelOp]] = {}
    for op in walk(kernel):
        if not isinstance(op, AllocOp) or op.space is not Space.FRAGMENT or op.layout is not None:
            continue
        if len(shape_of(op.result.type)) == 2:
            users = [element_loop(use.operation, op.result) for use in op.result.uses]
            if all(each is not None for each in users):
                loops[op.result] = list(dict.fromkeys(each for each in users if each is not None))
    while True:
        wrong = [
            fragment
            for fragment, users in loops.items()
            if any(
                other not in loops and other not in chained.get(each, ())
                for each in users
                for other in element_fragments(each)
            )
        ]
        if not wrong:
            return loops
        for each in wrong:
            del loops[each]


def element_loop(op: Operation, fragment: SSAValue) -> ParallelOp | None:
    """The loop that accesses an element of a fragment for each of its own."""
    if not isinstance(op, LoadOp | StoreOp) or op.memref is not fragment:
        return None
    current: Operation | None = op
    while current is not None and not isinstance(current, ParallelOp):
        current = current.parent_op()
    if current is None or not is_divisible_loop(current):
        return None
    same = current.extents == shape_of(fragment.type)
    return current if same and tuple(op.indices) == tuple(current.body.block.args) else None


def is_divisible_loop(op: ParallelOp) -> bool:
    """Whether fragments in a loop over rows and columns are accessed by row, or by element."""
    if op.layout is not None or len(op.extents) != 2:
        return False
    arguments = tuple(op.body.block.args)
    for each in walk(op):
        if isinstance(each, ParallelOp | CopyOp) and each is not op:
            return False
        if not isinstance(each, LoadOp | StoreOp):
            continue
        if space_of(each.memref.type) is not Space.FRAGMENT:
            continue
        indices = tuple(each.indices)
        is_element = indices == arguments and shape_of(each.memref.type) == op.extents
        if not is_element and any(index is not arguments[0] for index in indices):
            return False
    return True


def element_fragments(op: ParallelOp) -> list[SSAValue]:
    """The fragments that a divisible loop accesses by element."""
    return list(
        dict.fromkeys(
            each.memref
            for each in walk(op)
            if isinstance(each, LoadOp | StoreOp)
            and space_of(each.memref.type) is Space.FRAGMENT
            and len(shape_of(each.memref.type)) == 2
        )
    )


def together(fragments: set[SSAValue], loops: dict[SSAValue, list[ParallelOp]]) -> set[SSAValue]:
    """These fragments and all that must be divided with them."""
    found, pending = set[SSAValue](), list(fragments)
    while pending:
        fragment = pending.pop()
        if fragment not in found:
            found.add(fragment)
            near = [other for each in loops[fragment] for other in element_fragments(each)]
            pending += [each for each in near if each in loops]
    return found
