"""What the element-wise ops of ``arith`` and ``math`` share: one rule for scalar and container.

``arith.addf`` adds two ``f32``, two vectors or two tensors of ``f32``; the op is the same and so
are its checks. A type is *like* a scalar when it is that scalar or a vector or tensor of it::

    FLOAT_LIKE      f32     vector<4xf32>     tensor<128x64xf32, #blocked>
    BOOL_LIKE       i1      vector<4xi1>      tensor<128x64xi1, #blocked>

The constraints, traits and base classes here have MLIR's messages, since tests compare them.
Types within one module are shared objects, so every check tries identity before equality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    ShapedType,
    Signedness,
    TensorType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, OpTrait, SSAValue
from xdsl.irdl import traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.type_utils import element_type_of, encoding_of
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp, TypeRule

Operand: TypeAlias = SSAValue | Operation
"""A value, or an op with one result standing for it."""

# Scalars.


def is_signless_integer(type: Attribute) -> bool:
    """Whether `type` is an integer of a fixed width and no sign."""
    return isinstance(type, IntegerType) and type.signedness.data is Signedness.SIGNLESS


def is_signless_integer_or_index(type: Attribute) -> bool:
    """Whether `type` is ``index`` or a signless integer of at least one bit."""
    if isinstance(type, IndexType):
        return True
    return is_signless_integer(type) and isinstance(type, IntegerType) and type.width.data > 0


def is_bool(type: Attribute) -> bool:
    """Whether `type` is ``i1``."""
    return is_signless_integer(type) and isinstance(type, IntegerType) and type.width.data == 1


def is_float(type: Attribute) -> bool:
    """Whether `type` is a floating-point type."""
    return isinstance(type, AnyFloat)


# Scalars, and containers of them.


def is_container(type: Attribute) -> bool:
    """Whether `type` is a vector or a tensor, which element-wise ops work through."""
    return isinstance(type, (TensorType, VectorType, UnrankedTensorType))


def like(predicate: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    """`predicate` for scalars, and for the elements of vectors and tensors."""
    return lambda type: predicate(element_type_of(type) if is_container(type) else type)


def like_or_memref(predicate: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    """As `like`, and for the elements of buffers as well."""
    return lambda type: predicate(
        element_type_of(type) if is_container(type) or isinstance(type, MemRefType) else type
    )


INTEGER_LIKE = Satisfies("signless-integer-like", like(is_signless_integer_or_index))
SIZED_INTEGER_LIKE = Satisfies(
    "signless-non-zero-bitwidth-integer-like", like(is_signless_integer_or_index)
)
FIXED_INTEGER_LIKE = Satisfies("signless-fixed-width-integer-like", like(is_signless_integer))
FLOAT_LIKE = Satisfies("floating-point-like", like(is_float))
BOOL_LIKE = Satisfies("bool-like", like(is_bool))


# Relations between types.


def have_compatible_shapes(types: Sequence[Attribute]) -> bool:
    """Whether all are scalars, or all are shaped and no two known extents differ."""
    first = types[0]
    return all(other is first or _compatible(first, other) for other in types[1:])


def _compatible(one: Attribute, other: Attribute) -> bool:
    if isinstance(one, UnrankedTensorType) or isinstance(other, UnrankedTensorType):
        return _is_shaped(one) and _is_shaped(other)
    if not isinstance(one, ShapedType) or not isinstance(other, ShapedType):
        return not _is_shaped(one) and not _is_shaped(other)
    one_shape, other_shape = one.get_shape(), other.get_shape()
    return len(one_shape) == len(other_shape) and all(
        a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(one_shape, other_shape, strict=True)
    )


def _is_shaped(type: Attribute) -> bool:
    return isinstance(type, (ShapedType, UnrankedTensorType))


def check_same_type(types: Sequence[Attribute]) -> None:
    """Raise unless all `types` agree; unknown extents agree with known ones."""
    first = types[0]
    if all(other is first or other == first for other in types):
        return
    element, encoding = element_type_of(first), encoding_of(first)
    for other in types[1:]:
        if element_type_of(other) != element or not _compatible(first, other):
            raise VerifyException("requires the same type for all operands and results")
        if encoding_of(other) != encoding:
            raise VerifyException("requires the same encoding for all operands and results")


def check_same_shape(types: Sequence[Attribute]) -> None:
    """Raise unless the shapes of all `types` are compatible."""
    if not have_compatible_shapes(types):
        raise VerifyException("requires the same shape for all operands and results")


# Traits and base classes.


class Elementwise(OpTrait):
    """Applied to containers, the op does to each element what it does to a scalar."""


class CheckedElementwise(Elementwise):
    """``Elementwise`` for ops whose own rules do not already relate the types."""

    def verify(self, op: Operation) -> None:
        operands = [type for type in op.operand_types if is_container(type)]
        results = [type for type in op.result_types if is_container(type)]
        if not operands and not results:
            return
        if not operands:
            raise VerifyException(
                "if a result is non-scalar, then at least one operand must be non-scalar"
            )
        if not results:
            raise VerifyException(
                "if an operand is non-scalar, then there must be at least one non-scalar result"
            )
        if len(results) != len(op.results):
            raise VerifyException(
                "if an operand is non-scalar, then all results must be non-scalar"
            )
        types = [*operands, *results]
        if len({type.__class__ for type in types}) > 1 or not have_compatible_shapes(types):
            raise VerifyException(
                "all non-scalar operands/results must have the same shape and base type"
            )


class UniformOp(AsmOp):
    """Base of ops whose operands and results all have one type, written once at the end."""

    traits = traits_def(Elementwise())

    def verify_type_rules(self) -> None:
        first = self.results[0].type
        for operand in self.operands:
            if operand.type is not first:
                check_same_type([*self.result_types, *self.operand_types])
                return
        if len(self.results) > 1:
            check_same_type([*self.result_types, first])


LIKE_RESULT = TypeRule("operands have the type of the result", lambda types: types["result"])


def value_of(operand: Operand) -> SSAValue:
    """The value of `operand`."""
    return operand if isinstance(operand, SSAValue) else SSAValue.get(operand)
