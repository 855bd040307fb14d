"""Live ranges of the shared buffers of a kernel, at the thread level.

Time is program order. A buffer is live from the first top-level op of the kernel that accesses it
to the last; a loop is one such op, as an iteration may read what an earlier one wrote. A buffer
that is private to an iteration (`mark-private-buffers`) may have a shorter range, from the first to
the last op of the innermost block around all accesses, once in every iteration::

    for tile ...:              # rows and sums are private
        copy(..., rows)        #  rows
        gemm(rows, ...)        #  rows
        copy(acc, sums)        #        sums
        copy(sums, ...)        #        sums

Where the compiler made the roles, the consumers' ops count instead of the roles as a whole, and
what another role accesses is live from the beginning, as that one runs ahead. MMAs and TMA stores
read until they are waited for, and cp.async (AMD: copies to LDS) writes until then, also where
nothing reads the copy.

User-written roles (`T.ws`, or branches of some threads that wait at mbarriers) run
concurrently, whatever their order in the program: what one accesses is live from the first of them
to the last, up to a barrier of the whole block. ::

    with T.ws(1): copy(..., a)     # a  b
    with T.ws(0): copy(..., b)     # a  b
    T.sync_threads()
    with T.ws(0): copy(..., c)     #       c
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.threads.uniformity import comes_together, differs
from tilewright.dialects.amd.moves import LoadLdsOp
from tilewright.dialects.amd.moves import WaitOp as LdsWaitOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import (
    AsyncMoveOp,
    BulkStoreOp,
    CpAsyncWaitOp,
    MatrixOp,
    MBarrierWaitOp,
    TmaReduceOp,
    TmaStoreOp,
    TmaStoreWaitOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.nv.barriers import WaitOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import walk

_WAITS: Mapping[type[Operation], type[WaitOp | LdsWaitOp]] = {
    AsyncMoveOp: CpAsyncWaitOp,
    LoadLdsOp: LdsWaitOp,
    WgmmaOp: WgmmaWaitOp,
    TmaStoreOp: TmaStoreWaitOp,
    TmaReduceOp: TmaStoreWaitOp,
    BulkStoreOp: TmaStoreWaitOp,
}
"""What goes on accessing shared memory after it was issued, and what waits for its end."""


def lifetimes(
    function: FuncOp, *, reuse_within_iteration: bool = False
) -> dict[SSAValue, tuple[int, int]]:
    """For every shared buffer its live range: the first time, and the one after the last.

    With `reuse_within_iteration`, what is private to an iteration is dead between iterations.
    """
    program = _Program(function)
    accesses, unfinished = _accesses(function)
    found: dict[SSAValue, tuple[int, int]] = {}
    for buffer, ops in accesses.items():
        is_private = reuse_within_iteration and _is_private(buffer) and buffer not in unfinished
        block = _common_block(ops) if is_private and not program.has_roles else None
        spans = [program.span(op, block) for op in ops]
        found[buffer] = (min(first for first, _ in spans), max(last for _, last in spans))
        if block is None and all(map(program.runs_ahead, ops)):
            found[buffer] = program.whole  # its copies are in flight at any time
    return found


def _is_private(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, AllocOp) and buffer.owner.is_private


# -- time --------------------------------------------------------------------------------------


class _Program:
    """The ops of a kernel, numbered in their order."""

    def __init__(self, function: FuncOp) -> None:
        self._spans: dict[Operation, tuple[int, int]] = {}
        self._top: set[Block] = {function.body.block}
        self.has_roles = False
        self._index_ops(function.body.block)
        self._concurrent = dict(self._sections(function.body.block))
        """For top-level ops with user-written roles: the range in which the unordered ones run."""

    def _sections(self, block: Block) -> Iterator[tuple[Operation, tuple[int, int]]]:
        section: list[Operation] = []
        for op in (*block.ops, None):
            if op is not None and not isinstance(op, BarrierOp):
                if _has_user_roles(op):
                    section.append(op)
                continue
            for each in section:
                yield each, (self._spans[section[0]][0], self._spans[section[-1]][1])
            section = []

    def _index_ops(self, block: Block) -> None:
        for op in block.ops:
            start = len(self._spans)
            self._spans[op] = (start, start + 1)
            if isinstance(op, WsOp) and not op.is_custom and block in self._top:
                self.has_roles = True
                self._top.add(op.bodies[-1].block)
                self._index_ops(op.bodies[-1].block)
                continue
            for region in op.regions:
                for inner in region.blocks:
                    self._index_ops(inner)
            self._spans[op] = (start, len(self._spans))

    @property
    def whole(self) -> tuple[int, int]:
        return 0, len(self._spans)

    def runs_ahead(self, op: Operation) -> bool:
        """Whether an op belongs to a role that runs ahead of the last one."""
        current: Operation | None = op
        while current is not None and current.parent not in self._top:
            current = current.parent_op()
        return current is None or (isinstance(current, WsOp) and not current.is_custom)

    def span(self, op: Operation, block: Block | None) -> tuple[int, int]:
        """When the op of `block` that has `op` inside runs; without a block, the top-level one."""
        blocks = self._top if block is None else {block}
        current: Operation | None = op
        while current is not None and current.parent not in blocks:
            current = current.parent_op()
        # In a role that runs ahead of the last one there is no such op.
        if current is None:
            return (0, 1)
        return self._concurrent.get(current) or self._spans[current]


def _has_user_roles(op: Operation) -> bool:
    """Whether threads that run a top-level op continue without the other threads."""
    return any(
        (isinstance(inner, WsOp) and inner.is_custom)
        or (isinstance(inner, IfOp) and differs(inner.condition) and _waits(inner))
        for inner in walk(op)
        if inner.regions
    )


def _waits(op: Operation) -> bool:
    return any(isinstance(inner, MBarrierWaitOp) for inner in walk(op))


def _common_block(ops: Sequence[Operation]) -> Block | None:
    """The innermost block around all of `ops` that all threads reach."""
    shared = [block for block in _blocks(ops[0]) if all(block in _blocks(op) for op in ops[1:])]
    return next((block for block in shared if _is_convergent(block)), None)


def _is_convergent(block: Block) -> bool:
    first = block.first_op
    return first is not None and comes_together(first)


def _blocks(op: Operation) -> list[Block]:
    """The blocks around an op, from the inside."""
    found: list[Block] = []
    current: Operation | None = op
    while current is not None and current.parent is not None and not isinstance(current, FuncOp):
        found.append(current.parent)
        current = current.parent_op()
    return found


# -- accesses ----------------------------------------------------------------------------------


def _accesses(function: FuncOp) -> tuple[dict[SSAValue, list[Operation]], set[SSAValue]]:
    """The ops that access each shared buffer, and what is still accessed at the end."""
    found: dict[SSAValue, list[Operation]] = defaultdict(list)
    in_flight: dict[type[Operation], set[SSAValue]] = {kind: set() for kind in _WAITS.values()}
    for op in walk(function):
        for buffer in {*_accessed(op), *_in_flight_until(op, in_flight)}:
            found[buffer].append(op)
    # A loop with a predicated epilogue commits empty groups instead of a wait for all of them.
    counted = (CpAsyncWaitOp, LdsWaitOp)
    left = (buffers for kind, buffers in in_flight.items() if kind not in counted)
    return found, set[SSAValue]().union(*left)


def _in_flight_until(
    op: Operation, in_flight: dict[type[Operation], set[SSAValue]]
) -> set[SSAValue]:
    """Buffers that something issued before has accessed until `op`, if it waits for that."""
    wait = _WAITS.get(type(op))
    if wait is not None:
        in_flight[wait].update(_accessed(op))
    if not isinstance(op, WaitOp | LdsWaitOp) or type(op) not in in_flight:
        return set()
    found = in_flight[type(op)]
    leave = op.loads if isinstance(op, LdsWaitOp) else op.pending
    if leave.value.data == 0:
        in_flight[type(op)] = set()
    return found


def _accessed(op: Operation) -> Iterator[SSAValue]:
    """Shared buffers that an op reads or writes; MMAs use descriptors of them."""
    for each in op.operands:
        value = each.owner.buffer if isinstance(each.owner, MatrixOp) else each
        base = base_of(value)
        if isinstance(base.owner, AllocOp) and base.owner.space.is_shared:
            yield base
