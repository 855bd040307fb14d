"""Functions of scalars: ``T.max``, ``T.exp2``, ``T.cast``, ``T.if_then_else`` and the like.

Functions of floats take an integer as float32. On numbers of Python, where nothing of the kernel is
involved, divisions, minima and maxima are computed at once.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, cast

from tilewright.dialects import arith, math
from tilewright.dialects.nv import Dp4aOp
from tilewright.dialects.tile import (
    CopyOp,
    ReduceOp,
    ShuffleOp,
    Space,
    WarpReduceOp,
)
from tilewright.dialects.tile.lanes import WARP
from tilewright.frontend.builder import is_outside, is_tracing
from tilewright.frontend.errors import FrontendError
from tilewright.language.T import arithmetic
from tilewright.language.T.arithmetic import absolute, common_dtype
from tilewright.language.T.buffers import Buffer, BufferRegion, Element, ScalarCell
from tilewright.language.T.dtypes import DTYPES, boolean, float32, int32
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import (
    LIMITS,
    Expr,
    as_expr,
    as_type,
    condition,
    constant,
    convert,
    describe,
    emit,
    index_expr,
    is_python_scalar,
)
from tilewright.language.T.lazy import choose
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel
from tilewright.language.T.symbols import Symbolic, compute


def _sizes(*values: Any) -> bool:
    return all(isinstance(value, (int, Symbolic)) for value in values)


def _integers(*values: Any) -> bool:
    return all(isinstance(value, Integral) and is_python_scalar(value) for value in values)


# -- integers ----------------------------------------------------------------------------------


def ceildiv(lhs: Any, rhs: Any) -> Any:
    """``lhs / rhs``, rounded up."""
    if _integers(lhs, rhs):
        return -(-int(lhs) // int(rhs))
    if _sizes(lhs, rhs):
        return compute("ceildiv", lhs, rhs)
    return arithmetic.ceil_division(lhs, rhs)


def align_up(value: Any, alignment: Any) -> Any:
    """The next multiple of `alignment`."""
    return ceildiv(value, alignment) * alignment


def floordiv(lhs: Any, rhs: Any) -> Any:
    """``lhs / rhs``, rounded down."""
    return lhs // rhs


def floormod(lhs: Any, rhs: Any) -> Any:
    """What ``floordiv`` leaves over."""
    return lhs % rhs


def truncdiv(lhs: Any, rhs: Any) -> Any:
    """``lhs / rhs``, rounded towards zero."""
    if _integers(lhs, rhs):
        return python_math.trunc(lhs / rhs)
    return arithmetic.truncated("truncdiv", lhs, rhs)


def truncmod(lhs: Any, rhs: Any) -> Any:
    """What ``truncdiv`` leaves over."""
    if _integers(lhs, rhs):
        return int(python_math.fmod(lhs, rhs))
    return arithmetic.truncated("truncmod", lhs, rhs)


def shift_left(lhs: Any, rhs: Any) -> Any:
    return lhs << rhs


def shift_right(lhs: Any, rhs: Any) -> Any:
    return lhs >> rhs


def bitwise_and(lhs: Any, rhs: Any) -> Any:
    return lhs & rhs


def bitwise_or(lhs: Any, rhs: Any) -> Any:
    return lhs | rhs


def bitwise_xor(lhs: Any, rhs: Any) -> Any:
    return lhs ^ rhs


def bitwise_not(value: Any) -> Any:
    return ~value


# -- extremes ----------------------------------------------------------------------------------


def _extreme(op_name: str, values: Sequence[Any]) -> Any:
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = cast("Sequence[Any]", values[0])
    result = values[0]
    for value in values[1:]:
        probe = getattr(result, "extreme", None)
        if probe is not None:
            result = probe(op_name)
        elif _sizes(result, value) and not _integers(result, value):
            result = compute(op_name, result, value)
        else:
            result = (arithmetic.minimum if op_name == "min" else arithmetic.maximum)(result, value)
    return result


def max(*values: Any) -> Any:
    """The largest."""
    return _extreme("max", values)


def min(*values: Any) -> Any:
    """The smallest."""
    return _extreme("min", values)


def clamp(dst: Any, min_val: Any, max_val: Any) -> Any:
    """`dst`, but not below `min_val` and not above `max_val`."""
    dtype = as_expr(dst).dtype
    return min(max(dst, convert(min_val, dtype)), convert(max_val, dtype))


def max_value(dtype: object) -> Any:
    """The largest finite value of a dtype."""
    found = Dtype(dtype)
    if found.is_float:
        return _constant(LIMITS[found], found)
    return _constant((1 << (found.bits - int(found.is_signed))) - 1, found)


def min_value(dtype: object) -> Any:
    """The smallest finite value of a dtype."""
    found = Dtype(dtype)
    if found.is_float:
        return _constant(-LIMITS[found], found)
    return _constant(-(1 << (found.bits - 1)) if found.is_signed else 0, found)


def infinity(dtype: object = "float32") -> Any:
    """Infinity of a float dtype."""
    found = Dtype(dtype)
    if not found.is_float:
        raise FrontendError(f"T.infinity: {found} has no infinity", code=BAD_ARGUMENT)
    return _constant(python_math.inf, found)


def _constant(value: float, dtype: Dtype) -> Any:
    return constant(value, dtype) if is_tracing() else value


# -- conversion --------------------------------------------------------------------------------


_VALID_CAST_ROUNDING_MODES = frozenset(("", "rn", "rz", "rp", "rm", "rs"))


def cast_(
    value: Any, dtype: Any, round: str | None = "", sat: bool | None = True, rbits: Any = None
) -> Any:
    """`value` as another dtype; floats are rounded to the nearest, halves to even.

    As in TileLang, the modes ``rz``, ``rp`` and ``rm`` are reserved and round to the nearest, and
    conversions to 8-bit floats saturate unless ``sat=False``. ``rs``, stochastic rounding, is an
    instruction of Blackwell.
    """
    mode = round or ""
    if mode not in _VALID_CAST_ROUNDING_MODES:
        raise ValueError(
            f"Invalid round {round!r}: expected one of {sorted(_VALID_CAST_ROUNDING_MODES)}"
        )
    if sat is not None and not isinstance(sat, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"Invalid sat {sat!r}: expected True, to saturate, or False")
    if mode == "rs" and rbits is None:
        raise ValueError("rbits is required with round='rs', stochastic rounding")
    if mode != "rs" and rbits is not None:
        raise ValueError("rbits is only valid with round='rs', stochastic rounding")
    if mode == "rs":
        raise FrontendError(
            "T.cast: stochastic rounding (round='rs') needs a GPU from sm_100a on, and is not "
            "supported: round to nearest, or add rbits before rounding",
            code=BAD_ARGUMENT,
        )
    if is_python_scalar(value) and not (is_tracing() or is_outside()):
        return value  # as of ``T.float32(value)``: outside of kernels it stays a number
    return convert(value, Dtype(dtype))


cast_.__name__ = cast_.__qualname__ = "cast"  # `typing.cast` has the name in this file


def Cast(dtype: Any, value: Any) -> Any:
    """`value` as another dtype."""
    return convert(value, Dtype(dtype))


def reinterpret(value: Any, dtype: Any) -> Any:
    """The bits of `value` as another dtype of the same size; also ``reinterpret(dtype, value)``."""
    if isinstance(value, (Dtype, str)):
        value, dtype = dtype, value
    found = Dtype(dtype)
    if found == "handle":
        return value
    if found.lanes > 1 or hasattr(value, "lanes"):
        return _reinterpreted_lanes(value, found)
    source = as_expr(value)
    if source.dtype.bits != found.bits:
        raise FrontendError(
            f"T.reinterpret keeps the bits: {source.dtype} has {source.dtype.bits}, {found} has "
            f"{found.bits}. Convert by value with T.cast",
            code=BAD_ARGUMENT,
        )
    handle = as_type(source, source.dtype)
    if handle.type == found.type:
        return Expr(handle, found)
    return Expr(emit(arith.BitcastOp(handle, found.type)), found)


def _reinterpreted_lanes(value: Any, dtype: Dtype) -> Any:
    """Of a vector, or as one: the lanes are joined or divided, the lowest bits first."""
    from tilewright.language.T.vectors import Vector
    from tilewright.language.T.wide_access import reinterpreted

    source = value.dtype if isinstance(value, Vector) else as_expr(value).dtype
    if source.bits * source.lanes != dtype.bits * dtype.lanes:
        raise FrontendError(
            f"T.reinterpret keeps the bits: {source} has {source.bits * source.lanes}, {dtype} has "
            f"{dtype.bits * dtype.lanes}. Convert by value with T.cast",
            code=BAD_ARGUMENT,
        )
    element = DTYPES[str.__str__(dtype).rpartition("x")[0]] if dtype.lanes > 1 else dtype
    lanes = [reinterpret(each, element) for each in reinterpreted(value, element.bits)]
    return lanes[0] if len(lanes) == 1 else Vector(lanes)


# -- choices -----------------------------------------------------------------------------------


def if_then_else(cond: Any, t: Any, f: Any) -> Any:
    """`t` if `cond` holds, else `f`; the other one is not evaluated."""
    if is_python_scalar(cond):
        return t if cond else f
    dtype = _arms(t, f)
    test = condition(cond)
    uses_index = dtype == int32 and all(_is_index(arm) for arm in (t, f))
    arms = [index_expr(arm).handle if uses_index else as_type(arm, dtype)
            for arm in (t, f)]  # fmt: skip
    return Expr(choose(test, *arms), dtype)


def _arms(then: Any, otherwise: Any) -> Dtype:
    for arm in (then, otherwise):
        if not (is_python_scalar(arm) or isinstance(arm, (Expr, Symbolic))):
            raise FrontendError(
                f"T.if_then_else selects between scalars, got {describe(arm)}: use an if statement "
                "instead",
                code=BAD_ARGUMENT,
            )
    dtype = common_dtype(then, otherwise)
    return int32 if dtype == boolean and not _both_bool(then, otherwise) else dtype


def _both_bool(*arms: Any) -> bool:
    return all(isinstance(arm, (bool, Expr)) for arm in arms)


def _is_index(value: Any) -> bool:
    return (
        is_python_scalar(value)
        or isinstance(value, Symbolic)
        or (isinstance(value, Expr) and value.is_index)
    )


def Select(cond: Any, then: Any, otherwise: Any) -> Any:
    """`then` if `cond` holds, else `otherwise`; both are evaluated."""
    if is_python_scalar(cond):
        return then if cond else otherwise
    dtype = _arms(then, otherwise)
    test = condition(cond)
    return Expr(emit(arith.SelectOp(test, as_type(then, dtype), as_type(otherwise, dtype))), dtype)


def all_of(*conditions: Any) -> Any:
    """Whether all conditions hold; of a buffer, whether all elements are not zero."""
    return _conjoined("&", "all", conditions)


def any_of(*conditions: Any) -> Any:
    """Whether a condition holds; of a buffer, whether an element is not zero."""
    return _conjoined("|", "any", conditions)


def _conjoined(operator: str, op_name: str, conditions: Sequence[Any]) -> Any:
    if len(conditions) == 1 and isinstance(conditions[0], (Buffer, BufferRegion)):
        return _of_buffer(op_name, conditions[0])
    tests = [Expr(condition(each), boolean) for each in conditions]
    result = tests[0]
    for test in tests[1:]:
        result = arithmetic.binary(operator, result, test)
    return result


def _of_buffer(op_name: str, value: Buffer | BufferRegion) -> Expr:
    """Reduce a row of flags to one."""
    from tilewright.language.T.allocate import allocated

    kernel(f"T.{op_name}_of")
    region = value if isinstance(value, BufferRegion) else value.whole()
    target = ScalarCell(allocated(f"{op_name}_of", (1,), region.dtype, "local.fragment"))
    sizes = list(region.extents)
    long = [axis for axis, size in enumerate(sizes) if not (isinstance(size, int) and size == 1)]
    if len(long) > 1:
        raise FrontendError(
            f"T.{op_name}_of takes one row, got {len(long)} dimensions: view it with T.reshape",
            code=BAD_ARGUMENT,
        )
    axis = long[0] if long else len(sizes) - 1
    if region.buffer.space is Space.GLOBAL:  # reductions work on tiles of the block
        row = allocated(f"{op_name}_of", (sizes[axis],), region.dtype, "local.fragment")
        effect(CopyOp(region.operand(), row.handle))
        region, axis = row.whole(), 0
    effect(ReduceOp(region.operand(), target.buffer.handle, op_name, axis))
    return Expr(condition(target.value()), boolean)


# -- functions of floats -----------------------------------------------------------------------


def _float(value: Any) -> Expr:
    if is_python_scalar(value):
        return constant(float(value), float32)
    found = as_expr(value)
    if found.dtype.is_float:
        return Expr(found.handle, found.dtype)
    return Expr(as_type(found, float32), float32)


def _unary(name: str, op: Any, doc: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        found = _float(x)
        return Expr(emit(op(found.handle)), found.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


exp = _unary("exp", math.ExpOp, "e to the power of `value`.")
exp2 = _unary("exp2", math.Exp2Op, "2 to the power of `value`.")
log = _unary("log", math.LogOp, "The natural logarithm.")
log2 = _unary("log2", math.Log2Op, "The logarithm to base 2.")
log10 = _unary("log10", math.Log10Op, "The logarithm to base 10.")
log1p = _unary("log1p", math.Log1pOp, "The natural logarithm of ``1 + value``.")
sqrt = _unary("sqrt", math.SqrtOp, "The square root.")
rsqrt = _unary("rsqrt", math.RsqrtOp, "One over the square root.")
sin = _unary("sin", math.SinOp, "The sine.")
cos = _unary("cos", math.CosOp, "The cosine.")
tan = _unary("tan", math.TanOp, "The tangent.")
sinh = _unary("sinh", math.SinhOp, "The hyperbolic sine.")
cosh = _unary("cosh", math.CoshOp, "The hyperbolic cosine.")
asin = _unary("asin", math.AsinOp, "The arc sine.")
acos = _unary("acos", math.AcosOp, "The arc cosine.")
atan = _unary("atan", math.AtanOp, "The arc tangent.")
tanh = _unary("tanh", math.TanhOp, "The hyperbolic tangent.")
softsign = _unary("softsign", math.SoftsignOp, "``value / (1 + abs(value))``.")
erf = _unary("erf", math.ErfOp, "The error function.")
floor = _unary("floor", math.FloorOp, "Rounded down.")
ceil = _unary("ceil", math.CeilOp, "Rounded up.")
trunc = _unary("trunc", math.TruncOp, "Rounded towards zero.")
nearbyint = _unary("nearbyint", math.RoundevenOp, "Rounded to the nearest, halves to even.")


_half_away = _unary("round", math.RoundOp, "Rounded to the nearest, halves away from zero.")


def round(x: Any, rounding_mode: str | None = None) -> Any:
    """Rounded to the nearest: halves to even, or with ``ties-away-from-zero`` away from zero."""
    if rounding_mode not in (None, "ties-to-even", "ties-away-from-zero"):
        raise ValueError(
            f"T.round: unknown rounding mode {rounding_mode!r}: it is 'ties-to-even' or "
            "'ties-away-from-zero'"
        )
    return _half_away(x) if rounding_mode == "ties-away-from-zero" else nearbyint(x)


def fast(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function`, which may be less exact; whether it is, is up to the target."""

    def limited(x: Any) -> Any:
        dtype = float32 if is_python_scalar(x) else as_expr(x).dtype
        if not dtype.is_float or dtype.bits < 16:
            raise TypeError(f"T.{name} only supports floating-point inputs, but got {dtype}")
        return function(x)

    limited.__name__ = limited.__qualname__ = name
    limited.__doc__ = function.__doc__
    return limited


