"""The position of a program in the grid; prints and assertions."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.tt.program import (
    AssertOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    MakeRangeOp,
    PrintOp,
)
from tilewright.dialects.type_utils import shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.arith.constant import scalar_constant
from tilewright.targets.numpy.ops.checks import require_defined
from tilewright.targets.numpy.ops.tt.shape import full_expr
from tilewright.targets.numpy.values import PROGRAM, Pointer, Tensor, axis_bit


def _program_id(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, GetProgramIdOp)
    rt = emitter.runtime
    expr = emitter.pure(f"{{0}}.program_id({op.dimension})", rt, axes=PROGRAM)
    emitter.define(op.result, Tensor(expr))


def _num_programs(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, GetNumProgramsOp)
    expr = emitter.pure(f"{{0}}.num_programs({op.dimension})", emitter.runtime, axes=0)
    emitter.define(op.result, Tensor(expr))


def _make_range(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MakeRangeOp)
    start, end = op.bounds
    if end - start == 1:
        type = emitter.scalar_type(op.result)
        emitter.define(op.result, Tensor(scalar_constant(emitter, start, type, op.result.type)))
        return
    hint = f"range_{end}" if start == 0 else f"range_{start}_{end}"
    text = f"arange({start}, {end})"
    emitter.define(op.result, Tensor(emitter.constant(text, hint, axis_bit(0), 1)))


def _print(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PrintOp)
    for operand in op.args:
        require_defined(emitter, emitter.values[operand], "a printed value", ())
    exprs = [emitter.runtime]
    shown: list[str] = []
    for operand, signed in zip(op.args, op.is_signed.get_values(), strict=True):
        value = emitter.values[operand]
        if isinstance(value, Pointer):
            expr = emitter.grown(emitter.total(value.terms), shape_of(operand.type), 0)
        else:
            expr = full_expr(emitter, operand) if shape_of(operand.type) else emitter.expr(operand)
        sign = None if isinstance(value, Pointer) else bool(signed)
        shown.append(f"({{{len(exprs)}}}, {sign})")
        exprs.append(expr)
    source_id = emitter.unit.source_id(op.location)
    prefix = repr(op.prefix.data).replace("{", "{{").replace("}", "}}")
    arguments = "".join(f", {text}" for text in shown)
    emitter.effect(
        f"{{0}}.print({source_id}, {prefix}, {bool(op.hex.value.data)}{arguments})", *exprs
    )


def _assert(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    condition = emitter.tensor(op.condition)
    require_defined(emitter, condition, "the condition of an assertion", ())
    message = repr(op.message.data).replace("{", "{{").replace("}", "}}")
    source_id = emitter.unit.source_id(op.location)
    emitter.effect(f"{{0}}.check({source_id}, {{1}}, {message})", emitter.runtime, condition.expr)


def nothing(emitter: Emitter, op: Operation) -> None:
    """An op that orders what a CPU does in order anyway, or that only informs the compiler."""


RULES: dict[str, Rule] = {
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _num_programs,
    "tt.make_range": _make_range,
    "tt.print": _print,
    "tt.assert": _assert,
    "tt.grid_dependency_wait": nothing,
    "tt.grid_dependency_launch_dependents": nothing,
    "ttg.barrier": nothing,
    "gpu.barrier": nothing,
    "llvm.intr.assume": nothing,
}
