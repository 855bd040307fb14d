"""Integer arithmetic for grids and block sizes, usable in kernels as well."""

from __future__ import annotations

from typing import Any

from tilewright.language.tl.constexpr import constexpr_function


@constexpr_function
def cdiv(numerator: Any, denominator: Any) -> Any:
    """How many blocks of `denominator` it takes to cover `numerator`."""
    return (numerator + denominator - 1) // denominator


@constexpr_function
def next_power_of_2(value: int) -> int:
    """The least power of two that is not less than `number`."""
    return 1 << max(value - 1, 0).bit_length()
