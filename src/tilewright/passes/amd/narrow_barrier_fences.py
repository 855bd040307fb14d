"""`narrow-barrier-fences`: barriers that order accesses of LDS, and leave global ones in flight.

    gpu.barrier        ->        gpu.barrier memfence [#gpu.address_space<workgroup>]

A barrier of the block orders all memory: AMD's GPUs then wait for every load of a tensor that was
started, and gfx11 and gfx12 drop their caches. Loads that are started early for the next iteration
have to stay in flight instead. A barrier stays as it is if threads may hand elements of a tensor to
each other over it: a tensor that the kernel reads and writes is accessed before and after, and
written on one side. For a barrier of the user or of `order-tensor-writes` (`tile.sync`) writes
alone count as well. In a loop, all of its iterations are before and after.

In a kernel with direct copies to LDS narrow barriers leave those in flight as well
(`amd.keeps_copies`); `insert-lds-waits` has placed a wait where one is needed.

Atomic updates need no order among themselves. Those with a memory order, and calls of external
code, may concern elements of any tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.amd.moves import LoadLdsOp
from tilewright.dialects.amd.names import EXPLICIT, KEEPS_COPIES
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.gpu import AddressSpace, AddressSpaceAttr, BarrierOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AtomicOp, Space, space_of
from tilewright.dialects.tile.access import RegionAccess, base_of
from tilewright.dialects.tile.extern import ExternOp
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_LOOPS = (ForOp, WhileOp)
_READ, _WRITE, _UPDATE = "read", "write", "update"
_ANY = "any"
"""In place of a tensor: any of them."""


@dataclass(frozen=True)
class NarrowBarrierFences(Pass):
    """Let barriers that no tensor needs order accesses of LDS alone."""

    name = "narrow-barrier-fences"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                _Kernel(function).narrow()


@dataclass(frozen=True)
class _Access:
    position: int
    tensor: object
    kind: str


@dataclass(frozen=True)
class _Barrier:
    op: BarrierOp | SyncOp
    start: int
    """What comes later may come after the barrier."""
    end: int
    """What comes earlier may come before it."""


class _Kernel:
    """Positions of accesses and barriers in the order of the text."""

    def __init__(self, function: FuncOp) -> None:
        self.accesses: list[_Access] = []
        self.barriers: list[_Barrier] = []
        self.has_copies = any(isinstance(op, LoadLdsOp) for op in walk(function))
        span = 0, -1  # of the outermost loop, or of the last one
        for position, op in enumerate(walk(function)):
            if isinstance(op, _LOOPS) and position > span[1]:
                span = position, position + sum(1 for _ in walk(op)) - 1
            if _is_block_barrier(op):
                assert isinstance(op, BarrierOp | SyncOp)
                start, end = span if position <= span[1] else (position, position)
                self.barriers.append(_Barrier(op, start, end))
            self.accesses += [_Access(position, *each) for each in _accesses(op)]

    def narrow(self) -> None:
        kinds: dict[object, set[str]] = {}
        for access in self.accesses:
            kinds.setdefault(access.tensor, set()).add(access.kind)
        exchanged = {tensor for tensor, found in kinds.items() if _READ in found and len(found) > 1}
        for barrier in self.barriers:
            is_explicit = isinstance(barrier.op, SyncOp) or EXPLICIT in barrier.op.attributes
            only = None if is_explicit else exchanged
            if not self._hands_over(barrier, only):
                _narrowed(barrier.op, keeps_copies=self.has_copies)

    def _hands_over(self, barrier: _Barrier, only: set[object] | None) -> bool:
        """Whether a tensor is accessed on both sides, and one of the two is a write.

        Tensors outside of `only` do not count.
        """
        before = {
            (each.tensor, each.kind) for each in self.accesses if each.position <= barrier.end
        }
        after = {
            (each.tensor, each.kind) for each in self.accesses if each.position >= barrier.start
        }
        return any(
            _conflict(first, second) and (only is None or _ANY in (tensor, other) or tensor in only)
            for tensor, first in before
            for other, second in after
            if tensor == other or _ANY in (tensor, other)
        )


def _conflict(first: str, second: str) -> bool:
    return first != second or first == _WRITE


def _is_block_barrier(op: Operation) -> bool:
    if isinstance(op, SyncOp):
        return op.scope.data == "block" and op.barrier_id is None
    return isinstance(op, BarrierOp) and op.address_spaces is None


def _accesses(op: Operation) -> list[tuple[object, str]]:
    """Tensors that the op itself accesses, and how."""
    if isinstance(op, ExternOp):
        return [(_ANY, _WRITE)]
    if isinstance(op, AtomicOp):
        if op.memory_order is not None and op.memory_order.data != "relaxed":
            return [(_ANY, _WRITE)]
        kind = {"load": _READ, "store": _WRITE}.get(op.kind.data, _UPDATE)
        return [(tensor, kind) for tensor in _tensor(op.dst)]
    if not isinstance(op, RegionAccess | LoadOp | StoreOp):
        return []
    found = [(tensor, _READ) for each in reads(op) for tensor in _tensor(each.base)]
    return found + [(tensor, _WRITE) for each in writes(op) for tensor in _tensor(each.base)]


def _tensor(buffer: SSAValue) -> list[object]:
    """The tensor of a buffer in global memory, the same for all arguments that are views of it."""
    base = base_of(buffer)
    if space_of(base.type) is not Space.GLOBAL:
        return []
    if not isinstance(base, BlockArgument):
        return [_ANY]  # a pointer that the kernel computes
    return [argument_attributes(base).get(simt_names.TENSOR, base)]


def _narrowed(op: BarrierOp | SyncOp, *, keeps_copies: bool) -> None:
    barrier = BarrierOp()
    if keeps_copies:
        barrier.attributes[KEEPS_COPIES] = UnitAttr()
    barrier.address_spaces = ArrayAttr([AddressSpaceAttr(AddressSpace.WORKGROUP)])
    Rewriter().replace_op(op, barrier)
