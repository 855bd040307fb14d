"""`flatten-threads`: threads are counted along one axis.

    threads(32, 4)          ->    threads(128)
    gpu.thread_id y               tid / 32

Everything after this pass knows a thread by one number. A reduction across one axis of the threads
becomes one across the digit of that number that counts the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import AnyFloat, ModuleOp

from tilewright.dialects.arith import (
    AddfOp,
    AddiOp,
    AndiOp,
    MaxnumfOp,
    MaxsiOp,
    MinnumfOp,
    MinsiOp,
    OriOp,
    XoriOp,
)
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AllReduceOp
from tilewright.dialects.tile import KernelOp, ReduceOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.gpu.lower.expressions import combined
from tilewright.passes.tile.code import Code

_AXES = ("x", "y", "z")
_ALL = {
    "sum": (AddfOp, AddiOp),
    "max": (MaxnumfOp, MaxsiOp),
    "min": (MinnumfOp, MinsiOp),
    "bitand": (AndiOp, AndiOp),
    "bitor": (OriOp, OriOp),
    "bitxor": (XoriOp, XoriOp),
}


@dataclass(frozen=True)
class FlattenThreads(Pass):
    """Count threads along one axis."""

    name = "flatten-threads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in list(module.walk()):
            if isinstance(kernel, KernelOp) and kernel.thread_extents is not None:
                _flatten(kernel, kernel.thread_extents)


def _flatten(kernel: KernelOp, extents: Sequence[int]) -> None:
    for op in list(kernel.walk()):
        if isinstance(op, ReduceOp) and op.scope.data == "threads":
            _across(op, extents)
        elif isinstance(op, ThreadIdOp) and len(extents) > 1:
            _coordinate(op, extents)
    if len(extents) > 1:
        kernel.set_threads((prod(extents),))


def _coordinate(op: ThreadIdOp, extents: Sequence[int]) -> None:
    dimension = op.properties["dimension"]
    axis = _AXES.index(dimension.data)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    code = Code(op)
    if axis >= len(extents):
        code.rewriter.replace_op(op, [], [code.index(0)])
        return
    number = code.add(ThreadIdOp("x")).results[0]
    place = combined(code, "floordiv", number, prod(extents[:axis]))
    if axis < len(extents) - 1:
        place = combined(code, "mod", place, extents[axis])
    found = code.index(place)
    found.name_hint = op.results[0].name_hint
    code.rewriter.replace_op(op, [], [found])


def _across(op: ReduceOp, extents: Sequence[int]) -> None:
    """Every thread gets what the threads along an axis hold, combined."""
    code = Code(op)
    kind = op.kind.data.removeprefix("abs")
    axis = op.axis
    threads = extents[axis] if axis < len(extents) else 1
    scale = prod(extents[:axis])
    for point in product(*(range(size) for size in shape_of(op.src.type))):
        indices = [code.index(each) for each in point]
        loaded = code.add(LoadOp(op.src, indices)).results[0]
        value = converted(code, loaded, element_type_of(op.dst.type))
        if threads > 1:
            value = code.add(AllReduceOp(kind, value, threads, scale)).results[0]
        if not op.clear:
            before = code.add(LoadOp(op.dst, indices)).results[0]
            make = _ALL[kind][0 if _is_float(op) else 1]
            value = code.add(make(before, value)).results[0]
        code.add(StoreOp(value, op.dst, indices))
    code.rewriter.erase(op)


def _is_float(op: ReduceOp) -> bool:

    return isinstance(element_type_of(op.src.type), AnyFloat)
