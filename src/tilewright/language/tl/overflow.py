"""Asserting that integers do not overflow, if the kernel is compiled for that.

The operation is done a second time in 64 bits, and its result must be in the range of the type:

    z = x + y      ->      w = x.to(int64) + y.to(int64);  assert w <= max and w >= min
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.dialects import arith
from tilewright.dialects.tt import AssertOp
from tilewright.frontend.builder import current
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import scalar_constant
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import int1, int64
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import emit, tensor

_WIDEST = 64


def check_overflow(
    name: str, lhs: tensor, rhs: tensor, operation: Callable[[tensor, tensor], tensor]
) -> None:
    """Assert that `operation` of two integers of one type gives a number of that type."""
    type = lhs.dtype
    if type.int_bitwidth >= _WIDEST or not current_options().sanitize_overflow:
        return
    result = operation(convert(lhs, int64), convert(rhs, int64))
    largest = scalar_constant(type.get_int_max_value(), int64)
    smallest = scalar_constant(type.get_int_min_value(), int64)
    below, above = _compare("sle", result, largest), _compare("sge", result, smallest)
    fits = emit(arith.AndiOp(below.handle, above.handle), below.type)
    if current_options().debug:
        message = f"int{type.int_bitwidth} overflow detected for operation {name}"
        current().insert(AssertOp(fits.handle, message))


def _compare(predicate: str, value: tensor, bound: tensor) -> tensor:
    value, bound = broadcast_values(value, bound)
    compare = arith.CmpiOp(predicate, value.handle, bound.handle)
    return emit(compare, value.type.with_element_ty(int1))
