"""Suggested fixes for two values of different types where control flow joins.

total = 0                          total starts as int32, but the loop makes it fp32:
for i in range(n):                 write 0.0 instead of 0
    total += tl.load(x_ptr + i)
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import OpResult, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.language.tl.dtypes import dtype


def agreement(first: SSAValue, first_type: dtype, second: SSAValue, second_type: dtype) -> str:
    """What to write so that two tensors have one type."""
    if first_type.shape != second_type.shape:
        few, many = (first, first_type), (second, second_type)
        if len(few[1].shape) > len(many[1].shape):
            few, many = many, few
        return _one_shape(*few, many[1])
    target = _wider(first_type.scalar, second_type.scalar)
    if target is None:
        return "use two names"
    source, type = (second, second_type) if first_type.scalar == target else (first, first_type)
    literal = _written(source)
    if literal is not None and target.is_floating():
        return f"write {literal}.0 instead of {literal}"
    return f"convert the {type.scalar} with .to({target!r})"


def _one_shape(few: SSAValue, type: dtype, expected: dtype) -> str:
    if type.shape:
        return "make both the same shape, or use two names"
    shape = ", ".join(map(str, expected.shape)) + ("," if len(expected.shape) == 1 else "")
    literal = _written(few)
    if not literal:
        return f"make it a block from the start, with tl.zeros(({shape}), {expected.scalar!r})"
    return (
        f"make it a block from the start, with tl.full(({shape}), {literal}, {expected.scalar!r})"
    )


def _wider(a: dtype, b: dtype) -> dtype | None:
    """The one of two element types that loses less; None if they have nothing in common."""
    if a.is_ptr() or b.is_ptr():
        return None
    if a.is_floating() != b.is_floating():
        return a if a.is_floating() else b
    return a if a.primitive_bitwidth >= b.primitive_bitwidth else b


def _written(value: SSAValue) -> int | None:
    """The integer that the user wrote, if the value is one."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp):
        return None
    constant = value.op.value
    return constant.value.data if isinstance(constant, IntegerAttr) else None
