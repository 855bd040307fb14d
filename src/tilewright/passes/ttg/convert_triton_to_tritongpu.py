"""Give every tensor a layout, and put conversions where layouts meet.

The work is done by two others: ``layout_plan`` decides, ``apply_layouts`` rewrites. The module must
say how many warps there are (``ttg.num-warps``); inside a partition of ``ttg.warp_specialize`` the
partition's own number counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from tilewright.dialects.ttg.context import NUM_CTAS, NUM_WARPS, THREADS_PER_WARP
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.fixup import TARGET
from tilewright.passes.ttg.apply_layouts import apply_layouts
from tilewright.passes.ttg.blocked import WARP
from tilewright.passes.ttg.layout_plan import plan_layouts

BLOCK_POINTERS = ("tt.make_tensor_ptr", "tt.advance")
NO_BLOCK_POINTERS = "TW6041"


@dataclass(frozen=True)
class ConvertTritonToTritonGPU(Pass):
    """Tensors with encodings. Options say what the module does not say itself."""

    name = "convert-triton-to-tritongpu"

    target: str = "cuda:90"
    num_warps: int = 4
    num_ctas: int = 1

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if op.name in BLOCK_POINTERS:
                engine.error(
                    op,
                    "block pointers have no layouts, and newer releases of Triton do not have "
                    "them: use a tensor descriptor",
                    NO_BLOCK_POINTERS,
                )
                return
        facts = {
            NUM_WARPS: IntegerAttr(self.num_warps, i32),
            NUM_CTAS: IntegerAttr(self.num_ctas, i32),
            THREADS_PER_WARP: IntegerAttr(WARP, i32),
            TARGET: StringAttr(self.target),
        }
        for name, value in facts.items():
            module.attributes.setdefault(name, value)
        apply_layouts(module, plan_layouts(module))
