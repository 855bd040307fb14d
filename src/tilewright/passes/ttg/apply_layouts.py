"""Apply a layout plan: every tensor gets its encoding, and every use the layout it requires.

A use that requires another layout than the planned one gets, once per value and layout,

* the value recomputed, if that takes only constants, ranges, splats and arithmetic on them;
* otherwise a ``ttg.convert_layout`` right after the definition.

A recomputation may end in a conversion of a smaller tensor (a row that is broadcast, for example),
never of one of the same size: then the result itself is converted.

``tlx.require_layout`` and ``tlx.release_layout`` of tensors have done their work, and go.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tlx import ReleaseLayoutOp, RequireLayoutOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg import ConvertLayoutOp
from tilewright.dialects.type_utils import AnyTensor, is_tensor, rank_of, with_encoding
from tilewright.ir.interfaces import returns
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.layout_links import links_of
from tilewright.passes.ttg.layout_plan import LayoutPlan, required_operands

_FREE = frozenset(("arith.constant", "tt.splat", "tt.make_range", "ub.poison"))
"""Ops that make a tensor in any layout."""
_DEPTH = 24
"""How many ops deep a value is computed again."""


def apply_layouts(module: ModuleOp, plan: LayoutPlan) -> None:
    """Give all tensors of `module` the layouts of `plan`."""
    _Applier(plan).run(module)


class _Applier:
    def __init__(self, plan: LayoutPlan) -> None:
        self._plan = plan
        self._rewriter = Rewriter()
        self._versions: dict[tuple[SSAValue, Attribute], SSAValue] = {}
        self._layouts = dict(plan.layouts)

    def run(self, module: ModuleOp) -> None:
        ops = [op for op in walk(module) if op is not module]
        for op in ops:
            for (user, index), layout in required_operands(op, self._plan).items():
                user.operands[index] = self._in_layout(user.operands[index], layout)
        for op in ops:
            if isinstance(op, RequireLayoutOp | ReleaseLayoutOp) and is_tensor(op.src.type):
                self._rewriter.replace_op(op, (), [op.src])
        for value, layout in self._layouts.items():
            self._retype(value, layout)
        for op in ops:
            if isinstance(op, FuncOp) and op.body.blocks:
                update_signature(op)

    def _in_layout(self, value: SSAValue, layout: Attribute) -> SSAValue:
        if self._layouts[value] == layout:
            return value
        found = self._versions.get((value, layout))
        if found is None:
            found = self._again(value, layout)
            if found is None:
                found = self._converted(value, layout)
            self._versions[value, layout] = found
        return found

    # -- computing again -------------------------------------------------------------------------

    def _again(self, value: SSAValue, layout: Attribute) -> SSAValue | None:
        if not self._is_cheap(value, layout, _DEPTH):
            return None
        return self._cloned(value, layout)

    def _is_cheap(self, value: SSAValue, layout: Attribute, depth: int) -> bool:
        """Whether `value` can be computed in `layout` without converting anything of its size."""
        if self._layouts[value] == layout or (value, layout) in self._versions:
            return True
        op = value.owner
        if not isinstance(op, Operation) or value not in self._plan.flexible or depth == 0:
            return False
        if op.name in _FREE:
            return True
        links = links_of(op)
        if not links or op.regions or len(op.results) != 1:
            return False
        for link in links:
            required = link.backward(layout)
            if required is None:
                return False
            is_smaller = rank_of(link.source.type) < rank_of(value.type)
            if not is_smaller and not self._is_cheap(link.source, required, depth - 1):
                return False
        return True

    def _cloned(self, value: SSAValue, layout: Attribute) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, RequireLayoutOp | ReleaseLayoutOp):
            return self._in_layout(op.src, layout)
        requested = {link.source: link.backward(layout) for link in links_of(op)}
        clone = op.clone()
        for index, operand in enumerate(op.operands):
            required = requested.get(operand)
            if required is not None:
                clone.operands[index] = self._in_layout(operand, required)
        self._rewriter.insert_after(op, clone)
        self._layouts[clone.results[0]] = layout
        return clone.results[0]

    def _converted(self, value: SSAValue, layout: Attribute) -> SSAValue:
        assert is_tensor(value.type)
        op = ConvertLayoutOp(value, with_encoding(value.type, layout))
        owner = value.owner
        if isinstance(owner, Operation):
            self._rewriter.insert_after(owner, op)
        else:
            self._rewriter.insert(op, InsertPoint.at_start(owner))
        self._layouts[op.result] = layout
        return op.result

    # -- types -----------------------------------------------------------------------------------

    def _retype(self, value: SSAValue, layout: Attribute) -> None:
        assert is_tensor(value.type)
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is None:
            return  # taken out above
        type = with_encoding(value.type, layout)
        if type == value.type:
            return
        if isinstance(owner, ConstantOp):
            owner.properties["value"] = encoded(owner.value, type)
        self._rewriter.retype(value, type)


def encoded(value: Attribute, type: AnyTensor) -> Attribute:
    """A constant with another type of the same shape."""
    if isinstance(value, SplatElementsAttr):
        return SplatElementsAttr(value.value, type)
    assert isinstance(value, DenseIntOrFPElementsAttr)
    return DenseIntOrFPElementsAttr(cast("TensorType[IntegerType]", type), value.data)


def update_signature(function: FuncOp) -> None:
    """The type of a function, from its arguments and what it returns."""
    ends = returns(function)
    outputs = [value.type for value in ends[0].operands] if ends else []
    arguments = function.body.blocks[0].args if function.body.blocks else ()
    function.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in arguments], outputs
    )
