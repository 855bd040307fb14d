"""`tl.cast` and `x.to`: the user's side of `conversion`."""

from __future__ import annotations

from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import bitcast as bitcast_value
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import dtype as dtype_class
from tilewright.language.tl.tensor import operator, tensor, tensor_method


@operator("to")
@tensor_method
def cast(
    input: object,
    dtype: dtype_class,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
) -> tensor:
    """`input` with elements of type `dtype`.

    fp_downcast_rounding: how a float is rounded to one with fewer bits, "rtne" (to the nearest,
        the default) or "rtz" (towards zero).
    bitcast: keep the bits instead of the value; both types have the same width.
    """
    value, dtype = to_tensor(input), unwrap(dtype)
    if not isinstance(dtype, dtype_class):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a type such as tl.float32 to cast to, got {dtype!r}")
    if unwrap(bitcast):
        return bitcast_value(value, dtype)
    return convert(value, dtype, unwrap(fp_downcast_rounding))
