"""`check-thread-sync`: the synchronisation of finished kernels, proved without data.

The last of the checkers that run on every compile (docs/design/concurrency.md#check-thread-sync).
It sees what is printed as CUDA and does not depend on the passes that insert barriers, waits and
fences: a block is run with its thread indices and without data (`analysis/thread_sync`), and
unordered accesses are reported:

    accesses of the same bytes that nothing orders                        TW9021   TW4081
    an async-proxy read of thread writes without a fence in between       TW9022   TW4082
    registers or memory used while an MMA or a store is in flight         TW9023   TW4083
    a deadlock                                                            TW9024   TW4084
    a transaction count that differs from the completed bytes             TW9025   TW4085
    an arrive count that differs from the arrivals                        TW9026   TW4086
    a wait that the next phase may overrun                                TW9027   TW4087
    an access outside of shared memory                                    TW9028   TW4088
    a buffer that is read after another one has taken its bytes           TW9029

with the first code for internal compiler errors, and the second if the user specialised the
warps: by `T.ws`, or by explicit branches and barriers. What cannot be followed at compile time is a
remark: a kernel whose barriers depend on data-dependent control flow, and a write to a
data-dependent address. (Reads of such addresses are common, and ignored without a remark.)

With `tolerate-races` TW4081 is a warning, and the kernel is compiled as it is: files written for
TileLang run that way, as they do there. What would be found after it is not analysed.

A race between iterations of one `T.Parallel` is always a bug of the kernel, and has the message
of `check-parallel-races` (TW3030, TW3031), which saw the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from tilewright.analysis.thread_sync import FaultKind, KernelResult, SyncFault, check
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import names as tile_names
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

NOT_CHECKED = "TW4089"
_COMPILER_CODES, _USER_CODES = 9020, 4080
_CODE_OFFSETS = {
    FaultKind.RACE: 1,
    FaultKind.FENCE: 2,
    FaultKind.IN_FLIGHT: 3,
    FaultKind.DEADLOCK: 4,
    FaultKind.BYTES: 5,
    FaultKind.COUNT: 6,
    FaultKind.OVERRUN: 7,
    FaultKind.OUTSIDE: 8,
    FaultKind.LOST: 9,
}


@dataclass(frozen=True)
class CheckThreadSync(Pass):
    """Prove that threads and asynchronous units are ordered where they have to be."""

    name = "check-thread-sync"

    tolerate_races: bool = False
    """Report races of warps that the user specialised as warnings."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for result in check(module):
            _report(result, engine, tolerate_races=self.tolerate_races)


def _report(result: KernelResult, engine: DiagnosticEngine, *, tolerate_races: bool) -> None:
    fault, reason = result.fault, result.not_analysed
    if fault is not None:
        code, message, *helps = _race_of_user(result.function, fault) or (
            _code(result, fault.kind),
            fault.message,
        )
        is_tolerated = tolerate_races and code == f"TW{_USER_CODES + _CODE_OFFSETS[FaultKind.RACE]}"
        emit = engine.warning if is_tolerated else engine.error
        diagnostic = emit(fault.op, message, code)
        if helps:  # no barrier is missing between iterations, they are in one statement
            diagnostic.note(fault.op, fault.message)
        for op, text in fault.notes:
            if op is not None or not helps:
                diagnostic.note(op, text)
        diagnostic.note(result.function, f"found in {result.run}")
        for text in helps:
            diagnostic.note(None, text)
    elif reason is not None:
        where = reason.op or result.function
        engine.remark(where, f"synchronisation not analysed: {reason.reason}", NOT_CHECKED)
    elif result.skipped:
        first, *others = result.skipped
        more = f" and {len(others)} more" if others else ""
        text = (
            f"races not analysed for this write{more}: whether it executes, or its address, "
            "is a run-time value"
        )
        engine.remark(first, text, NOT_CHECKED)


def _race_of_user(function: FuncOp, fault: SyncFault) -> list[str] | None:
    """Code, message and help, if the race is between iterations of a `T.Parallel` loop."""
    if fault.kind is not FaultKind.RACE:
        return None
    ops = [fault.op, *(op for op, _ in fault.notes[:1])]
    here = {str(op.location) for op in ops if op is not None}
    module = function.parent_op()
    found = None if module is None else module.attributes.get(tile_names.RACES)
    for entry in found.data if isinstance(found, ArrayAttr) else ():
        one, other, *texts = _strings(entry)
        if here == {one, other}:
            return texts
    return None


def _strings(entry: Attribute) -> list[str]:
    assert isinstance(entry, ArrayAttr)
    return [each.data for each in entry.data if isinstance(each, StringAttr)]


def _code(result: KernelResult, kind: FaultKind) -> str:
    # Buffer offsets are chosen by the compiler, also in kernels that the user specialised.
    is_users_bug = kind is not FaultKind.LOST and _is_specialized_by_user(result.function)
    return f"TW{(_USER_CODES if is_users_bug else _COMPILER_CODES) + _CODE_OFFSETS[kind]}"


def _is_specialized_by_user(function: FuncOp) -> bool:
    """Whether the user specialised warps; the compiler uses barriers for its own roles only."""
    roles = [op for op in walk(function) if isinstance(op, WsOp)]
    if roles:
        return any(op.is_custom for op in roles)
    return any(isinstance(op, AllocOp) and op.space.is_barrier for op in walk(function))
