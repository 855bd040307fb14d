"""Check that reducers are used in epochs.

    closed  --T.fill-->  open  --T.finalize_reducer-->  done  --T.fill-->  open ...

While a reducer is open, every thread works on a partial result of its own: the only thing that
means anything is ``r[i] = op(r[i], x)`` with the reducer's op. Afterwards it holds the result and
may be read. Two fills without a finalize between them, an epoch that is never closed and a finalize
without a fill are errors, on every path; so is any other use of an open reducer, and a write to one
that is done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import FillOp, KernelOp, ReducerAllocOp, ReducerFinalizeOp
from tilewright.dialects.tile.interfaces import base_of, has_body, reads, writes
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

NOT_CLOSED = "TW2010"
NOT_OPENED = "TW2011"
OTHER_USE = "TW2012"
WRITTEN_WHEN_DONE = "TW2013"

FILL_TEXT = "T.fill on reducer must be enclosed with a T.finalize_reducer before next."
FINALIZE_TEXT = (
    "T.finalize_reducer must have a pairing T.fill ahead of it, enclosing a reduction range."
)

State = Literal["closed", "open", "done"]

_COMBINES: dict[str, frozenset[str]] = {
    "sum": frozenset({"arith.addf", "arith.addi"}),
    "bitand": frozenset({"arith.andi"}),
    "bitor": frozenset({"arith.ori"}),
    "bitxor": frozenset({"arith.xori"}),
    "max": frozenset(
        {"arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui", "arith.select"}
    ),
    "min": frozenset(
        {"arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui", "arith.select"}
    ),
}


@dataclass(frozen=True)
class CheckReducers(Pass):
    """Check that reducers are filled, updated, finalized and read, in that order."""

    name = "check-reducers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, ReducerAllocOp):
                _Epochs(op, engine).run()


@dataclass
class _Epochs:
    """Follows one reducer along all paths."""

    reducer: ReducerAllocOp
    engine: DiagnosticEngine
    opened: Operation | None = None
    """The last fill."""
    reported: set[tuple[Operation, str]] = field(default_factory=set[tuple[Operation, str]])

    def run(self) -> None:
        block = self.reducer.parent
        assert block is not None  # found by a walk through a module
        state = self._block(block, "closed")
        if state == "open" and self.opened is not None:
            self._report(self.opened, FILL_TEXT, NOT_CLOSED)

    def _block(self, block: Block, state: State) -> State:
        for op in block.ops:
            state = self._op(op, state)
        return state

    def _op(self, op: Operation, state: State) -> State:
        if not self._concerns(op):
            return state
        if isinstance(op, IfOp):
            return self._branches(op, state)
        if has_body(op):
            return self._loop(op, state)
        if isinstance(op, FillOp):
            if state == "open":
                self._report(op, FILL_TEXT, NOT_CLOSED, "the epoch is opened here", self.opened)
            self.opened = op
            return "open"
        if isinstance(op, ReducerFinalizeOp):
            if state != "open":
                self._report(op, FINALIZE_TEXT, NOT_OPENED)
            return "done"
        self._use(op, state)
        return state

    def _concerns(self, op: Operation) -> bool:
        return any(
            base_of(operand) is self.reducer.result
            for each in walk(op)
            for operand in each.operands
        )

    def _branches(self, op: IfOp, state: State) -> State:
        ends: list[State] = [
            self._block(region.blocks[0], state) for region in op.regions if region.blocks
        ]
        if len(ends) < 2:
            ends.append(state)
        if "open" in ends and len(set(ends)) > 1:
            text = f"{FILL_TEXT} Only one of the two branches opens or closes an epoch"
            self._report(op, text, NOT_CLOSED)
        return ends[0]

    def _loop(self, op: Operation, state: State) -> State:
        """A loop, or a kernel. The second iteration starts as the first one ended."""
        is_loop = not isinstance(op, KernelOp)
        for _ in range(2 if is_loop else 1):
            for region in op.regions:
                for block in region.blocks:
                    state = self._block(block, state)
        return state

    def _use(self, op: Operation, state: State) -> None:
        is_write = any(region.base is self.reducer.result for region in writes(op))
        is_read = any(region.base is self.reducer.result for region in reads(op))
        if state == "done":
            if is_write:
                self._report(
                    op,
                    f"write to finalised reducer {self.reducer.buffer_name}: after "
                    "T.finalize_reducer it is read-only until T.fill opens the next epoch",
                    WRITTEN_WHEN_DONE,
                )
            return
        if state == "closed" and (is_write or is_read):
            self._report(
                op,
                f"reducer {self.reducer.buffer_name} is used before T.fill opens an epoch",
                OTHER_USE,
            )
        elif not self._is_update(op):
            combine = self.reducer.op.data
            self._report(
                op,
                f"unsupported use of reducer {self.reducer.buffer_name}: between T.fill "
                "and T.finalize_reducer each thread has a partial result, so only "
                f"{self.reducer.buffer_name}[i] = "
                f"{combine}({self.reducer.buffer_name}[i], x) is allowed",
                OTHER_USE,
                "the epoch is opened here",
                self.opened,
            )

    def _is_update(self, op: Operation) -> bool:
        """Whether a store, or a load, is one half of an update."""
        if isinstance(op, LoadOp):
            users = [use.operation for use in op.results[0].uses]
            return bool(users) and all(self._combines(user) for user in users)
        if not isinstance(op, StoreOp) or not self._combines(op.value.owner):
            return False
        assert isinstance(op.value.owner, Operation)
        return any(self._is_same(operand, op) for operand in op.value.owner.operands)

    def _combines(self, op: Operation | Block) -> bool:
        names = _COMBINES[self.reducer.op.data]
        return isinstance(op, Operation) and (op.name in names or op.name == "arith.cmpf")

    def _is_same(self, value: SSAValue, store: StoreOp) -> bool:
        """Whether `value` was loaded from where `store` stores to."""
        load = value.owner
        return (
            isinstance(load, LoadOp)
            and base_of(load.memref) is self.reducer.result
            and tuple(load.indices) == tuple(store.indices)
        )

    def _report(
        self,
        op: Operation,
        message: str,
        code: str,
        note: str = "",
        where: Operation | None = None,
    ) -> None:
        if (op, code) in self.reported:
            return
        self.reported.add((op, code))
        diagnostic = self.engine.error(op, message, code)
        if where is not None and where is not op:
            diagnostic.note(where, note)
        if op is not self.reducer:
            diagnostic.note(self.reducer, f"reducer {self.reducer.buffer_name} is allocated here")
