"""Thread indices that are made opaque to the compiler at chosen points of the text.

    tw::sync_local();
    tw::refresh<256>(tid);

clang computes addresses that depend on the thread alone before the loops that use them, and holds
them in registers all the time: those of an epilogue too, across the loop before it. Where that
spills, the index is the same after `refresh` and the compiler cannot see it: addresses are computed
again, close to their use. Which points are the best differs between kernels; a compiler that sees
spills tries them in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from typing_extensions import override
from xdsl.ir import Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp, ThreadIdOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import names
from tilewright.dialects.tile.hints import SyncOp
from tilewright.targets.cxx.emitter import Emitter, Rule
from tilewright.targets.hip.emit.flavour import HIP


class Refresh(Enum):
    """Where thread indices are made opaque."""

    NEVER = "never"
    BARRIERS = "barriers"
    """After every barrier."""
    LOOPS = "loops"
    """Before every unrolled loop that is not inside another one."""


class HipEmitter(Emitter):
    """Writes statements of HIP."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        *,
        comments: bool,
        index_bits: int,
        threads: int,
        refresh: Refresh,
    ) -> None:
        super().__init__(rules, HIP, comments=comments, index_bits=index_bits)
        self.threads = threads
        self.refresh = refresh
        self.indices: list[str] = []
        """Variables of the kernel's outermost scope that hold the thread's index."""

    @override
    def op(self, op: Operation) -> None:
        if self.refresh is Refresh.NEVER:
            super().op(op)
            return
        if self.refresh is Refresh.LOOPS and _is_unrolled(op) and not _is_in_unrolled(op):
            self._refresh()
        if isinstance(op, ThreadIdOp) and isinstance(op.parent_op(), FuncOp):
            self._index(op)
            return
        super().op(op)
        if self.refresh is Refresh.BARRIERS and isinstance(op, (BarrierOp, SyncOp)):
            self._refresh()

    def _index(self, op: ThreadIdOp) -> None:
        """A variable, which may change."""
        type = self.scalar(op.results[0].type)
        dimension = op.dimension.data.value
        call = self.identity("thread", dimension)
        name = self.name(op.results[0], "thread")
        self.statement(f"{type.name} {name} = {call};")
        if dimension == "x":
            self.indices.append(name)

    def _refresh(self) -> None:
        for name in self.indices:
            self.uses.functions.setdefault("refresh")
            self.statement(f"tw::refresh<{self.threads}>({name});")


def _is_unrolled(op: Operation) -> bool:
    return isinstance(op, ForOp) and (
        names.UNROLL in op.attributes
        or names.VECTORIZE in op.attributes
        or names.UNROLL_FACTOR in op.attributes
    )


def _is_in_unrolled(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if _is_unrolled(parent):
            return True
        parent = parent.parent_op()
    return False
