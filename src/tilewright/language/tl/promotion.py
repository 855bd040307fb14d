"""Type promotion of two operands.

    bool < integer < float         a Python number of no higher kind takes the tensor's type
    fp64 > fp32 > fp16             the wider float wins
    bf16 with bf16                 bf16; with anything else fp32
    fp8 with the same fp8          itself; with another one fp16
    integers                       the wider one; of equal width the unsigned one, as in C
    / and % of floats              at least fp32: devices have no narrower division
    /, // and % of integers        both signed or both unsigned

Numbers are made constants of that type right away, so a tensor of fp16 plus 1.5 adds an fp16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as as_type

from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import (
    is_python_scalar,
    scalar_constant,
    to_tensor,
    type_of_scalar,
)
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import dtype, float16, float32, float64
from tilewright.language.tl.tensor import Operand, tensor


class IncompatibleTypeErrorImpl(TypeError):
    """Two operands that no operation takes together."""

    def __init__(self, type_a: dtype, type_b: dtype, fix: str = "") -> None:
        self.type_a, self.type_b = type_a, type_b
        super().__init__(f"invalid operands of type {type_a!r} and {type_b!r}" + fix)


def promote_binary(
    lhs: object,
    rhs: object,
    *,
    allow_lhs_ptr: bool = False,
    allow_rhs_ptr: bool = False,
    arithmetic_check: bool = True,
    div_or_mod: bool = False,
) -> tuple[tensor, tensor]:
    """Both operands as tensors of one shape and, unless one is a pointer, of one type."""
    left, right = operand(lhs), operand(rhs)
    left_type, right_type = _type_of(left), _type_of(right)
    _check_pointer(left_type, right_type, allow_lhs_ptr)
    _check_pointer(right_type, left_type, allow_rhs_ptr)
    if arithmetic_check and not left_type.is_ptr() and not right_type.is_ptr():
        type = computation_type(
            left_type,
            is_python_scalar(left),
            right_type,
            is_python_scalar(right),
            div_or_mod=div_or_mod,
        )
        left, right = to_computation_type(left, type), to_computation_type(right, type)
    return broadcast_values(to_tensor(left), to_tensor(right))


def promote_ternary(a: object, b: object, c: object) -> tuple[tensor, tensor, tensor]:
    """Three operands as tensors of one shape and type."""
    operands = (operand(a), operand(b), operand(c))
    type = _common_type(operands)
    x, y, z = (to_computation_type(value, type) for value in operands)
    x, y = broadcast_values(x, y)
    x, z = broadcast_values(x, z)
    y, z = broadcast_values(y, z)
    return x, y, z


def operand(value: object) -> Operand:
    """A tensor or a number; anything else is refused."""
    value = unwrap(value)
    if isinstance(value, tensor) or is_python_scalar(value):
        return value
    if value is None:
        raise TypeError(
            "unsupported operand None: a launch argument is None. Pass an array or a "
            "scalar, or test that it `is not None` before its use"
        )
    raise TypeError(
        f"unsupported operand {value!r} of type {value.__class__.__name__}: arithmetic in a kernel "
        "takes tensors and scalars"
    )


def integer_promote(a: dtype, b: dtype) -> dtype:
    """The promoted type of two integers."""
    if a.int_signedness == b.int_signedness:
        return a if a.int_bitwidth > b.int_bitwidth else b
    unsigned, signed = (a, b) if a.is_int_unsigned() else (b, a)
    return unsigned if unsigned.int_bitwidth >= signed.int_bitwidth else signed


def computation_type(
    a: dtype, a_is_scalar: bool, b: dtype, b_is_scalar: bool, *, div_or_mod: bool = False
) -> dtype:
    """The promoted type of two operands; a scalar here is a Python scalar."""
    if a_is_scalar != b_is_scalar:
        scalar, other = (a, b) if a_is_scalar else (b, a)
        if scalar.kind().value <= other.kind().value:
            a = b = other
    if a.is_floating() or b.is_floating():
        return _float_type(a, b, div_or_mod=div_or_mod)
    if not a.is_int() or not b.is_int():
        raise TypeError(f"unexpected type {a} and {b}")
    if div_or_mod and a.int_signedness != b.int_signedness:
        raise TypeError(
            f"Cannot use /, #, or % with {a!r} and {b!r} because they have different signedness;"
            "this is unlikely to result in a useful answer. Cast them to the same signedness."
        )
    return integer_promote(a, b)


def _float_type(a: dtype, b: dtype, *, div_or_mod: bool) -> dtype:
    if a.is_fp64() or b.is_fp64():
        return float64
    if div_or_mod or a.is_fp32() or b.is_fp32():
        return float32
    if a.is_fp16() or b.is_fp16():
        return float16
    if a.is_bf16() or b.is_bf16():
        return a if a == b else float32
    if a.is_fp8() and b.is_fp8():
        return a if a == b else float16
    raise TypeError(
        f"unexpected type {a} and {b}: an 8-bit float takes part in arithmetic with floats only; "
        "cast it to tl.float32 first"
    )


def _common_type(operands: Sequence[Operand]) -> dtype:
    """Tensors among themselves, numbers among themselves, then both."""
    tensors = _joined([x.dtype for x in operands if isinstance(x, tensor)], are_scalars=False)
    scalars = _joined(
        [type_of_scalar(x) for x in operands if is_python_scalar(x)], are_scalars=True
    )
    if tensors is None or scalars is None:
        return as_type("dtype", scalars if tensors is None else tensors)
    return computation_type(tensors, False, scalars, True)


def _joined(types: Sequence[dtype], *, are_scalars: bool) -> dtype | None:
    if not types:
        return None
    joined = types[0]
    for type in types[1:]:
        joined = computation_type(joined, are_scalars, type, are_scalars)
    return joined


def to_computation_type(value: Operand, type: dtype) -> tensor:
    """`value` as `type`; a number must fit in."""
    if isinstance(value, tensor):
        return convert(value, type)
    if value < 0 and type.is_int_unsigned():
        raise ValueError(
            "Cannot perform a binary operation between an unsigned tensor and a negative scalar. "
            "Perform a explicit cast on one of them."
        )
    if type.is_int() and not type.get_int_min_value() <= value <= type.get_int_max_value():
        raise ValueError(
            f"Scalar {value} is out of range for type {type}: cast the tensor to a wider type first"
        )
    return scalar_constant(value, type)


def _type_of(value: Operand) -> dtype:
    return value.dtype if isinstance(value, tensor) else type_of_scalar(value)


def _check_pointer(a: dtype, b: dtype, is_allowed: bool) -> None:
    if not a.is_ptr():
        return
    if not is_allowed:
        raise IncompatibleTypeErrorImpl(
            a,
            b,
            ": pointers support only + and - with integer offsets; use tl.load to read the value",
        )
    if b.is_ptr() and a != b:
        raise IncompatibleTypeErrorImpl(a, b)
    if b.is_floating():
        raise IncompatibleTypeErrorImpl(
            a, b, ": an offset is an integer; divide with //, or convert with .to(tl.int64)"
        )
