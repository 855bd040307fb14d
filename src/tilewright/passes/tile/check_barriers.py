"""Prove that the barriers of roles and pipelines order what they have to order.

Runs after `specialize_warps`, and on anything that copies asynchronously. For trip counts from 0 to
twice the slots and one more, the events of every role are recorded and put in the order that the
barriers guarantee (`analysis.barriers`). Reported are

    a role that waits forever                                       TW9011   TW4051
    accesses of the same bytes that nothing orders                  TW9012   TW4052
    expected bytes that differ from the completed bytes             TW9010   TW4050
    more arrivals at a barrier than its arrive count                TW9013   TW4053
    a wait that the next phase may overrun                          TW9014   TW4054

with the first code if the compiler made the roles (an internal compiler error), and the second if
the user did. Arguments of a kernel with a free grid (`tile.free_grid`) depend on each other in ways
that only its callers know, so assumed ones may be impossible: a role that waits forever, or for a
barrier that does not exist, is an error if that happens for all assumed values, and a remark if for
some. The first launches of such kernels are checked with their own values (`check_launch`). With
`tolerate-races` TW4052 is a warning (see `check-thread-sync`). What cannot be evaluated at compile
time is a remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.barriers import (
    ConcurrentRoles,
    FaultKind,
    LaunchedBlock,
    NotAnalysed,
    SyncFinding,
    TripCounts,
    all_concurrent_roles,
    check,
    traces,
)
from tilewright.dialects.tile import KernelOp, names
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

NOT_ANALYSED = "TW4059"
_CODE_OFFSETS = {
    FaultKind.BYTES: 0,
    FaultKind.DEADLOCK: 1,
    FaultKind.UNORDERED: 2,
    FaultKind.COUNT: 3,
    FaultKind.OUTSIDE: 3,
    FaultKind.OVERRUN: 4,
}
_HELP = {
    FaultKind.DEADLOCK: (
        "check for a missing arrival, an arrive count that is too high, or a wrong parity: "
        "the first wait for an unused slot has parity 1"
    ),
}
"""What the user of `T.ws` can do about it."""
_FROM_ARGUMENTS = (FaultKind.DEADLOCK, FaultKind.OUTSIDE)
"""What impossible arguments lead to."""


@dataclass(frozen=True)
class CheckBarriers(Pass):
    """Prove that barriers order what roles and copies do."""

    name = "check-barriers"

    tolerate_races: bool = False
    """Report accesses of user-written roles that nothing orders as warnings."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in [op for op in walk(module) if isinstance(op, KernelOp)]:
            for roles in all_concurrent_roles(kernel):
                _check(roles, engine, roles.trip_counts(), tolerate_races=self.tolerate_races)


def check_launch(
    module: ModuleOp, arguments: Sequence[int | None], grid: tuple[int, int, int]
) -> DiagnosticEngine:
    """Errors of the first and the last block of a launch, with the integers that it passes.

    `arguments` are those of the function, in order; None for those that are no integers.
    """
    engine = DiagnosticEngine()
    x, y, z = grid
    blocks = dict.fromkeys([(0, 0, 0), (x - 1, y - 1, z - 1)]) if 0 not in grid else {}
    for kernel in [op for op in walk(module) if isinstance(op, KernelOp)]:
        for roles in all_concurrent_roles(kernel):
            runs = [
                TripCounts(None, None, launched=LaunchedBlock(tuple(arguments), block))
                for block in blocks
            ]
            _check(roles, engine, runs, tolerate_races=False)
    return engine


def _check(
    roles: ConcurrentRoles,
    engine: DiagnosticEngine,
    runs: Iterable[TripCounts],
    *,
    tolerate_races: bool,
) -> None:
    is_free = _has_free_grid(roles)
    doubtful: tuple[SyncFinding, TripCounts] | None = None
    has_ended = False
    try:
        for trip_counts, members in traces(roles, runs):
            fault = check(members)
            if fault is None:
                has_ended = True
                continue
            is_assumed = not roles.is_custom or any(each.is_assumed for each in members)
            if is_free and is_assumed and fault.kind in _FROM_ARGUMENTS:
                doubtful = doubtful or (fault, trip_counts)
                continue
            is_tolerated = tolerate_races and roles.is_custom and fault.kind is FaultKind.UNORDERED
            assumed = trip_counts if is_assumed or trip_counts.launched else None
            _report(fault, assumed, roles, engine, is_tolerated=is_tolerated)
            return
        if doubtful is not None and has_ended:
            _remark(*doubtful, engine)
        elif doubtful is not None:
            _report(*doubtful, roles, engine)
    except NotAnalysed as reason:
        engine.remark(reason.op, f"barriers not analysed: {reason.reason}", NOT_ANALYSED)


def _has_free_grid(roles: ConcurrentRoles) -> bool:
    function = roles.kernel.parent_op()
    return function is not None and names.FREE_GRID in function.attributes


def _remark(fault: SyncFinding, trip_counts: TripCounts, engine: DiagnosticEngine) -> None:
    text = (
        f"barriers not analysed for all arguments: {fault.message} ({trip_counts}), and whether a "
        "launch has such arguments is unknown; the first launches are checked with their own"
    )
    engine.remark(fault.op, text, NOT_ANALYSED)


def _report(
    fault: SyncFinding,
    trip_counts: TripCounts | None,
    roles: ConcurrentRoles,
    engine: DiagnosticEngine,
    *,
    is_tolerated: bool = False,
) -> None:
    first = 4050 if roles.is_custom else 9010
    code = f"TW{first + _CODE_OFFSETS[fault.kind]}"
    assumed = "" if trip_counts is None else f" ({trip_counts})"
    emit = engine.warning if is_tolerated else engine.error
    diagnostic = emit(fault.op, f"{fault.message}{assumed}", code)
    for op, text in fault.notes:
        diagnostic.note(op, text)
    text = fault.help or _HELP.get(fault.kind, "")
    if roles.is_custom and text:
        diagnostic.note(None, f"help: {text}")
