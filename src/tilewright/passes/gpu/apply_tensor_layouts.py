"""`apply-tensor-layouts`: tensors with a layout of their own are accessed where it places elements.

    %dQ: memref<1x256x64xf32> {tile.layout = (i, j, k) -> (j floordiv 8, i, j mod 8, k)}

    memref.load %dQ[%b, %l, %d]    ->    memref.load %dQ[%l floordiv 8, %b, %l mod 8, %d]

``T.annotate_layout`` on a tensor in global memory determines the order of its elements there. The
argument becomes a tensor of the physical shape, and every access to an element is rewritten;
bounds are tested with the logical indices before. Copies are parallel loops by now: TMA and
asynchronous copies address rows of a tensor and support no such layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.tile import AtomicOp, RegionOp
from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.tile.layout_bounds import physical_box
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.guard_memory_accesses import guard_access
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import written
from tilewright.passes.tile.naming import buffer_name

UNSUPPORTED = "TW3052"
_LAYOUT = "tile.layout"


@dataclass(frozen=True)
class ApplyTensorLayouts(Pass):
    """Rewrite accesses to tensors whose layout the user specified."""

    name = "apply-tensor-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in walk(module):
            if not isinstance(function, FuncOp) or function.is_declaration:
                continue
            for position, argument in enumerate(function.args):
                layout = function.argument_attributes(position).get(_LAYOUT)
                if isinstance(layout, LayoutAttr):
                    _apply(function, position, argument, layout.data, engine)


def _apply(
    function: FuncOp,
    position: int,
    tensor: SSAValue,
    map: LayoutMap,
    engine: DiagnosticEngine,
) -> None:
    for op in [use.operation for use in tensor.uses]:
        if isinstance(op, RegionOp) and not any(True for _ in op.results[0].uses):
            Rewriter().erase(op)  # of a copy that is a loop now
    uses = list(dict.fromkeys(use.operation for use in tensor.uses))
    others = [op for op in uses if not isinstance(op, (LoadOp, StoreOp, AtomicOp, DimOp))]
    if others:
        user = next((use.operation for each in others[0].results for use in each.uses), others[0])
        engine.error(
            user,
            f"'{buffer_name(tensor)}' has a layout of its own (T.annotate_layout): accesses to "
            f"single elements support it, {user.name} does not",
            UNSUPPORTED,
        ).note(
            None,
            "help: copy it outside of pipelined loops, or element by element: "
            "for i, j in T.Parallel(...): shared[i, j] = tensor[i, j]",
        )
        return
    accesses = [op for op in uses if not isinstance(op, DimOp)]
    ranges = IndexRanges(function)
    for op in accesses:
        guard_access(op, ranges)
    box = physical_box(map)
    type = tensor.type
    assert box is not None and isinstance(type, MemRefType)
    for op in uses:
        if isinstance(op, DimOp):
            _fold_dim(op, map)
    physical = MemRefType(type.element_type, box, type.layout, type.memory_space)
    changed = Rewriter().retype(tensor, physical)
    for use in list(changed.uses):
        _rewrite(use.operation, map)
    _retype(function, position)


def _rewrite(op: Operation, map: LayoutMap) -> None:
    assert isinstance(op, (LoadOp, StoreOp, AtomicOp))
    code = IndexBuilder(op)
    logical: Sequence[SSAValue] = list(op.indices)
    found = [code.index(written(code, each, logical)) for each in map.results]
    if isinstance(op, LoadOp):
        new: Operation = LoadOp(op.memref, found)
    elif isinstance(op, StoreOp):
        new = StoreOp(op.value, op.memref, found)
    else:
        new = op.of_element(op.dst, found)
    code.add(new)
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    code.rewriter.replace_op(op, [], list(new.results))


def _fold_dim(op: DimOp, map: LayoutMap) -> None:
    """Extents of such a tensor are known."""
    axis = constant_value(op.operands[1])
    assert isinstance(axis, IntegerAttr)
    code = IndexBuilder(op)
    code.rewriter.replace_op(op, [], [code.index(map.extents[axis.value.data])])


def _retype(function: FuncOp, position: int) -> None:
    """The function takes the physical tensor, and no layout is left to apply."""
    types = [argument.type for argument in function.args]
    outputs = function.function_type.outputs.data
    function.properties["function_type"] = FunctionType.from_lists(types, outputs)
    listed = function.properties["arg_attrs"]
    assert isinstance(listed, ArrayAttr)
    attributes = list(listed.data)
    own = attributes[position]
    assert isinstance(own, DictionaryAttr)
    attributes[position] = DictionaryAttr({k: v for k, v in own.data.items() if k != _LAYOUT})
    function.properties["arg_attrs"] = ArrayAttr(attributes)
