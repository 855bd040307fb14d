"""Change the type of a buffer together with the types of all its views.

Views derive their types from what they view, partitions of a ``ttg.warp_specialize`` repeat the
types of what they capture, and loops carry views. So the change of one allocation is followed
through all of them::

    %b = alloc            : <2x64x32xf16, #old>      #new
    %v = index %b[%i]     : <64x32xf16, #old>        #new
    %t = trans %v         : <32x64xf16, #old_turned> #new_turned
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.tt.layout_rules import LayoutRules
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.context import PARTITIONS_OP
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescTransOp
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.ttg.layout_links import edges_of

Derive = Callable[[Operation, MemDescType], MemDescType | None]


class CannotFollow(ValueError):
    """A view whose type cannot be derived from the new type of what it views."""

    def __init__(self, op: Operation) -> None:
        super().__init__(f"the layout of the view '{op.name}' cannot be derived")
        self.op = op


def memdesc_of(value: SSAValue) -> MemDescType:
    """The type of a buffer or view."""
    assert isinstance(value.type, MemDescType)
    return value.type


def root_buffer(value: SSAValue) -> SSAValue:
    """The allocation that `value` is a view of, or a block argument that cannot be traced."""
    while True:
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            if parent is None or parent.name != PARTITIONS_OP:
                return value
            value = parent.operands[value.index]
            continue
        op = value.owner
        assert isinstance(op, Operation)
        if (
            not op.operands
            or not isinstance(op.operands[0].type, MemDescType)
            or len(op.results) != 1
        ):
            return value
        value = op.operands[0]


def _same_layout(op: Operation, type: MemDescType) -> MemDescType | None:
    return memdesc_of(op.results[0]).with_encoding(type.encoding)


def _turned(op: Operation, type: MemDescType) -> MemDescType | None:
    assert isinstance(op, MemDescTransOp)
    layout = type.encoding
    if not isinstance(layout, LayoutRules):
        return None
    turned = layout.after_trans(type.shape, integers(op.order))
    return None if turned is None else memdesc_of(op.result).with_encoding(turned)


def _reshaped(op: Operation, type: MemDescType) -> MemDescType | None:
    layout, result = type.encoding, memdesc_of(op.results[0])
    if not isinstance(layout, LayoutRules):
        return None
    found = layout.after_reshape(type.shape, result.shape, False)
    return None if found is None else result.with_encoding(found)


_VIEWS: Mapping[str, Derive] = {
    "ttg.memdesc_index": _same_layout,
    "ttg.memdesc_subslice": _same_layout,
    "ttg.memdesc_dynamic_subslice": _same_layout,
    "ttng.tmem_subslice": _same_layout,
    "ttg.memdesc_trans": _turned,
    "ttg.memdesc_reshape": _reshaped,
}
_FREE = frozenset(("ttg.memdesc_reinterpret", "tlx.require_layout", "tlx.local_alias"))
"""Ops whose result has a layout of its own."""


def retype_buffer(value: SSAValue, type: Attribute, rewriter: Rewriter) -> SSAValue:
    """Give `value` another type, and all views of it those that follow; returns the new value.

    Raises ``CannotFollow`` where a view has no type that follows.
    """
    if value.type == type:
        return value
    new = rewriter.retype(value, type)
    for use in list(new.uses):
        _follow(use.operation, use.index, new, rewriter)
    return new


def _follow(op: Operation, index: int, value: SSAValue, rewriter: Rewriter) -> None:
    derive = _VIEWS.get(op.name)
    if derive is not None and index == 0:
        found = derive(op, memdesc_of(value))
        if found is None:
            raise CannotFollow(op)
        retype_buffer(op.results[0], found, rewriter)
    elif op.name == PARTITIONS_OP:
        for region in op.regions:
            retype_buffer(region.blocks[0].args[index], value.type, rewriter)
    elif op.name not in _FREE:
        _follow_control(op, value, rewriter)


def _follow_control(op: Operation, value: SSAValue, rewriter: Rewriter) -> None:
    parent = op.parent_op()
    for owner in (op, parent):
        if owner is None:
            continue
        for edge in edges_of(owner):
            if edge.source is not op:
                continue
            for operand, target in zip(edge.operands, edge.inputs, strict=False):
                if operand is value:
                    retype_buffer(target, value.type, rewriter)
