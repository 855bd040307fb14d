"""The ``scf`` dialect: structured control flow, as the front ends of Triton and TLX emit it.

``scf.parallel``, ``scf.forall`` and the ops inside them are left out: nothing that reads or writes
tile kernels uses them.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.scf.choices import ExecuteRegionOp, IfOp, IndexSwitchOp
from tilewright.dialects.scf.loops import ForOp, WhileOp
from tilewright.dialects.scf.terminators import ConditionOp, YieldOp

Scf = dialect_of("scf", globals())

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
