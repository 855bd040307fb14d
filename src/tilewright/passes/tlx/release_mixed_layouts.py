"""Release user-specified layouts of tensors that are combined with tensors without one.

A kernel may require a layout of one tensor (``tlx.require_layout``, ``tlx.local_load(layout=)``)
and combine it with others::

    %a = tlx.require_layout %x : T -> T<#pinned>
    %s = arith.addf %a, %y                          types differ

Ops whose tensors all have one type compare them literally. After this pass an op other than those
that demand layouts themselves sees either one layout or none: where encodings disagree, operands
that have one are released (``tlx.release_layout``), and results have none, nor have values that a
loop carries. The layouts are not lost: they spread from where they are required when every tensor
gets one. TLX does the same in ``triton-tlx-fixup``, the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tlx import ReleaseLayoutOp, is_unverified
from tilewright.dialects.type_utils import encoding_of, is_tensor, tensors_among, with_encoding
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.layout_links import edges_of

_OWN = (
    "tlx.",
    "ttg.local_",
    "ttng.",
    "amdg.extract_slice",
    "amdg.mfma_commit",
    "amdg.register_",
    "amdg.scheduled_mfma",
)
"""Ops that have rules of their own about the layouts of their tensors."""


@dataclass(frozen=True)
class ReleaseMixedLayouts(Pass):
    """Release layouts of tensors that are combined with tensors without one."""

    name = "tlx-release-mixed-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        released: dict[SSAValue, SSAValue] = {}
        changed = _has_unverified(module)
        while changed:
            changed = False
            for op in list(walk(module)):
                changed |= _unify(op, released, rewriter)
        for op in list(walk(module)):
            # What it releases may have lost its layout meanwhile.
            if isinstance(op, ReleaseLayoutOp) and op.src.type == op.result.type:
                rewriter.replace_op(op, (), [op.src])


def _has_unverified(module: ModuleOp) -> bool:
    return any(_is_unverified(value.type) for op in walk(module) for value in op.results)


def _is_unverified(type: Attribute) -> bool:
    layout = encoding_of(type) if is_tensor(type) else None
    return layout is not None and is_unverified(layout)


def _unify(op: Operation, released: dict[SSAValue, SSAValue], rewriter: Rewriter) -> bool:
    """Make the tensors of `op` agree; whether anything was changed."""
    groups = _carried(op)
    if not op.regions and not op.name.startswith(_OWN) and op.name != "scf.yield":
        values = tensors_among((*op.operands, *op.results))
        groups = [(list(range(len(op.operands))), op, list(op.results), values)]
    changed = False
    for indices, user, results, values in groups:
        layouts = {encoding_of(value.type) for value in values}
        if len(layouts) < 2 or not any(_is_unverified(value.type) for value in values):
            continue
        for index in indices:
            if _is_unverified(user.operands[index].type):
                user.operands[index] = _released(user.operands[index], released, rewriter)
        for result in results:
            if _is_unverified(result.type):
                assert is_tensor(result.type)
                rewriter.retype(result, with_encoding(result.type, None))
        changed = True
    return changed


_Group = tuple[list[int], Operation, list[SSAValue], list[SSAValue]]
"""Operands by index, the op that has them, what they become, and all of these values."""


def _carried(op: Operation) -> list[_Group]:
    """Values that control flow takes along: each must have the type of what it becomes."""
    found: list[_Group] = []
    for edge in edges_of(op):
        first = len(edge.source.operands) - len(edge.operands)
        for index, (operand, target) in enumerate(zip(edge.operands, edge.inputs, strict=False)):
            if is_tensor(operand.type):
                found.append(([first + index], edge.source, [target], [operand, target]))
    return found


def _released(value: SSAValue, released: dict[SSAValue, SSAValue], rewriter: Rewriter) -> SSAValue:
    found = released.get(value)
    if found is None:
        op = ReleaseLayoutOp(value)
        owner = value.owner
        if isinstance(owner, Operation):
            rewriter.insert_after(owner, op)
        else:
            first = owner.first_op
            assert first is not None
            rewriter.insert_before(first, op)
        found = released[value] = op.result
    return found
