"""Give every view of a tensor a parameter of its own.

    %v = tile.view %x sizes(33, 17) strides(32)      ->      %x_0: memref<33x17xf32>

On Tenstorrent the elements of a tensor are in tiles, by the shape of the tensor: memory cannot be
seen with another shape. The host can, since it writes every tensor to pages before a launch. So
views whose extents, strides and origin are constants become parameters, and the caller passes its
memory with that shape. A tensor that is written may be seen in one way only.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import PtrOfOp, ViewOp
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.names import NAME
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.reports import NO_INTRINSIC


@dataclass(frozen=True)
class SeenTensor:
    """A new parameter: memory of parameter `source`, in elements."""

    source: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    origin: int

    @property
    def reach(self) -> int:
        """Elements from the start of the memory to the last one."""
        steps = zip(self.shape, self.strides, strict=True)
        return self.origin + 1 + sum((extent - 1) * step for extent, step in steps)


def replace_views(function: FuncOp, engine: DiagnosticEngine) -> tuple[SeenTensor, ...]:
    """Replace all views of parameters; what each new parameter sees, in order."""
    views = [op for op in walk(function) if isinstance(op, ViewOp)]
    written = {region.base for region in writes(function)}
    found: list[SeenTensor] = []
    seen: dict[SeenTensor, BlockArgument] = {}
    for view in views:
        tensor = _seen(view)
        if tensor is None:
            continue
        if tensor not in seen:
            source = function.body.block.args[tensor.source]
            if source in written and _is_seen_otherwise(source, view, tensor):
                engine.error(
                    view,
                    f"'{source.name_hint}' is written, and seen with more than one shape: its "
                    "tiles belong to one tensor",
                    NO_INTRINSIC,
                )
                return ()
            seen[tensor] = _new_parameter(function, view, source, len(found))
            found.append(tensor)
        rewriter = Rewriter()
        rewriter.replace_all_uses(view.result, seen[tensor])
        rewriter.erase(view)
    return tuple(found)


def _seen(view: ViewOp) -> SeenTensor | None:
    """What a view of a parameter sees; None if that is not constant."""
    source, origin = view.source, 0
    if isinstance(source.owner, PtrOfOp):
        if len(source.owner.indices) != 1:
            return None
        known = _constant(source.owner.indices[0])
        if known is None:
            return None
        source, origin = source.owner.base, known
    if not isinstance(source, BlockArgument) or not isinstance(source.owner.parent_op(), FuncOp):
        return None
    rank = len(shape_of(view.result.type))
    shape = [_constant(view.extent(axis)) for axis in range(rank)]
    if any(extent is None for extent in shape):
        return None
    extents = [extent for extent in shape if extent is not None]
    strides = [_constant(step) for step in _strides(view, extents)]
    if any(step is None or step < 0 for step in strides):
        return None
    steps = tuple(step for step in strides if step is not None)
    return SeenTensor(source.index, tuple(extents), steps, origin)


def _strides(view: ViewOp, extents: list[int]) -> list[Mixed]:
    type = view.result.type
    if isinstance(type, MemRefType) and isinstance(type.layout, StridedLayoutAttr):
        declared = [view.stride(axis) for axis in range(len(extents))]
        return [step for step in declared if step is not None]
    steps: list[Mixed] = []
    step = 1
    for extent in reversed(extents):
        steps.append(step)
        step *= extent
    return steps[::-1]


def _constant(value: Mixed) -> int | None:
    if isinstance(value, int):
        return value
    return constant_integer(value)


def _is_seen_otherwise(source: BlockArgument, view: ViewOp, tensor: SeenTensor) -> bool:
    """Whether ops other than equal views use the memory of `source`."""
    for use in source.uses:
        op = use.operation
        if isinstance(op, PtrOfOp):
            others = [each.operation for each in op.result.uses]
            if any(not isinstance(each, ViewOp) or _seen(each) != tensor for each in others):
                return True
        elif op is not view and (not isinstance(op, ViewOp) or _seen(op) != tensor):
            return op.name != "memref.dim"
    return False


def _new_parameter(
    function: FuncOp, view: ViewOp, source: SSAValue, position: int
) -> BlockArgument:
    """A parameter after all others, with the type of the view."""
    block = function.body.block
    type = view.result.type
    assert isinstance(type, MemRefType)
    tensor = _seen(view)
    assert tensor is not None
    made = block.insert_arg(
        MemRefType(type.element_type, tensor.shape, memory_space=type.memory_space),
        len(block.args),
    )
    made.name_hint = f"{source.name_hint or 'tensor'}_{position}"
    made.location = view.location
    function.function_type = FunctionType.from_lists([each.type for each in block.args], [])
    listed = function.properties.get("arg_attrs")
    attributes = list(listed.data) if isinstance(listed, ArrayAttr) else []
    attributes += [DictionaryAttr({})] * (len(block.args) - 1 - len(attributes))
    name = DictionaryAttr({NAME: StringAttr(made.name_hint)})
    function.properties["arg_attrs"] = ArrayAttr([*attributes, name])
    return made
