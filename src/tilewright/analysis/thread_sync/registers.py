"""Registers of asynchronous MMAs: their state between a `wgmma` and its wait.

Until a wait has returned, the accumulator of an MMA belongs to the tensor core, and its operands
must not change; after the wait `nv.wgmma.fence_operand` returns the accumulator to the threads.
Earlier writes of the threads must have been fenced. Whole arrays are checked, for all threads of a
role together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.thread_sync.faults import FaultError, FaultKind, SyncFault
from tilewright.analysis.thread_sync.state import Frame, RegisterState
from tilewright.dialects.nv.tensor_memory import Tcgen05LdOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.allocs import AllocOp


def _name(buffer: SSAValue) -> str:
    owner = base_of(buffer).owner
    return owner.buffer_name if isinstance(owner, AllocOp) else "the registers"


def state_of(frame: Frame, buffer: SSAValue) -> RegisterState:
    found = frame.registers.get(buffer)
    if found is None:
        found = frame.registers[buffer] = RegisterState()
    return found


def use_registers(
    frame: Frame, read: Mapping[SSAValue, Operation], written: Mapping[SSAValue, Operation]
) -> None:
    """Threads access registers."""
    for buffer, op in (*read.items(), *written.items()):
        state = frame.registers.get(buffer)
        if state is not None and state.is_unfenced:
            if isinstance(state.op, Tcgen05LdOp):
                text = "which an in-flight tcgen05.ld writes; nv.tcgen05.wait_ld is missing"
                _raise(buffer, op, state, text)
            missing = "nv.wgmma.wait" if state.writing else "nv.wgmma.fence_operand"
            _raise(buffer, op, state, f"which an in-flight wgmma writes; {missing} is missing")
    for buffer, op in written.items():
        state = state_of(frame, buffer)
        if state.reading:
            _raise(buffer, op, state, "which an in-flight wgmma reads; nv.wgmma.wait is missing")
        state.changed = frame.tick()


def _raise(buffer: SSAValue, op: Operation, state: RegisterState, what: str) -> None:
    raise FaultError(
        SyncFault(
            FaultKind.IN_FLIGHT,
            op,
            f"threads access {_name(buffer)}, {what}",
            ((state.op, "the load" if isinstance(state.op, Tcgen05LdOp) else "the wgmma"),),
        )
    )


def check_fenced(frame: Frame, buffer: SSAValue, op: Operation) -> RegisterState:
    """A `wgmma` is about to use registers: threads must have fenced their writes."""
    state = state_of(frame, buffer)
    if state.changed > frame.fence_time:
        raise FaultError(
            SyncFault(
                FaultKind.FENCE,
                op,
                f"{_name(buffer)} is written after the last nv.wgmma.fence: the write may not be "
                "visible to the wgmma",
            )
        )
    return state


@dataclass(frozen=True)
class InFlightMma:
    """A `wgmma` in flight."""

    accumulator: RegisterState
    operand: RegisterState | None
    first: int
    """The first warp of its group."""
    agent: int
    time: int

    def start(self, op: Operation) -> None:
        self.accumulator.writing += 1
        self.accumulator.is_unfenced, self.accumulator.op = True, op
        if self.operand is not None:
            self.operand.reading += 1
            self.operand.op = op

    def end(self) -> None:
        self.accumulator.writing -= 1
        if self.operand is not None:
            self.operand.reading -= 1


def start_load(frame: Frame, buffer: SSAValue, op: Operation) -> None:
    """A load from tensor memory writes registers until it is waited for."""
    state = state_of(frame, buffer)
    state.is_unfenced, state.op = True, op


def end_loads(frame: Frame) -> None:
    """Loads from tensor memory have been waited for."""
    for state in frame.registers.values():
        if isinstance(state.op, Tcgen05LdOp):
            state.is_unfenced, state.op = False, None


def fence_operand(frame: Frame, buffer: SSAValue) -> None:
    """The accumulator belongs to the threads again."""
    state = state_of(frame, buffer)
    state.is_unfenced = state.writing > 0
