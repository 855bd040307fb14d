"""Arrivals at barriers, and the sixteen barriers of the hardware, for stock Triton.

Triton uses some of the hardware's barriers itself: 0 for the warps of the default task, 1 to start
and end tasks, and from 2 on one for each partition. Barrier ids that a kernel counts from 0 would
collide with those. Constant ids are renumbered if they have to be, the others must be high enough.
"""

from __future__ import annotations

from math import gcd

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt import ElementwiseInlineAsmOp
from tilewright.dialects.ttg import BarrierOp
from tilewright.dialects.ttg.context import num_warps_at
from tilewright.dialects.ttg.program import ADDRESS_SPACES
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng import (
    ArriveBarrierOp,
    BarrierExpectOp,
    InitBarrierOp,
    MapToRemoteBufferOp,
    NamedBarrierArriveOp,
    NamedBarrierWaitOp,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.stock_triton.clusters import arrive_remotely
from tilewright.passes.ttg.blocked import WARP
from tilewright.passes.ttg.memdesc_types import root_buffer

NO_FREE_BARRIER, BARRIER_NOT_CHECKED = "TW4074", "TW4075"

_NAMED_BARRIERS = 16
_FIRST_PARTITION = 2
"""The barrier of the first partition."""


def arrive(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """One thread arrives for all of them.

    An arrival of every thread counts as often as there are threads, so the thread that arrives for
    all passes that count, and the arrive count of the barrier stays.
    """
    assert isinstance(op, ArriveBarrierOp)
    if isinstance(op.alloc.owner, MapToRemoteBufferOp):
        arrive_remotely(op, rewriter)
        return
    if op.per_thread is None:
        return
    op.properties["count"] = IntegerAttr(_threads_arriving(op), i32)
    del op.properties["perThread"]


def count_tasks(module: ModuleOp) -> None:
    """Barriers at which whole tasks arrive count tasks, not their threads.

    One thread arrives for its task, so a barrier with no other arrivals is initialised with the
    number of tasks as its arrive count: arrivals of one thread are the cheapest that there are.
    """
    uses: dict[SSAValue, list[Operation]] = {}
    for op in walk(module):
        for value in op.operands:
            if isinstance(value.type, MemDescType):
                uses.setdefault(root_buffer(value), []).append(op)
    for users in uses.values():
        inits = [op for op in users if isinstance(op, InitBarrierOp)]
        arrivals = [op for op in users if isinstance(op, ArriveBarrierOp)]
        others = [op for op in users if op.name not in _BARRIER_USES]
        if not inits or not arrivals or others or any(op.per_thread is None for op in arrivals):
            continue
        unit = gcd(*(_threads_arriving(op) for op in arrivals))
        if any(op.count.value.data % unit for op in inits):
            continue
        for op in inits:
            op.properties["count"] = IntegerAttr(op.count.value.data // unit, i32)
        for op in arrivals:
            op.properties["count"] = IntegerAttr(_threads_arriving(op) // unit, i32)
            del op.properties["perThread"]


_BARRIER_USES = frozenset(
    (
        "ttg.memdesc_index",
        "ttg.warp_specialize.partitions",
        "ttng.init_barrier",
        "ttng.arrive_barrier",
        "ttng.wait_barrier",
        "ttng.inval_barrier",
    )
)
"""What may be done with a barrier that only tasks arrive at."""


def _threads_arriving(op: ArriveBarrierOp) -> int:
    return op.count.value.data * (num_warps_at(op) or 1) * WARP


def sync_before_arrivals(module: ModuleOp, rewriter: Rewriter) -> None:
    """Synchronise the threads of a task before an arrival that one of them makes for all.

    The slowest warp may still read what the arrival releases. Consecutive arrivals need one
    barrier. The releases that need this treat an arrival as an access to all of shared memory and
    synchronise threads after it as well; an arrival that expects no bytes is the same to the
    barrier, and accesses nothing else.
    """
    arrivals = [op for op in walk(module) if isinstance(op, ArriveBarrierOp)]
    for op in arrivals:
        if not _are_synchronised(op):
            rewriter.insert_before(op, BarrierOp(ADDRESS_SPACES["local"]))
    for op in arrivals:
        if op.count.value.data != 1 or op.multicast_cta.value.data or op.from_cta is not None:
            continue
        pred = op.pred
        if pred is None:
            always = ConstantOp.of(True, i1)
            rewriter.insert_before(op, always)
            pred = always.result
        rewriter.replace_op(op, BarrierExpectOp(op.alloc, 0, pred))


def _are_synchronised(op: Operation) -> bool:
    before = op.prev_op
    while before is not None:
        if isinstance(before, BarrierOp | ArriveBarrierOp):
            return True
        if before.get_trait(Pure) is None:
            return False
        before = before.prev_op
    return False


def free_named_barriers(module: ModuleOp, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """Give named barriers numbers that Triton does not use."""
    ops = [op for op in walk(module) if isinstance(op, NamedBarrierWaitOp | NamedBarrierArriveOp)]
    tasks = [op for op in walk(module) if isinstance(op, WarpSpecializeOp)]
    own = _FIRST_PARTITION + max((len(op.partitions) for op in tasks), default=0)
    ids = {op: constant_integer(op.bar) for op in ops}
    used = {barrier_id for barrier_id in ids.values() if barrier_id is not None}
    free = [barrier_id for barrier_id in range(own, _NAMED_BARRIERS) if barrier_id not in used]
    moved: dict[int, int] = {}
    for op, barrier_id in ids.items():
        if barrier_id is None:
            engine.remark(
                op,
                f"barrier id not checked: run-time value; Triton reserves ids 0 to {own - 1}",
                BARRIER_NOT_CHECKED,
            )
        elif barrier_id < own:
            if barrier_id not in moved and not free:
                engine.error(
                    op,
                    f"no free named barrier: Triton reserves ids 0 to {own - 1}",
                    NO_FREE_BARRIER,
                )
                return
            moved.setdefault(barrier_id, free.pop() if barrier_id not in moved else 0)
            constant = ConstantOp.of(moved[barrier_id], i32)
            rewriter.insert_before(op, constant)
            op.operands[0] = constant.result


def named_wait(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """``bar.sync``."""
    _assembly(op, "bar.sync $1, $2; mov.u32 $0, 0;", rewriter)


def named_arrive(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """``bar.arrive``."""
    _assembly(op, "bar.arrive $1, $2; mov.u32 $0, 0;", rewriter)


def _assembly(op: Operation, text: str, rewriter: Rewriter) -> None:
    inputs = ",".join(["r"] * len(op.operands))
    new = ElementwiseInlineAsmOp(
        text, f"=r,{inputs},~{{memory}}", list(op.operands), [i32], pure=False
    )
    rewriter.replace_op(op, new, [])
