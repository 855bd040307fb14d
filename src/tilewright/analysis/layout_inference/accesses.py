"""Which element of a fragment each iteration of a parallel loop accesses.

Indices are arithmetic on the loop's variables and constants, so they are computed for all
iterations at once. An index that does not depend on the iteration but is not known either (a serial
loop's variable) may have any value: such a dimension is assumed to be accessed as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.integers.index_values import ARITHMETIC
from tilewright.analysis.layout_inference.fit import IntArray
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import ParallelOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

SAME = frozenset(("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"))


class Depends(Exception):
    """An index depends on the iteration and on run-time values."""

    def __init__(self, value: SSAValue) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class FragmentAccess:
    """One access to a fragment in a parallel loop."""

    op: LoadOp | StoreOp
    buffer: SSAValue
    """The allocation, also where the op accesses a view of it."""
    elements: tuple[IntArray, ...]
    """Coordinates; the axes of the loop, then one for each dimension accessed as a whole."""
    extra: int
    """How many of those further axes there are."""

    @property
    def is_write(self) -> bool:
        return isinstance(self.op, StoreOp)

    @property
    def is_one_to_one(self) -> bool:
        """Whether the iterations access all elements of the buffer, each once."""
        size = int(np.prod(shape_of(self.buffer.type)))
        return size == self.elements[0].size and self.is_distinct

    @cached_property
    def is_distinct(self) -> bool:
        """Whether no two iterations access the same element."""
        if self.extra:
            return False
        shape = shape_of(self.buffer.type)
        flat = np.ravel_multi_index([np.ravel(each) for each in self.elements], shape)
        return int(np.bincount(flat).max(initial=1)) == 1

    @property
    def is_in_order(self) -> bool:
        """Whether an iteration accesses the element with its own coordinates."""
        own = np.indices(self.elements[0].shape)
        return len(own) == len(self.elements) and all(
            np.array_equal(each, at) for each, at in zip(self.elements, own, strict=True)
        )


def loop_shape(loop: ParallelOp) -> tuple[int, ...] | None:
    """The extents of a loop, if all are known."""
    extents = loop.extents
    known = tuple(each for each in extents if isinstance(each, int))
    return known if len(known) == len(extents) else None


class Iterations:
    """The values of indices in all iterations of a loop."""

    def __init__(self, loop: ParallelOp, shape: Sequence[int]) -> None:
        self._loop = loop
        points = np.indices(tuple(shape), dtype=np.int64)
        self._known: dict[SSAValue, Any] = dict(zip(loop.body.block.args, points, strict=True))
        self.shape = tuple(shape)

    def values(self, value: SSAValue) -> Any | None:
        """An array over the iterations, or a number; None if it is the same unknown for all.

        Raises `Depends` for what differs between iterations and is not known.
        """
        if value in self._known:
            return self._known[value]
        found = self._computed(value)
        self._known[value] = found
        return found

    def _computed(self, value: SSAValue) -> Any | None:
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return constant.value.data
        owner = value.owner
        if not isinstance(owner, Operation):
            return None
        if owner.name in SAME:
            return self.values(owner.operands[0])
        operands = [self.values(each) for each in owner.operands]
        if owner.name in ARITHMETIC and all(each is not None for each in operands):
            return ARITHMETIC[owner.name](*operands)
        if any(isinstance(each, np.ndarray) for each in operands):
            raise Depends(value)
        return None

    def _index(self, value: SSAValue, extent: int) -> Any | None:
        """The values of an index; where there is only one element, it is that."""
        found = self.values(value)
        return 0 if found is None and extent == 1 else found

    def unknown(self, op: LoadOp | StoreOp) -> list[SSAValue]:
        """The indices of an access that are run-time values."""
        pairs = zip(op.indices, shape_of(op.memref.type), strict=True)
        return [index for index, extent in pairs if self._index(index, extent) is None]

    def access(self, op: LoadOp | StoreOp) -> FragmentAccess:
        """The elements of an access."""
        shape = shape_of(op.memref.type)
        found = [self._index(index, size) for index, size in zip(op.indices, shape, strict=True)]
        unknown = [axis for axis, each in enumerate(found) if each is None]
        full = (*self.shape, *(shape[axis] for axis in unknown))
        elements: list[IntArray] = []
        for axis, each in enumerate(found):
            if each is None:
                position = len(self.shape) + unknown.index(axis)
                lined = [1] * len(full)
                lined[position] = shape[axis]
                each = np.arange(shape[axis], dtype=np.int64).reshape(lined)
            else:
                # Iterations that a guard masks off may have indices out of bounds.
                each = np.clip(np.asarray(each, dtype=np.int64), 0, shape[axis] - 1)
                each = np.broadcast_to(each, self.shape).reshape(*self.shape, *(1 for _ in unknown))
            elements.append(np.broadcast_to(each, full))
        base = base_of(op.memref)
        coordinates = _seen_in(tuple(elements), shape, shape_of(base.type))
        return FragmentAccess(op, base, coordinates, len(unknown))


def _seen_in(
    elements: tuple[IntArray, ...], shape: tuple[int, ...], base: tuple[int, ...]
) -> tuple[IntArray, ...]:
    """The coordinates in a buffer of elements of a view of it."""
    if shape == base:
        return elements
    linear = np.ravel_multi_index(elements, shape)
    return tuple(each.astype(np.int64) for each in np.unravel_index(linear, base))


def accesses_in(loop: ParallelOp, iterations: Iterations) -> list[FragmentAccess]:
    """All accesses to fragments in a loop, in its order."""
    return [
        iterations.access(op)
        for op in walk(loop)
        if isinstance(op, (LoadOp, StoreOp)) and space_of(op.memref.type) is Space.FRAGMENT
    ]


def accesses_fragments(loop: ParallelOp) -> bool:
    """Whether a loop accesses what threads hold."""
    return any(
        isinstance(op, (LoadOp, StoreOp)) and space_of(op.memref.type) is Space.FRAGMENT
        for op in walk(loop)
    )
