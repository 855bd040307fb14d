"""Which dimension of a buffer runs along the rows of a tile, and which along its columns.

A buffer of two dimensions has rows and columns. A buffer of one dimension is a column vector
(its elements run down the rows of tiles, like the result of ``T.reduce_sum(x, y, dim=1)``) or a row
vector (like a bias ``b[j]``); its uses decide. The elements that occur together, in a loop, a copy
or a reduction, run along the same axis: classes of a union-find, two of which are fixed.

    for i, j in T.Parallel(64, 32): x[i, j] = x[i, j] * s[i]     s is a column vector
    T.copy(s, S[b, 0:64])                                        so dimension 1 of S is rows
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, CopyOp, ParallelOp, ReduceOp, RegionOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk

Node: TypeAlias = Hashable
ROWS, COLUMNS = "rows", "columns"
Axis: TypeAlias = str


@dataclass(frozen=True)
class Conflict:
    """A buffer or a tensor dimension that would have to run along both axes."""

    op: Operation
    what: str


@dataclass
class Axes:
    """The axis of every loop index, of every dimension of a buffer and of a tensor."""

    _parents: dict[Node, Node] = field(default_factory=dict[Node, Node])
    conflicts: list[Conflict] = field(default_factory=list[Conflict])

    def find(self, node: Node) -> Node:
        while (parent := self._parents.get(node, node)) != node:
            node = parent
        return node

    def union(self, one: Node, other: Node, op: Operation, what: str) -> None:
        if not _is_single(one) and not _is_single(other):
            self.join(one, other, op, what)

    def join(self, one: Node, other: Node, op: Operation, what: str) -> None:
        """As `union`, also for vectors of one element."""
        first, second = self.find(one), self.find(other)
        if first == second:
            return
        if {first, second} == {ROWS, COLUMNS}:
            self.conflicts.append(Conflict(op, what))
            return
        if first in (ROWS, COLUMNS):
            first, second = second, first
        self._parents[first] = second

    def axis(self, node: Node) -> Axis:
        """The axis of a node; columns where no use decides."""
        found = self.find(node)
        return ROWS if found == ROWS else COLUMNS

    def of_buffer(self, buffer: SSAValue) -> dict[int, Axis]:
        """The axis of each dimension that has more than one element or a fixed axis."""
        return {dim: self.axis((buffer, dim)) for dim in matrix_dims(shape_of(buffer.type))}

    def extents(self, buffer: SSAValue) -> tuple[int, int]:
        """Rows and columns of a buffer, in elements."""
        shape = shape_of(buffer.type)
        found = {ROWS: 1, COLUMNS: 1}
        for dim, axis in self.of_buffer(buffer).items():
            found[axis] = shape[dim]
        return found[ROWS], found[COLUMNS]


def _is_single(node: Node) -> bool:
    """Whether a node is the dimension of a vector of one element, which has no axis."""
    return (
        isinstance(node, tuple) and isinstance(node[0], SSAValue) and shape_of(node[0].type) == (1,)
    )


def matrix_dims(shape: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of a buffer that form its matrix or vector; the others have one element.

    The last two of a buffer of rank 2 or more, moved to the left past extents of 1.
    """
    if len(shape) <= 2:
        return tuple(range(len(shape)))
    large = [dim for dim, extent in enumerate(shape) if extent != 1]
    if len(large) > 2:
        return tuple(large)
    for dim in reversed(range(len(shape))):
        if len(large) < 2 and dim not in large:
            large.append(dim)
    return tuple(sorted(large))


def axes_of(function: FuncOp) -> Axes:
    """The axes of all buffers and tensors of a function."""
    found = Axes()
    for op in walk(function):
        if isinstance(op, AllocOp) and space_of(op.result.type) is not Space.GLOBAL:
            _fix_matrix(op, found)
    for op in walk(function):
        if isinstance(op, ParallelOp):
            _of_loop(op, found)
        elif isinstance(op, CopyOp):
            _of_copy(op, found)
        elif isinstance(op, ReduceOp):
            _of_reduction(op, found)
    return found


def _fix_matrix(op: AllocOp, axes: Axes) -> None:
    dims = matrix_dims(op.type.get_shape())
    if len(dims) == 2:
        for dim, axis in zip(dims, (ROWS, COLUMNS), strict=True):
            axes.union((op.result, dim), axis, op, op.buffer_name)


