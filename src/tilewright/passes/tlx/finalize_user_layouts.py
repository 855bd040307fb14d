"""Unwrap user-specified layouts.

``#tlx.user_layout<L>`` keeps passes from choosing another layout. Once all layouts are chosen the
mark is no longer needed, and stock Triton does not have it. Conversions between a layout and the
same one with a mark are gone then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg import ConvertLayoutOp
from tilewright.dialects.ttg.distributed import DotOperandEncoding, SliceEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import LayoutMark, unwrapped
from tilewright.dialects.type_utils import encoding_of, is_tensor, with_encoding
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.apply_layouts import encoded, update_signature
from tilewright.passes.ttg.assign_descriptor_layouts import defined_values


@dataclass(frozen=True)
class FinalizeUserLayouts(Pass):
    """Replace marked layouts by the layouts."""

    name = "tlx-finalize-user-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        unwrap_buffers(module, rewriter)
        for op in list(walk(module)):
            for value in list(defined_values(op)):
                found = _unwrapped_tensor(value.type)
                if found != value.type:
                    rewriter.retype(value, found)
            _retype_constant(op)
        for op in list(walk(module)):
            if isinstance(op, ConvertLayoutOp) and op.src.type == op.result.type:
                rewriter.replace_op(op, (), [op.src])
        _update_signatures(module)


def unwrap_buffers(module: ModuleOp, rewriter: Rewriter) -> None:
    """Take the marks off the layouts of buffers."""
    for op in list(walk(module)):
        for value in list(defined_values(op)):
            type = value.type
            if isinstance(type, MemDescType) and isinstance(type.encoding, LayoutMark):
                rewriter.retype(value, type.with_encoding(unwrapped(type.encoding)))
    _update_signatures(module)


def _update_signatures(module: ModuleOp) -> None:
    for op in walk(module):
        if isinstance(op, FuncOp) and op.body.blocks:
            update_signature(op)


def _unwrapped_tensor(type: Attribute) -> Attribute:
    layout = encoding_of(type) if is_tensor(type) else None
    if layout is None or not is_tensor(type):
        return type
    return with_encoding(type, _without_marks(layout))


def _without_marks(layout: Attribute) -> Attribute:
    layout = unwrapped(layout)
    if isinstance(layout, SliceEncoding | DotOperandEncoding):
        parent = _without_marks(layout.parent)
        return layout if parent == layout.parent else replace(layout, parent=parent)
    return layout


def _retype_constant(op: Operation) -> None:
    """The value of a constant repeats its type."""
    if isinstance(op, ConstantOp) and is_tensor(op.result.type):
        op.properties["value"] = encoded(op.value, op.result.type)