def exp10(value: Any) -> Any:
    """10 to the power of `value`."""
    found = _float(value)
    wide = found if found.dtype.bits > 32 else Expr(as_type(found, float32), float32)
    return Expr(as_type(exp2(wide * python_math.log2(10)), found.dtype), found.dtype)


def sigmoid(value: Any) -> Any:
    """``1 / (1 + exp(-value))``."""
    found = _float(value)
    one = constant(1.0, found.dtype)
    return one / (one + exp(-found))


def abs(value: Any) -> Any:
    """The magnitude."""
    if is_python_scalar(value):
        return value if value >= 0 else -value
    found = as_expr(value)
    return absolute(Expr(found.handle, found.dtype, is_natural=found.is_natural))


def pow(base: Any, exponent: Any) -> Any:
    """`base` to the power of `exponent`."""
    return as_expr(base) ** exponent


power = pow


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point ``(x, y)``."""
    dtype = _float(y).dtype
    return Expr(emit(math.Atan2Op(as_type(y, dtype), as_type(x, dtype))), dtype)


def fmod(x: Any, y: Any) -> Any:
    """The remainder of a division rounded towards zero."""
    return arithmetic.truncated("truncmod", _float(x), y)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once."""
    dtype = arithmetic.promoted(common_dtype(a, b), as_expr(c).dtype)
    one, other, third = (as_type(each, dtype) for each in (a, b, c))
    return Expr(emit(math.FmaOp(one, other, third)), dtype)


