"""`flatten-threads`: threads are counted along one axis.

    threads(32, 4)          ->    threads(128)
    gpu.thread_id y               tid / 32

After this pass a thread has one linear index. A reduction across one axis of the threads
becomes one across the digit of that index that counts the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt import AllReduceOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import KernelOp, ReduceOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.gpu.lower.reductions import ACROSS, combine, is_without_sign, prepared
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined

_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class FlattenThreads(Pass):
    """Count threads along one axis."""

    name = "flatten-threads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in list(walk(module)):
            if isinstance(kernel, KernelOp) and kernel.thread_extents is not None:
                _flatten(kernel, kernel.thread_extents)


def _flatten(kernel: KernelOp, extents: Sequence[int]) -> None:
    for op in list(walk(kernel)):
        if isinstance(op, ReduceOp) and op.scope.data == "threads":
            _across(op, extents)
        elif isinstance(op, ThreadIdOp) and len(extents) > 1:
            _coordinate(op, extents)
    if len(extents) > 1:
        kernel.set_threads((prod(extents),))


def _coordinate(op: ThreadIdOp, extents: Sequence[int]) -> None:
    dimension = op.properties["dimension"]
    axis = _AXES.index(dimension.data)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    code = IndexBuilder(op)
    if axis >= len(extents):
        code.rewriter.replace_op(op, [], [code.index(0)])
        return
    linear = code.add(ThreadIdOp("x")).results[0]
    coordinate = combined(code, "floordiv", linear, prod(extents[:axis]))
    if axis < len(extents) - 1:
        coordinate = combined(code, "mod", coordinate, extents[axis])
    found = code.index(coordinate)
    found.name_hint = op.results[0].name_hint
    code.rewriter.replace_op(op, [], [found])


def _across(op: ReduceOp, extents: Sequence[int]) -> None:
    """Every thread gets what the threads along an axis hold, combined."""
    code = IndexBuilder(op)
    kind, axis = op.kind.data, op.axis
    threads = extents[axis] if axis < len(extents) else 1
    scale = prod(extents[:axis])
    for point in product(*(range(size) for size in shape_of(op.src.type))):
        indices = [code.index(each) for each in point]
        loaded = code.add(LoadOp(op.src, indices)).results[0]
        value = converted(
            code, loaded, element_type_of(op.dst.type), is_unsigned=is_without_sign(op)
        )
        value = prepared(code, value, op)
        if threads > 1:
            across = AllReduceOp(ACROSS[kind], value, threads, scale)
            if is_without_sign(op):
                across.attributes[simt_names.UNSIGNED] = UnitAttr()
            value = code.add(across).results[0]
        if not op.clear:
            before = code.add(LoadOp(op.dst, indices)).results[0]
            value = combine(code, kind, before, value, op)
        code.add(StoreOp(value, op.dst, indices))
    code.rewriter.erase(op)
