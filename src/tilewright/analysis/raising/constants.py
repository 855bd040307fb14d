"""Constant tensors: the one value that all elements have."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.raising.kinds import is_elementwise
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.text.literals import SplatElementsAttr, scalar_attribute

_KEEPS_ZERO = frozenset(
    ("tt.splat", "tt.broadcast", "tt.reshape", "tt.expand_dims", "arith.truncf", "arith.extf")
) | {"tt.fp_to_fp", "arith.sitofp", "arith.trunci", "arith.extsi"}


def splat_attribute(op: Operation) -> IntegerAttr | FloatAttr | None:
    """The value of a constant, scalar or in every element; None if elements differ."""
    if not isinstance(op, ConstantOp):
        return None
    value = op.value
    if isinstance(value, IntegerAttr | FloatAttr):
        return value
    if isinstance(value, SplatElementsAttr):
        return value.scalar
    if isinstance(value, DenseIntOrFPElementsAttr):
        values: list[object] = list(value.get_values())
        first = values[0] if values else None
        if isinstance(first, int | float) and all(each == first for each in values):
            return scalar_attribute(first, element_type_of(op.results[0].type))
    return None


_UNIFORM = frozenset(("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans"))


def is_uniform(value: SSAValue) -> bool:
    """Whether all elements of a tensor are one scalar, or computed from such tensors."""
    owner = value.owner
    if isinstance(owner, Block):
        return False
    if owner.name == "tt.splat" or splat_attribute(owner) is not None:
        return True
    if owner.name in _UNIFORM or is_elementwise(owner):
        return all(is_uniform(operand) for operand in owner.operands)
    return False


def is_zero(value: SSAValue) -> bool:
    """Whether a tensor or scalar is the constant +0, however it is written."""
    owner = value.owner
    if isinstance(owner, Block):
        return False
    if owner.name in _KEEPS_ZERO:
        return is_zero(owner.operands[0])
    found = splat_attribute(owner)
    return found is not None and found.value.data == 0 and str(found.value.data) != "-0.0"