def isnan(value: Any) -> Any:
    return Expr(emit(math.IsnanOp(_float(value).handle)), boolean)


def isinf(value: Any) -> Any:
    return Expr(emit(math.IsinfOp(_float(value).handle)), boolean)


def isfinite(value: Any) -> Any:
    return Expr(emit(math.IsfiniteOp(_float(value).handle)), boolean)


def popcount(value: Any) -> Any:
    """How many bits are set."""
    found = as_expr(value)
    return Expr(emit(math.CtpopOp(as_type(found, found.dtype))), found.dtype, is_natural=True)


def dp4a(a: Any, b: Any, c: Any) -> Any:
    """``c`` plus the dot product of four signed bytes.

    The bytes are in an int32, in a buffer of four int8, or they begin at an element of one; then
    the sum goes to `c`, as it does where `c` is a buffer.
    """
    from tilewright.language.T.allocate import view

    kernel("T.dp4a")

    def packed(value: Any) -> Any:
        if isinstance(value, Buffer):
            return view(value, (1,), "int32")[0] if value.dtype == "int8" else value
        return _packed_bytes(value) if is_head(value) else value

    def is_head(value: Any) -> bool:
        return isinstance(value, Element) and value.dtype == "int8"

    target = c[0] if isinstance(c, Buffer) else c
    handles = [as_type(each, int32) for each in (packed(a), packed(b), target)]
    found = Expr(emit(Dp4aOp(*handles)), int32)
    if isinstance(target, Element) and (isinstance(c, Buffer) or is_head(a) or is_head(b)):
        target.write(found)
    return found


