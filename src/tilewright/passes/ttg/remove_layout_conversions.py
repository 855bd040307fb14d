"""Conversions between layouts that are not needed are removed.

==============================================  =================================================
a conversion to the layout that a value has     the value
a conversion of a conversion                    one conversion
a conversion of a constant, splat or range      the op, in the other layout
a conversion that is only stored to a buffer    the store takes the value as it is
==============================================  =================================================

What a conversion costs is not weighed against computing something twice, and loops and branches
keep their layouts: ``convert-triton-to-tritongpu`` chooses layouts for a whole kernel at once and
leaves few conversions to begin with. Layouts of buffers and user-specified ones are not changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.ttg import ConvertLayoutOp, LocalStoreOp
from tilewright.dialects.ttng.attributes import LayoutMark
from tilewright.dialects.type_utils import encoding_of, is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.apply_layouts import encoded

_FREE = frozenset(("arith.constant", "tt.splat", "tt.make_range"))


@dataclass(frozen=True)
class RemoveLayoutConversions(Pass):
    """Remove conversions of layouts that are not needed."""

    name = "tritongpu-remove-layout-conversions"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for op in list(walk(module)):
            if isinstance(op, ConvertLayoutOp):
                _simplify(op, rewriter)
        for op in reversed(list(walk(module))):
            is_unused = len(op.results) == 1 and op.results[0].first_use is None
            if is_unused and (isinstance(op, ConvertLayoutOp) or op.name in _FREE):
                rewriter.erase(op)


def _simplify(op: ConvertLayoutOp, rewriter: Rewriter) -> None:
    if isinstance(encoding_of(op.result.type), LayoutMark):
        return
    _skip_before_stores(op)
    source = op.src.owner
    if isinstance(source, ConvertLayoutOp):
        op.operands[0] = source.src
        source = op.src.owner
    if op.src.type == op.result.type:
        rewriter.replace_op(op, (), [op.src])
    elif isinstance(source, Operation) and source.name in _FREE:
        rewriter.replace_op(op, _in_other_layout(source, op, rewriter))


def _skip_before_stores(op: ConvertLayoutOp) -> None:
    for use in list(op.result.uses):
        if isinstance(use.operation, LocalStoreOp) and use.index == 0:
            use.operation.operands[0] = op.src


def _in_other_layout(source: Operation, op: ConvertLayoutOp, rewriter: Rewriter) -> Operation:
    """`source` with the type of `op`."""
    new = source.clone()
    type = op.result.type
    if isinstance(new, ConstantOp) and is_tensor(type):
        new.properties["value"] = encoded(new.value, type)
    rewriter.retype(new.results[0], type)
    return new
