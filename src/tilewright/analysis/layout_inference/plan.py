"""What layout inference has decided for one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.amd_storage import OperandStorage
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.swizzles import Swizzle
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.tile import GemmOp, ParallelOp


@dataclass(frozen=True)
class LayoutPlan:
    """Layouts of buffers and loops, and the instructions of GEMMs."""

    fragments: Mapping[SSAValue, Table]
    loops: Mapping[ParallelOp, Table]
    shared: Mapping[SSAValue, Swizzle | OperandStorage]
    gemms: Mapping[GemmOp, GemmPlan]
    names: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def __str__(self) -> str:
        lines = [
            f"{self.names.get(buffer, 'buffer')}: {table.attribute()}"
            for buffer, table in self.fragments.items()
        ]
        lines += [
            f"{self.names.get(buffer, 'buffer')}: {swizzle}"
            for buffer, swizzle in self.shared.items()
        ]
        return "\n".join(lines)