def _packed_bytes(head: Element) -> Any:
    """Four bytes from an element on, as one number: the first in its lowest bits."""
    *rows, column = head.indices
    bytes = [Element(head.buffer, (*rows, column + byte)) for byte in range(4)]
    parts = [
        shift_left(bitwise_and(cast_(each, int32), 255), 8 * byte)
        for byte, each in enumerate(bytes)
    ]
    return bitwise_or(bitwise_or(parts[0], parts[1]), bitwise_or(parts[2], parts[3]))


# -- warps -------------------------------------------------------------------------------------


def _warp_reduce(kind: str) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        kernel(f"T.warp_reduce_{kind}")
        found = as_expr(value)
        handle = as_type(found, found.dtype)
        return Expr(effect(WarpReduceOp(kind, handle)).results[0], found.dtype)

    function.__name__ = function.__qualname__ = f"warp_reduce_{kind}"
    function.__doc__ = (
        f"The {kind} of the values of 32 neighbouring threads: a warp, or half a wave of 64."
    )
    return function


warp_reduce_sum = _warp_reduce("sum")
warp_reduce_max = _warp_reduce("max")
warp_reduce_min = _warp_reduce("min")
warp_reduce_bitand = _warp_reduce("bitand")
warp_reduce_bitor = _warp_reduce("bitor")
warp_reduce_bitxor = _warp_reduce("bitxor")


