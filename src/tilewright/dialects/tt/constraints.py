"""What operands, results and properties of ``tt`` ops may be, with Triton's descriptions.

``tt`` has fewer scalars than MLIR: the floats below, signless integers of six widths, and
pointers. *Like* means the scalar or a ranked tensor of it.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute

from tilewright.dialects.tt.types import PtrType, TensorDescType, block_pointee
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.constraints import Satisfies, either, instance_of

_FLOATS = (
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2Type,
    Float8E5M2FNUZType,
    Float16Type,
    BFloat16Type,
    Float32Type,
    Float64Type,
)
_INTEGER_WIDTHS = frozenset((1, 4, 8, 16, 32, 64))


def _is_integer(type: Attribute) -> bool:
    return (
        isinstance(type, IntegerType)
        and type.signedness.data is Signedness.SIGNLESS
        and type.bitwidth in _INTEGER_WIDTHS
    )


def _exactly(description: str, type: Attribute) -> Satisfies:
    return Satisfies(description, lambda found: found is type or found == type)


def tensor_of_any(*elements: Satisfies, ranked: str = "ranked ") -> Satisfies:
    """Ranked tensors whose elements are one of `elements`."""
    accepts: Callable[[Attribute], bool] = either(*elements).predicate
    described = " or ".join(element.description for element in elements)
    return Satisfies(
        f"{ranked}tensor of {described} values",
        lambda type: is_tensor(type) and accepts(type.element_type),
        (TensorType,),
    )


_I1 = _exactly("1-bit signless integer", i1)
_I8 = _exactly("8-bit signless integer", i8)
_I32 = _exactly("32-bit signless integer", i32)
_I64 = _exactly("64-bit signless integer", i64)
_F32 = instance_of("32-bit float", Float32Type)

FLOAT = instance_of("floating-point", *_FLOATS)
INT = Satisfies("integer", _is_integer, (IntegerType,))
PTR = instance_of("ptr", PtrType)
BLOCK_PTR = Satisfies("ptr", lambda type: block_pointee(type) is not None, (PtrType,))
"""A pointer to a tensor; its description upstream is that of any pointer."""

FLOAT_TENSOR = tensor_of_any(FLOAT)
INT_TENSOR = tensor_of_any(INT)
INT_OR_FLOAT_TENSOR = tensor_of_any(FLOAT, INT)
SCALED_TENSOR = tensor_of_any(FLOAT, _I8)
I32_TENSOR = tensor_of_any(_I32)
TENSOR = tensor_of_any(FLOAT, INT, PTR)

FLOAT_LIKE = either(FLOAT, FLOAT_TENSOR)
INT_LIKE = either(INT, INT_TENSOR)
PTR_LIKE = either(PTR, tensor_of_any(PTR))
F32_LIKE = either(_F32, tensor_of_any(_F32))
BOOL_LIKE = either(_I1, tensor_of_any(_I1))
CONDITION = either(_I1, tensor_of_any(_I1, ranked=""))
I32_LIKE = either(_I32, tensor_of_any(_I32, ranked=""))
I64_LIKE = either(_I64, tensor_of_any(_I64, ranked=""))
VALUE = either(FLOAT_LIKE, INT_LIKE, PTR_LIKE)
"""Anything a ``tt`` op computes with."""

DESC = instance_of(
    "Tensor descriptor type (`::mlir::triton::TensorDescType`) in Triton IR type system",
    TensorDescType,
)

# Properties.


def _is_integer_attribute(attribute: Attribute, type: IntegerType) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.type == type


I32_ATTR = Satisfies(
    "32-bit signless integer attribute",
    lambda attribute: _is_integer_attribute(attribute, i32),
    (IntegerAttr,),
)
BOOL_ATTR = Satisfies(
    "bool attribute", lambda attribute: _is_integer_attribute(attribute, i1), (IntegerAttr,)
)
STRING_ATTR = instance_of("string attribute", StringAttr)
I32_ARRAY_ATTR = Satisfies(
    "i32 dense array attribute",
    lambda attribute: isinstance(attribute, DenseArrayBase) and attribute.elt_type == i32,
    (DenseArrayBase,),
)
