"""Reductions of several rows across warps: one exchange through shared memory for all rows.

    for i in rows { x = f(i); y = allreduce(x); g(i, y) }
      ->
    for i in rows { x = f(i); exchange[i, tid] = x }
    barrier
    for i in rows { y = combined(exchange[i, partners]); g(i, y) }

A barrier for each row would cost more than the rows themselves. Lanes that hold the same value
leave it once. The loop is divided only where ``g`` needs nothing of ``f`` but indices, and neither
writes what the other accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import AllReduceOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.lanes import ShuffleOp
from tilewright.ir.effects import always_removable
from tilewright.ir.interfaces import constant_value
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder

_MAX_ROWS = 16
"""More rows would take much shared memory."""


@dataclass(frozen=True)
class RowLoop:
    """A loop over rows around an exchange."""

    loop: ForOp
    rows: int
    repeated: tuple[Operation, ...]
    """Ops before the exchange that the rows need again after it: they only compute."""
    after: tuple[Operation, ...]
    """Ops that follow the exchange."""


def row_loop(op: AllReduceOp) -> RowLoop | None:
    """The loop around a reduction, if it can be divided there."""
    loop = op.parent_op()
    if not isinstance(loop, ForOp) or loop.results:
        return None
    bounds = [constant_value(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)]
    low, high, step = (
        each.value.data if isinstance(each, IntegerAttr) else None for each in bounds
    )
    if (low, step) != (0, 1) or high is None or not 1 < high <= _MAX_ROWS:
        return None
    body = list(loop.body.block.ops)[:-1]
    position = body.index(op)
    before, after = body[:position], body[position + 1 :]
    repeated = _repeated(before, after)
    if repeated is None or not _are_independent(before, after):
        return None
    return RowLoop(loop, high, repeated, tuple(after))


def _repeated(
    before: Sequence[Operation], after: Sequence[Operation]
) -> tuple[Operation, ...] | None:
    """What of `before` computes values for `after`; None if that is more than computation."""
    needed = {value for op in after for value in op.operands}
    found: list[Operation] = []
    for op in reversed(before):
        if any(result in needed for result in op.results):
            if op.regions or not always_removable(type(op)):
                return None
            found.append(op)
            needed.update(op.operands)
    return tuple(reversed(found))


def _are_independent(before: Sequence[Operation], after: Sequence[Operation]) -> bool:
    """Whether rows may run all of `before` first."""
    first, second = (_accessed(ops) for ops in (before, after))
    if first is None or second is None:
        return False
    (reads, writes), (later_reads, later_writes) = first, second
    return not (writes & (later_reads | later_writes) or later_writes & reads)


def _accessed(ops: Sequence[Operation]) -> tuple[set[SSAValue], set[SSAValue]] | None:
    """What ops read and write; None for ops with other effects."""
    reads, writes = set[SSAValue](), set[SSAValue]()
    for op in ops:
        if isinstance(op, LoadOp):
            reads.add(base_of(op.memref))
        elif isinstance(op, StoreOp):
            writes.add(base_of(op.memref))
        elif op.regions or not (always_removable(type(op)) or isinstance(op, ShuffleOp)):
            return None
    return reads, writes


def divide(found: RowLoop, op: AllReduceOp) -> tuple[IndexBuilder, SSAValue]:
    """Move what follows `op` to a second loop; code at its beginning, and its row."""
    loop = found.loop
    second = ForOp(loop.lower_bound, loop.upper_bound, loop.step)
    second.attributes.update(loop.attributes)
    second.location = loop.location
    block = loop.parent
    assert block is not None
    block.insert_op_after(second, loop)
    body, end = second.body.block, second.body.block.last_op
    assert end is not None  # a new loop is ended already
    row = body.args[0]
    row.name_hint = loop.body.block.args[0].name_hint
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: row}
    for each in found.repeated:
        body.insert_op_before(copy_op(each, values), end)
    for each in found.after:
        each.detach()
        body.insert_op_before(each, end)
        for index, operand in enumerate(each.operands):
            each.operands[index] = values.get(operand, operand)
    first = body.first_op if not found.after else found.after[0]
    assert first is not None
    return IndexBuilder(first), row
