"""The ``scf`` dialect: structured control flow, as the front ends of Triton and TLX emit it.

``scf.parallel``, ``scf.forall`` and the ops inside them are left out: nothing that reads or writes
tile kernels uses them.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from tilewright.dialects.scf.choices import ExecuteRegionOp, IfOp, IndexSwitchOp
from tilewright.dialects.scf.loops import ForOp, WhileOp
from tilewright.dialects.scf.terminators import ConditionOp, YieldOp

Scf = Dialect(
    "scf",
    [ConditionOp, ExecuteRegionOp, ForOp, IfOp, IndexSwitchOp, WhileOp, YieldOp],
    [],
)

__all__ = [
    "ConditionOp",
    "ExecuteRegionOp",
    "ForOp",
    "IfOp",
    "IndexSwitchOp",
    "Scf",
    "WhileOp",
    "YieldOp",
]
