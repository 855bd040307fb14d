"""Run the scalar code of a kernel at compile time, block by block.

    group = 0                                        block 0: group 0, row 0
    for g in range(4):                               block 1: group 0, row 64
        if by >= first_tile[g]: group = g     ->     block 2: group 1, row 70
    row = first_row[group] + ...                     block 3: group 3, row 71

Integers that depend on block and loop indices, variables of the kernel and tensors whose contents
are given are computed; tile ops are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tile import KernelOp, ParallelOp, PipelineOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import integer_of

MAX_STEPS = 2_000_000

Coordinates = tuple[int, ...]
"""Block indices, then the indices of the loops around an op, from the outside in."""


class TooLong(Exception):
    """The scalar code runs for more than `MAX_STEPS` ops."""


@dataclass
class ScalarCode:
    """The values of some integers of a kernel, for every block and iteration."""

    kernel: KernelOp
    contents: Mapping[SSAValue, Sequence[int]]
    """The elements of tensors, in row-major order."""
    cells: frozenset[SSAValue]
    """The variables of the kernel."""
    required: frozenset[SSAValue]
    found: dict[SSAValue, dict[Coordinates, int]] = field(
        default_factory=dict[SSAValue, dict[Coordinates, int]]
    )
    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    memory: dict[tuple[SSAValue, int], int] = field(default_factory=dict[tuple[SSAValue, int], int])
    steps: int = 0

    def run(self, grid: Sequence[int]) -> None:
        """Compute `found`; `TooLong` if that takes too many steps."""
        for block in product(*(range(extent) for extent in grid)):
            self.values = dict(zip(self.kernel.body_block.args, block, strict=True))
            self.memory = {}
            self._block(self.kernel.body_block, block)

    def _block(self, block: Block, at: Coordinates) -> None:
        for op in block.ops:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TooLong
            self._op(op, at)
            for result in op.results:
                if result in self.required and result in self.values:
                    self.found.setdefault(result, {})[at] = self.values[result]

    def _op(self, op: Operation, at: Coordinates) -> None:
        if isinstance(op, (ForOp, PipelineOp)):
            self._loop(op, at)
        elif isinstance(op, IfOp):
            self._branch(op, at)
        elif isinstance(op, LoadOp):
            self._load(op)
        elif isinstance(op, StoreOp):
            self._store(op)
        elif not isinstance(op, ParallelOp) and not op.regions and len(op.results) == 1:
            operands = [self._value(each) for each in op.operands]
            known = [each for each in operands if each is not None]
            computed = (
                integer_of(op, known) if op.operands and len(known) == len(operands) else None
            )
            self._set(op.results[0], computed)

    def _set(self, value: SSAValue, integer: int | None) -> None:
        if integer is None:
            self.values.pop(value, None)
        else:
            self.values[value] = integer

    def _value(self, value: Mixed) -> int | None:
        if isinstance(value, int):
            return value
        if value in self.values:
            return self.values[value]
        return constant_integer(value)

    # -- control flow ----------------------------------------------------------------------------

    def _loop(self, op: ForOp | PipelineOp, at: Coordinates) -> None:
        if not self._matters(op):
            return
        is_for = isinstance(op, ForOp)
        lower, upper, step = (
            (op.lower_bound, op.upper_bound, op.step) if is_for else (op.lower, op.upper, 1)
        )
        bounds = [self._value(each) for each in (lower, upper, step)]
        if any(each is None for each in bounds):
            self._forget(op)
            return
        body = op.regions[0].block
        carried = [self._value(each) for each in (op.init_args if is_for else ())]
        for index in range(*(each or 0 for each in bounds)):
            self.values[body.args[0]] = index
            for argument, value in zip(body.args[1:], carried, strict=True):
                self._set(argument, value)
            self._block(body, (*at, index))
            last = body.last_op
            if isinstance(last, ScfYieldOp):
                carried = [self._value(each) for each in last.operands]
        for result, value in zip(op.results, carried, strict=True):
            self._set(result, value)

    def _branch(self, op: IfOp, at: Coordinates) -> None:
        test = self._value(op.operands[0])
        if test is None:
            self._forget(op)
            return
        taken = op.regions[0 if test else 1]
        if taken.blocks:
            self._block(taken.block, at)
            last = taken.block.last_op
            for result, value in zip(op.results, last.operands if last else (), strict=False):
                self._set(result, self._value(value))

    def _matters(self, op: Operation) -> bool:
        """Whether a loop computes something that is required, or changes a variable."""
        return bool(op.results) or any(
            (isinstance(each, StoreOp) and each.memref in self.cells)
            or any(result in self.required for result in each.results)
            for each in walk(op)
        )

    def _forget(self, op: Operation) -> None:
        """What an op would have computed, under conditions that are not known."""
        for each in walk(op):
            for result in each.results:
                self.values.pop(result, None)
            if isinstance(each, StoreOp) and each.memref in self.cells:
                for offset in [offset for offset in self.memory if offset[0] is each.memref]:
                    del self.memory[offset]

    # -- memory ----------------------------------------------------------------------------------

    def _offset(self, op: LoadOp | StoreOp) -> int | None:
        offset = 0
        for index, extent in zip(op.indices, shape_of(op.memref.type), strict=True):
            value = self._value(index)
            if value is None or not 0 <= value < extent:
                return None
            offset = offset * extent + value
        return offset

    def _load(self, op: LoadOp) -> None:
        offset = self._offset(op)
        known = None
        if offset is not None and op.memref in self.contents:
            known = self.contents[op.memref][offset]
        elif offset is not None:
            known = self.memory.get((op.memref, offset))
        self._set(op.result, known)

    def _store(self, op: StoreOp) -> None:
        if op.memref not in self.cells:
            return
        offset, value = self._offset(op), self._value(op.value)
        if offset is None or value is None:
            for each in [each for each in self.memory if each[0] is op.memref]:
                del self.memory[each]
        if offset is not None and value is not None:
            self.memory[op.memref, offset] = value
