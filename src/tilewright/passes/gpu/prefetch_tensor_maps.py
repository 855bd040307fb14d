"""`prefetch-tensor-maps`: TMA reads the maps of its loads before the first of them.

    if tid == 0 { init barriers }    ->    if tid == 0 { prefetch A_map, B_map; init barriers }

A map is 128 bytes in memory that a copy has to wait for. The thread that sets up the barriers
requests all maps of loads first, while the others wait for it anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import MBarrierInitOp, PrefetchMapOp, TmaLoadOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.simt import names as simt_names
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import children, walk


@dataclass(frozen=True)
class PrefetchTensorMaps(Pass):
    """Prefetch the tensor maps of TMA loads at the start of a kernel."""

    name = "prefetch-tensor-maps"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                _prefetch(function)


def _prefetch(function: FuncOp) -> None:
    start = next((op for op in function.body.block.ops if _sets_up_barriers(op)), None)
    if start is None:
        return
    block = start.regions[0].block
    first = block.first_op
    assert first is not None  # it initialises a barrier
    maps = dict.fromkeys(op.map for op in walk(function) if isinstance(op, TmaLoadOp))
    for map in maps:
        request = PrefetchMapOp(map)
        request.location = start.location
        block.insert_op_before(request, first)


def _sets_up_barriers(op: object) -> bool:
    return isinstance(op, IfOp) and any(isinstance(each, MBarrierInitOp) for each in children(op))