def name_of(value: SSAValue) -> str:
    """The user's name of a buffer or tensor."""
    owner = value.owner
    if isinstance(owner, AllocOp):
        return owner.buffer_name
    if isinstance(value, BlockArgument):
        return value.name_hint or f"arg{value.index}"
    return value.name_hint or "buffer"


# -- loops -----------------------------------------------------------------------------------------


def _of_loop(loop: ParallelOp, axes: Axes) -> None:
    """Loop indices share the axis of the dimensions that they index."""
    arguments = loop.arguments
    accesses = [op for op in walk(loop) if isinstance(op, (LoadOp, StoreOp))]
    # What is stored decides; loads follow.
    for op in sorted(accesses, key=lambda op: isinstance(op, LoadOp)):
        buffer = op.memref
        if space_of(buffer.type) is Space.GLOBAL:
            continue
        for dim, index in enumerate(op.indices):
            if index in arguments:
                axes.union((buffer, dim), index, op, name_of(buffer))
    if len(arguments) == 2 and not any(axes.find(each) in (ROWS, COLUMNS) for each in arguments):
        # Only vectors are accessed: rows are the outer loop.
        axes.union(arguments[0], ROWS, loop, "loop index")
        axes.union(arguments[1], COLUMNS, loop, "loop index")
    elif len(arguments) == 2:
        _other_axis(loop, axes)


def _other_axis(loop: ParallelOp, axes: Axes) -> None:
    first, second = loop.arguments
    for known, other in ((first, second), (second, first)):
        axis = axes.find(known)
        if axis in (ROWS, COLUMNS) and axes.find(other) not in (ROWS, COLUMNS):
            axes.union(other, COLUMNS if axis == ROWS else ROWS, loop, "loop index")


# -- copies ----------------------------------------------------------------------------------------


def region_shape(value: SSAValue) -> tuple[SSAValue, tuple[Mixed, ...], tuple[Mixed, ...]]:
    """The buffer, the offsets and the extents of a side of a copy."""
    owner = value.owner
    if isinstance(owner, RegionOp):
        return owner.base, owner.offsets, owner.extents
    shape = shape_of(value.type)
    return value, (0,) * len(shape), tuple(shape)


def matched_dims(one: Sequence[Mixed], other: Sequence[Mixed]) -> list[tuple[int, int]] | None:
    """Pairs of dimensions of the two sides of a copy; those left over have one element."""
    return _match(list(one), list(other), len(one) - 1, len(other) - 1)


def _match(
    one: list[Mixed], other: list[Mixed], at: int, beside: int
) -> list[tuple[int, int]] | None:
    """Match from the last dimension on, and leave out extents of 1 where the other side differs."""
    if at < 0 and beside < 0:
        return []
    if at >= 0 and beside >= 0 and one[at] == other[beside]:
        found = _match(one, other, at - 1, beside - 1)
        if found is not None:
            return [*found, (at, beside)]
    if at >= 0 and one[at] == 1:
        found = _match(one, other, at - 1, beside)
        if found is not None:
            return found
    if beside >= 0 and other[beside] == 1:
        return _match(one, other, at, beside - 1)
    return None


def _of_copy(op: CopyOp, axes: Axes) -> None:
    one, _, extents = region_shape(op.src)
    other, _, required = region_shape(op.dst)
    pairs = matched_dims(extents, required)
    for dim, twin in pairs or ():
        # A tensor of one element, padded to the box that is copied, has the axis of the buffer.
        unite = axes.union if extents[dim] == 1 else axes.join
        unite((base_of(one), dim), (base_of(other), twin), op, name_of(base_of(other)))


def _of_reduction(op: ReduceOp, axes: Axes) -> None:
    shape = shape_of(op.src.type)
    remaining = [dim for dim in range(len(shape)) if dim != op.axis]
    target = shape_of(op.dst.type)
    keeps = len(target) == len(shape)
    for position, dim in enumerate(remaining):
        twin = dim if keeps else position
        if twin < len(target):
            axes.union((op.src, dim), (op.dst, twin), op, name_of(op.dst))


def conflicts_of(axes: Axes) -> Iterator[Conflict]:
    """The conflicts, each buffer once."""
    seen: set[str] = set()
    for each in axes.conflicts:
        if each.what not in seen:
            seen.add(each.what)
            yield each
