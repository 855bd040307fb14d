"""`check-thread-sync`: the synchronisation of finished kernels, proved without data.

The last of the checkers that run on every compile (`specs/passes.md` 7). It sees what is printed as
CUDA and knows nothing of the passes that put barriers, waits and fences there: a block is run with
the numbers of its threads and no data (`analysis/thread_sync`), and what nothing orders is
reported:

    accesses of the same bytes that nothing orders                        TW9021   TW4081
    an engine that reads what threads wrote, with no fence between        TW9022   TW4082
    registers or memory used while a product or a store has them          TW9023   TW4083
    threads that wait for ever                                            TW9024   TW4084
    a barrier that expects other bytes than copies bring                  TW9025   TW4085
    a barrier that counts other arrivals than come                        TW9026   TW4086
    a wait that the next phase may overtake                               TW9027   TW4087
    an access outside of shared memory                                    TW9028   TW4088

with the first code if the compiler gave the threads their roles, and so broke its own promise, and
the second if the author did. What cannot be followed with numbers is a remark: a kernel whose
control flow decides over barriers by its data, and a write to a place that the data say. (Reads of
such places are common, and left out without a word.)
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.thread_sync import FaultKind, Verdict, check
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass

NOT_CHECKED = "TW4089"
_OURS, _THEIRS = 9020, 4080
_NUMBERS = {
    FaultKind.RACE: 1,
    FaultKind.FENCE: 2,
    FaultKind.IN_FLIGHT: 3,
    FaultKind.DEADLOCK: 4,
    FaultKind.BYTES: 5,
    FaultKind.COUNT: 6,
    FaultKind.OVERRUN: 7,
    FaultKind.OUTSIDE: 8,
}


@dataclass(frozen=True)
class CheckThreadSync(Pass):
    """Prove that threads and engines wait for each other where they have to."""

    name = "check-thread-sync"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for verdict in check(module):
            _report(verdict, engine)


def _report(verdict: Verdict, engine: DiagnosticEngine) -> None:
    fault, reason = verdict.fault, verdict.not_analysed
    if fault is not None:
        diagnostic = engine.error(fault.op, fault.message, _code(verdict, fault.kind))
        for op, text in fault.notes:
            diagnostic.note(op, text)
        diagnostic.note(verdict.function, f"found in {verdict.run}")
    elif reason is not None:
        where = reason.op or verdict.function
        engine.remark(where, f"synchronisation not checked: {reason.reason}", NOT_CHECKED)
    elif verdict.skipped:
        first, *others = verdict.skipped
        more = f", and of {len(others)} more" if others else ""
        text = f"races of this write{more} are not checked: only the run knows whether it is made"
        engine.remark(first, f"{text}, or where", NOT_CHECKED)


def _code(verdict: Verdict, kind: FaultKind) -> str:
    is_custom = any(isinstance(op, WsOp) and op.is_custom for op in verdict.function.walk())
    return f"TW{(_THEIRS if is_custom else _OURS) + _NUMBERS[kind]}"