def _shuffle(mode: str, value: Any, offset: Any, width: int) -> Any:
    kernel("a shuffle")
    found = as_expr(value)
    handle, lane = as_type(found, found.dtype), as_type(offset, int32)
    return Expr(effect(ShuffleOp(mode, handle, lane, width)).results[0], found.dtype)


def shfl_sync(value: Any, srcLane: Any, width: int = WARP, mask: Any = None) -> Any:
    """The value that lane `srcLane` holds."""
    return _shuffle("idx", value, srcLane, width)


def shfl_xor(value: Any, delta: Any, width: int = WARP, mask: Any = None) -> Any:
    """The value of the lane whose number differs in the bits of `delta`."""
    return _shuffle("xor", value, delta, width)


def shfl_up(value: Any, delta: Any, width: int = WARP, mask: Any = None) -> Any:
    """The value of the lane `delta` below."""
    return _shuffle("up", value, delta, width)


def shfl_down(value: Any, delta: Any, width: int = WARP, mask: Any = None) -> Any:
    """The value of the lane `delta` above."""
    return _shuffle("down", value, delta, width)


def tvm_warp_shuffle(
    mask: Any, value: Any, lane: Any, width: int = WARP, warp_size: int = WARP
) -> Any:
    """The value that lane `lane` holds."""
    del mask, warp_size
    return _shuffle("idx", value, lane, int(width))
