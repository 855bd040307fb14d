"""`order-stores`: stores of staged tiles stay after the matrix instructions of an iteration.

    scf.for %k {                               scf.for %k {
      loads; barrier; MFMAs             ->       loads; barrier; MFMAs
      LDS writes of the loaded tiles }           amd.sched_barrier 0
                                                 LDS writes of the loaded tiles }

`plan-staging` puts the stores last, so that loads have the whole iteration to arrive. The scheduler
of the compiler does not know how long they take, and moves LDS writes, and with them the waits for
the loads, up among the matrix instructions. The barrier, which is no instruction, prevents it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tilewright.dialects.amd.matrix import MatrixCoreOp
from tilewright.dialects.amd.schedule import SchedBarrierOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import space_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.amd.hint_schedule import main_loops


@dataclass(frozen=True)
class OrderStores(Pass):
    """Keep LDS writes after the matrix instructions of their iteration."""

    name = "order-stores"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                for loop in main_loops(function):
                    _order(loop.body.block)


def _order(body: Block) -> None:
    ops = list(body.ops)
    last = max(index for index, op in enumerate(ops) if _has_matrix(op))
    if any(map(_writes_shared, ops[last + 1 :])):
        barrier = SchedBarrierOp(0)
        barrier.location = ops[last + 1].location
        body.insert_op_before(barrier, ops[last + 1])


def _has_matrix(op: Operation) -> bool:
    return any(isinstance(each, MatrixCoreOp) for each in walk(op))


def _writes_shared(op: Operation) -> bool:
    for each in walk(op):
        if isinstance(each, MoveOp | StoreOp):
            space = space_of(each.dst.type if isinstance(each, MoveOp) else each.memref.type)
            if space is not None and space.is_shared:
                return True
    return False
