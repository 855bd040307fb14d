"""Give every tensor a layout, and insert conversions where layouts differ.

``layout_plan`` decides, ``apply_layouts`` rewrites. The module must carry the warp count
(``ttg.num-warps``); inside a partition of ``ttg.warp_specialize`` the partition's own warp count
holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from tilewright.dialects.ttg.context import NUM_CTAS, NUM_WARPS, TARGET, THREADS_PER_WARP
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.apply_layouts import apply_layouts
from tilewright.passes.ttg.blocked import WARP
from tilewright.passes.ttg.layout_plan import plan_layouts

BLOCK_POINTERS = ("tt.make_tensor_ptr", "tt.advance")
NO_BLOCK_POINTERS = "TW6041"


@dataclass(frozen=True)
class ConvertTritonToTritonGPU(Pass):
    """Add encodings to tensors. Options provide what the module does not specify itself."""

    name = "convert-triton-to-tritongpu"

    target: str = "cuda:90"
    num_warps: int = 4
    num_ctas: int = 1
    threads_per_warp: int = WARP

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if op.name in BLOCK_POINTERS:
                engine.error(
                    op,
                    "block pointers are not supported: they have no layouts, and newer releases of "
                    "Triton lack them; use a tensor descriptor",
                    NO_BLOCK_POINTERS,
                )
                return
        metadata = {
            NUM_WARPS: IntegerAttr(self.num_warps, i32),
            NUM_CTAS: IntegerAttr(self.num_ctas, i32),
            THREADS_PER_WARP: IntegerAttr(self.threads_per_warp, i32),
            TARGET: StringAttr(self.target),
        }
        for name, value in metadata.items():
            module.attributes.setdefault(name, value)
        apply_layouts(module, plan_layouts(module))
