"""Constants, and blocks of one value.

A block of a constant is a constant itself: nothing is left for a later pass to fold, and the text
is Triton's.

    splat_to(%c3_i32, <['16'], int32>)    arith.constant dense<3> : tensor<16xi32>
    splat_to(%x, <['16'], int32>)         tt.splat %x : i32 -> tensor<16xi32>

Repeating one along dimensions of extent 1 is no different.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float64Type, FloatAttr, IntegerAttr, f32
from xdsl.ir import Attribute

from tilewright.dialects import arith, tt
from tilewright.ir.text.floats import rounded
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.language.tl.dtypes import block_type, dtype
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.tensor import emit, tensor


def constant(scalar: int | float, dtype: dtype) -> tensor:
    """`number` as a constant of a scalar type: an integer fits, a float is rounded."""
    type = dtype.to_ir()
    if isinstance(type, AnyFloat):
        scalar = _rounded(float(scalar), type)
    return emit(arith.ConstantOp.of(scalar, type), dtype)


def _rounded(value: float, type: AnyFloat) -> float:
    """`number` as `type` has it, in the steps in which Triton rounds: by way of fp32."""
    if not math.isfinite(value) or isinstance(type, Float64Type):
        return value
    single = rounded(value, f32)
    if not isinstance(type, BFloat16Type) or math.isinf(single):
        return rounded(single, type)
    # Triton hands a bf16 over as text with six decimals. The IR is the same here, but not silently.
    result = rounded(float(f"{single:f}"), type)
    if result != rounded(single, type):
        warn(
            f"{value} as a bfloat16 constant is {result}: rounded to six decimals, as in Triton; "
            "compute in float32 if the difference matters",
        )
    return result


def splat_to(value: tensor, type: block_type) -> tensor:
    """A block of `type` with the scalar `value` in every element."""
    scalar = _constant_in(value)
    if scalar is not None:
        return emit(arith.ConstantOp(SplatElementsAttr(scalar, type.to_ir())), type)
    return emit(tt.SplatOp(value.handle, type.to_ir()), type)


def repeat_to(value: tensor, type: block_type) -> tensor:
    """The block `value` repeated along dimensions of extent 1 until it has `type`."""
    scalar = _constant_in(value)
    if scalar is not None:
        return emit(arith.ConstantOp(SplatElementsAttr(scalar, type.to_ir())), type)
    return emit(tt.BroadcastOp(value.handle, type.to_ir()), type)


def _constant_in(value: tensor) -> Attribute | None:
    """The number that a constant, or every element of a constant, is."""
    owner = value.handle.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    found = owner.value
    if isinstance(found, SplatElementsAttr):
        return found.value
    return found if isinstance(found, (IntegerAttr, FloatAttr)) else None
