"""Unwrap user-specified layouts.

``#tlx.user_layout<L>`` keeps passes from choosing another layout. Once all layouts are chosen the
mark is no longer needed, and stock Triton does not have it. Tensors lose it when they get
their layouts; here are the buffers.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import LayoutMark, unwrapped
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.apply_layouts import update_signature
from tilewright.passes.ttg.assign_descriptor_layouts import defined_values


@dataclass(frozen=True)
class FinalizeUserLayouts(Pass):
    """Replace marked layouts of buffers by the layouts."""

    name = "tlx-finalize-user-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for op in list(walk(module)):
            for value in list(defined_values(op)):
                type = value.type
                if isinstance(type, MemDescType) and isinstance(type.encoding, LayoutMark):
                    rewriter.retype(value, type.with_encoding(unwrapped(type.encoding)))
        for op in walk(module):
            if isinstance(op, FuncOp) and op.body.blocks:
                update_signature(op)
