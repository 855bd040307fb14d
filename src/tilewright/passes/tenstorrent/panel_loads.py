"""Loads in the loop over blocks, and the values that decide what they read.

The address of a load is followed back through the index arithmetic. What it depends on is the
iteration of the loop over blocks, by way of block indices, and the indices of inner loops. Its
*keys* are the largest subexpressions of the address that depend on the block alone: while they do
not change from one block to the next, the load reads the same pages.

    copy A[by * 64, k * 32]     keys {by}          copy K[head // 4, k * 64, 0]    keys {head // 4}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.dialects.arith import AddiOp, MuliOp, SubiOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.interfaces import constant_trip_count, constant_value
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.block_shapes import region_shape
from tilewright.passes.tenstorrent.buffer_uses import (
    buffers_read,
    buffers_written,
    is_block_op,
    role_of,
)
from tilewright.passes.tenstorrent.control_flow import can_evaluate
from tilewright.passes.tenstorrent.in_place import is_in_place_copy
from tilewright.passes.tenstorrent.page_sequences import block_loop

_Loop = ForOp | MatmulKLoopOp


@dataclass(frozen=True, eq=False)
class PanelLoad:
    """A load whose contents could stay in L1 from one block to the next."""

    load: CopyOp
    alloc: AllocOp
    keys: tuple[SSAValue, ...]
    axes: tuple[str, ...]
    """The block indices among what the keys depend on: ``x``, ``y``, ``z``."""
    loops: int
    steps: int
    """Executions of the load in one block."""
    tiles: int

    @property
    def pages(self) -> int:
        """Pages that the load reads in one block."""
        return self.steps * self.tiles


def panel_loads(program: CoreProgramOp) -> list[PanelLoad]:
    """The loads that read the same pages as long as their keys do not change."""
    loop = block_loop(program)
    written = {
        base_of(op.dst)
        for op in walk(program)
        if isinstance(op, CopyOp) and role_of(op) is Role.WRITER
    }
    addresses = _Addresses(loop)
    found: list[PanelLoad] = []
    for op in walk(loop):
        if not isinstance(op, CopyOp) or role_of(op) is not Role.READER or is_in_place_copy(op):
            continue
        alloc, around = op.dst.owner, _loops_around(op, loop)
        # Pages that this kernel writes itself may have changed since the block before.
        if not isinstance(alloc, AllocOp) or around is None or base_of(op.src) in written:
            continue
        keys = addresses.keys(op)
        if keys is None or not _is_read_where_loaded(op):
            continue
        rows, columns = buffer_tiles(op.dst)
        found.append(
            PanelLoad(
                op,
                alloc,
                keys,
                addresses.axes(keys),
                len(around),
                math.prod(_trips(each) for each in around),
                rows * columns,
            )
        )
    return found


def _loops_around(load: Operation, outer: ForOp) -> list[_Loop] | None:
    """The loops between the loop over blocks and a load; None if its executions may differ."""
    found: list[_Loop] = []
    op = load.parent_op()
    while op is not None and op is not outer:
        if not isinstance(op, (ForOp, MatmulKLoopOp)) or _trips(op) < 1:
            return None
        found.insert(0, op)
        op = op.parent_op()
    return found


def _trips(loop: _Loop) -> int:
    """The trip count of a loop with constant bounds, 0 for other loops."""
    return constant_trip_count(loop.lower_bound, loop.upper_bound, loop.step) or 0


def _is_read_where_loaded(load: CopyOp) -> bool:
    """Whether compute alone reads the buffer, in the iteration that has loaded it."""
    block = load.parent
    readers = 0
    for use in load.dst.uses:
        op = use.operation
        if op is load:
            continue
        if not is_block_op(op) or load.dst in buffers_written(op):
            return False
        if load.dst not in buffers_read(op) or role_of(op) is not Role.COMPUTE:
            return False
        if not _comes_after(op, load, block):
            return False
        readers += 1
    return readers > 0


def _comes_after(op: Operation, load: CopyOp, block: Block | None) -> bool:
    if op is load.parent_op():
        return isinstance(op, MatmulKLoopOp)  # multiplies after its body
    inner: Operation | None = op
    while inner is not None and inner.parent is not block:
        inner = inner.parent_op()
    following = load.next_op
    while following is not None and following is not inner:
        following = following.next_op
    return inner is not None and following is inner


class _NotAnalysed(Exception):
    """An address that is not index arithmetic alone."""


@dataclass
class _Addresses:
    """What addresses in the loop over blocks depend on."""

    loop: ForOp
    found: dict[SSAValue, frozenset[SSAValue]] = field(
        default_factory=dict[SSAValue, frozenset[SSAValue]]
    )

    def keys(self, load: CopyOp) -> tuple[SSAValue, ...] | None:
        _, offsets, extents = region_shape(load.src)
        values = [each for each in (*offsets, *extents) if isinstance(each, SSAValue)]
        try:
            keys = [key for value in values for key in self._keys(value)]
        except _NotAnalysed:
            return None
        return tuple(dict.fromkeys(keys))

    def _keys(self, value: SSAValue) -> Sequence[SSAValue]:
        variables = self._variables(value)
        block = self.loop.induction_variable
        if block not in variables:
            return ()
        if len(variables) == 1:
            return (_stripped(value),)
        owner = value.owner
        assert isinstance(owner, Operation), value
        return [key for operand in owner.operands for key in self._keys(operand)]

    def _variables(self, value: SSAValue) -> frozenset[SSAValue]:
        """The induction variables that a value depends on."""
        if value in self.found:
            return self.found[value]
        if isinstance(value, BlockArgument):
            found = self._of_argument(value)
        else:
            owner = value.owner
            assert isinstance(owner, Operation), value
            if not self.loop.is_ancestor(owner) or constant_value(value) is not None:
                found = frozenset[SSAValue]()
            elif not can_evaluate(owner):
                raise _NotAnalysed
            else:
                found = frozenset[SSAValue]().union(
                    *(self._variables(operand) for operand in owner.operands)
                )
        self.found[value] = found
        return found

    def _of_argument(self, value: BlockArgument) -> frozenset[SSAValue]:
        op = value.owner.parent_op()
        if op is None or not (op is self.loop or self.loop.is_ancestor(op)):
            return frozenset()
        if isinstance(op, (ForOp, MatmulKLoopOp)) and value is op.induction_variable:
            return frozenset((value,))
        raise _NotAnalysed

    def axes(self, keys: Sequence[SSAValue]) -> tuple[str, ...]:
        """The block indices by which keys depend on the iteration."""
        names: set[str] = set()
        pending = list(keys)
        while pending:
            value = pending.pop()
            owner = value.owner
            if isinstance(owner, RasterOp):
                names.add("y" if value is owner.row else "x")
            elif value is self.loop.induction_variable:
                names.add("z")
            elif isinstance(owner, Operation) and self._variables(value):
                pending.extend(owner.operands)
        return tuple(sorted(names))


def _stripped(value: SSAValue) -> SSAValue:
    """A value that changes exactly when `value` does: without constant factors and summands."""
    while True:
        op = value.owner
        if not isinstance(op, (AddiOp, SubiOp, MuliOp)):
            return value
        constants = [constant_value(each) for each in op.operands]
        left, right = (isinstance(each, IntegerAttr) for each in constants)
        if left == right:
            return value
        constant = constants[0] if left else constants[1]
        assert isinstance(constant, IntegerAttr)
        if isinstance(op, MuliOp) and constant.value.data == 0:
            return value
        value = op.operands[1 if left else 0]
