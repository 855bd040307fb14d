"""Ops of AMD GPUs: buffer accesses become pointer accesses, what only schedules does nothing.

A kernel is the same computation whether its instructions are ordered by hand or not, so scheduling
barriers, priorities and register classes have no effect here. Waits for memory counters have none
either: what a thread has read or written is there.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.amdg import ExtractSliceOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.tt.program import nothing
from tilewright.targets.numpy.ops.tt.shape import moved
from tilewright.targets.numpy.values import Expr, axis_bit


def as_pointer_accesses(module: ModuleOp) -> ModuleOp:
    """`module`, or a copy of it in which AMD's accesses and register controls are common ops."""
    if not any(op.name.startswith("amdg.") for op in walk(module)):
        return module
    # Kernels for other GPUs do without.
    from tilewright.passes.ttg.amd.drop_register_controls import DropRegisterControls
    from tilewright.passes.ttg.amd.lower_buffer_accesses import LowerBufferAccesses

    module = module.clone()
    # Its remarks are about machine code.
    DropRegisterControls().run(module, DiagnosticEngine())
    LowerBufferAccesses().run(module, DiagnosticEngine())
    return module


def _slice(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ExtractSliceOp)
    shape = shape_of(op.result.type)
    bounds = [(start, start + size) for start, size in zip(op.offsets, shape, strict=True)]

    def change(expr: Expr) -> Expr:
        # An axis along which the value is constant has extent 1.
        parts = [
            f"{start}:{end}" if expr.axes & axis_bit(axis) else ":"
            for axis, (start, end) in enumerate(bounds)
        ]
        if expr.is_scalar:
            return expr
        return emitter.pure(f"{{0}}[:, {', '.join(parts)}]", expr, axes=expr.axes, rank=len(shape))

    emitter.define(op.result, moved(emitter, emitter.values[op.source], change))


def _same(emitter: Emitter, op: Operation) -> None:
    emitter.define(op.results[0], emitter.values[op.operands[0]])


RULES: dict[str, Rule] = {
    "amdg.extract_slice": _slice,
    "amdg.in_thread_transpose": _same,
    "rocdl.barrier": nothing,
    "rocdl.iglp.opt": nothing,
    "rocdl.s.barrier": nothing,
    "rocdl.s.setprio": nothing,
    "rocdl.s.waitcnt": nothing,
    "rocdl.sched.barrier": nothing,
    "rocdl.sched.group.barrier": nothing,
}
