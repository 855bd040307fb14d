"""Statements that work element by element."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.tl.builder import Builder
from tests.fuzz.tl.values import (
    BITS,
    BOOL,
    EXACT,
    FLOATS,
    INTEGERS,
    SMALL_FLOATS,
    UNSIGNED,
    Value,
    arithmetic,
    broadcast,
    cast,
    fitting,
    is_float,
    limits,
    literal,
    natural,
    numpy_as,
    promoted,
    small,
    wrapped,
)

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def partner(k: Builder, value: Value, wanted: tuple[str, ...] = ()) -> Value | None:
    """Another operand for `value`: a tensor that fits, a scalar or a number."""
    if k.chance(0.25):
        return number(k, value)

    def fits(other: Value) -> bool:
        shape = broadcast(value.shape, other.shape)
        right = other.dtype in wanted if wanted else other.is_arithmetic
        return right and shape is not None and _size(shape) <= 2048

    return k.pick(fits)


def _size(shape: tuple[int, ...]) -> int:
    return replace(literal(0), shape=shape).size


def number(k: Builder, value: Value) -> Value:
    """A number of Python that the type of `value` holds."""
    least, largest = limits(value.dtype)
    choices = (0, 1, 2, 3, 5, 7, -1, -2, -3, 13, 100)
    if value.is_integer:
        choices = (*choices, largest, least)
    return literal(k.rng.choice([each for each in choices if least <= each <= largest]))


def arithmetical(k: Builder, shape: tuple[int, ...] | None = None) -> Value | None:
    return k.pick(lambda each: each.is_arithmetic and (shape is None or each.shape == shape))


def add_or_multiply(k: Builder) -> bool:
    left = arithmetical(k)
    right = left and partner(k, left)
    if left is None or right is None:
        return False
    if k.chance(0.5):
        left, right = right, left
    if left.dtype == right.dtype == "literal":
        return False
    k.assign(arithmetic(k.rng.choice("++-**"), left, right))
    return True


def least_or_largest(k: Builder) -> bool:
    left = arithmetical(k)
    right = left and partner(k, left)
    if left is None or right is None:
        return False
    k.assign(arithmetic(k.rng.choice(("min", "max")), left, right))
    return True


def bitwise(k: Builder) -> bool:
    left = k.pick(lambda each: each.is_integer)
    right = left and partner(k, left, INTEGERS)
    if left is None or right is None:
        return False
    dtype = promoted(left.dtype, right.dtype)
    word = k.rng.choice("&|^")
    shape = broadcast(left.shape, right.shape)
    assert shape is not None
    low, high = limits(dtype)
    if word == "&" and right.low >= 0 and right.dtype in (dtype, "literal"):
        low, high = 0, right.high
    numpy = f"bits({word!r}, {numpy_as(left, dtype)}, {_typed(right, dtype)})"
    k.assign(Value(f"({left.text} {word} {right.text})", numpy, shape, dtype, low, high))
    return True


def _typed(value: Value, dtype: str) -> str:
    return value.numpy if value.dtype == "literal" else numpy_as(value, dtype)


def shift(k: Builder) -> bool:
    left = k.pick(lambda each: each.is_integer)
    right = left and partner(k, left, INTEGERS)
    if left is None or right is None:
        return False
    dtype = promoted(left.dtype, right.dtype)
    width = BITS[dtype]
    if right.dtype == "literal":
        amount = literal(abs(right.low) % width)
    else:
        amount = natural(right, width - 1)
    word = k.rng.choice(("<<", ">>"))
    shape = broadcast(left.shape, right.shape)
    assert shape is not None
    numpy = f"bits({word!r}, {numpy_as(left, dtype)}, {_typed(amount, dtype)})"
    if word == ">>" and left.dtype not in UNSIGNED and dtype in UNSIGNED:
        # The sign of the left operand decides how it is shifted, also where the result has none.
        same = dtype.removeprefix("u")
        numpy = f"bits('>>', {numpy_as(left, same)}, {_typed(amount, same)})"
        numpy = f"cast({numpy}, {dtype!r})"
    low, high = limits(dtype)
    if word == ">>" and dtype == left.dtype:
        low, high = min(left.low, 0), max(left.high, 0)
    k.assign(Value(f"({left.text} {word} {amount.text})", numpy, shape, dtype, low, high))
    return True


def divide(k: Builder) -> bool:
    """Quotients and remainders; no divisor is zero, and -1 divides only what has a negative."""
    left = k.pick(lambda each: each.is_integer)
    if left is None:
        return False
    signs = UNSIGNED if left.dtype in UNSIGNED else tuple(set(INTEGERS) - set(UNSIGNED))
    right = partner(k, left, tuple(sorted(signs)))
    if right is None:
        return False
    if right.dtype == "literal":
        divisor = right if right.low not in (0, -1, limits(left.dtype)[0]) else literal(3)
    else:
        divisor = arithmetic("+", small(right, k.rng.choice((1, 3, 7))), literal(1))
        if divisor.low <= 0:
            return False
    dtype = promoted(left.dtype, right.dtype)
    shape = broadcast(left.shape, right.shape)
    assert shape is not None
    word, name = k.rng.choice((("//", "quotient"), ("%", "remainder")))
    numpy = f"{name}({numpy_as(left, dtype)}, {_typed(divisor, dtype)})"
    bound = left.magnitude if name == "quotient" else divisor.magnitude
    low, high = (0 if left.low >= 0 and divisor.low > 0 else -bound), bound
    low, high = wrapped(dtype, low, high)
    text = f"({left.text} {word} {divisor.text})"
    k.assign(Value(text, numpy, shape, dtype, low, high))
    return True


def compare(k: Builder) -> bool:
    left = arithmetical(k)
    right = left and partner(k, left)
    if left is None or right is None:
        return False
    k.assign(compared(k, left, right), "m")
    return True


def compared(k: Builder, left: Value, right: Value) -> Value:
    dtype = promoted(left.dtype, right.dtype)
    left, right = fitting(left, dtype), fitting(right, dtype)
    shape = broadcast(left.shape, right.shape)
    assert shape is not None
    word = k.rng.choice(COMPARISONS)
    numpy = f"compare({word!r}, {numpy_as(left, dtype)}, {_typed(right, dtype)})"
    return Value(f"({left.text} {word} {right.text})", numpy, shape, BOOL, 0, 1)


def truth(k: Builder) -> bool:
    """Masks from masks."""
    one = k.pick(lambda each: each.dtype == BOOL)
    if one is None:
        return False
    other = k.pick(lambda each: each.dtype == BOOL and broadcast(each.shape, one.shape) is not None)
    assert other is not None
    if k.chance(0.25):
        k.assign(replace(one, text=f"(~{one.text})", numpy=f"inverse({one.numpy})"), "m")
        return True
    shape = broadcast(one.shape, other.shape)
    assert shape is not None
    if _size(shape) > 2048:
        return False
    word = k.rng.choice("&|^")
    numpy = f"bits({word!r}, {one.numpy}, {other.numpy})"
    k.assign(Value(f"({one.text} {word} {other.text})", numpy, shape, BOOL, 0, 1), "m")
    return True


def choose(k: Builder) -> bool:
    condition = k.pick(lambda each: each.dtype == BOOL)
    if condition is None:
        return False

    def fits(each: Value) -> bool:
        return each.is_arithmetic and broadcast(each.shape, condition.shape) is not None

    left = k.pick(fits)
    if left is None:
        return False
    right = partner(k, left)
    if right is None:
        return False
    shape = broadcast(left.shape, right.shape)
    shape = broadcast(shape, condition.shape) if shape is not None else None
    if shape is None or _size(shape) > 2048:
        return False
    dtype = promoted(left.dtype, right.dtype)
    left, right = fitting(left, dtype), fitting(right, dtype)
    if not is_float(dtype):
        ranges = [wrapped(dtype, each.low, each.high) for each in (left, right)]
        low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
    else:
        low, high = min(left.low, right.low), max(left.high, right.high)
    operands = f"{numpy_as(left, dtype)}, {_typed(right, dtype)}"
    text = f"tl.where({condition.text}, {left.text}, {right.text})"
    k.assign(Value(text, f"where({condition.numpy}, {operands})", shape, dtype, low, high))
    return True


def convert(k: Builder) -> bool:
    value = k.pick(lambda each: True)
    if value is None:
        return False
    dtypes = [*INTEGERS, *FLOATS, *FLOATS, "float8e4nv", "float8e5"]
    if value.dtype == BOOL:
        dtypes = ["int32", "int8", "float32", "uint8", "int64"]
    if value.dtype in SMALL_FLOATS:
        dtypes = ["float16", "float32", "bfloat16", "int32"]
    if value.dtype in ("float64",):
        dtypes = [*INTEGERS, "float32", "float16", "bfloat16"]
    k.assign(cast(value, k.rng.choice(dtypes)))
    return True


def reinterpret(k: Builder) -> bool:
    """The same bits as another type."""
    value = k.pick(lambda each: each.is_integer or (each.is_float and each.has_plain_zeros))
    if value is None:
        return False
    bits = BITS[value.dtype]
    dtype = k.rng.choice([f"int{bits}", f"uint{bits}"])
    if dtype == value.dtype:
        return False
    text, numpy = (
        f"{value.text}.to(tl.{dtype}, bitcast=True)",
        f"reinterpret({value.numpy}, {dtype!r})",
    )
    low, high = limits(dtype)
    if value.low >= 0 and value.high <= high and value.is_integer:
        low, high = value.low, value.high
    k.assign(Value(text, numpy, value.shape, dtype, low, high))
    return True


def unary(k: Builder) -> bool:
    value = arithmetical(k)
    if value is None:
        return False
    low, high = -value.high, -value.low
    match k.rng.randrange(3):
        case 0:
            text, numpy = f"(-{value.text})", f"negative({value.numpy})"
        case 1:
            text, numpy = f"tl.abs({value.text})", f"absolute({value.numpy})"
            low, high = 0 if value.low <= 0 else value.low, value.magnitude
        case _ if value.is_integer:
            text, numpy = f"(~{value.text})", f"inverse({value.numpy})"
            low, high = limits(value.dtype)
        case _:
            text, numpy = f"tl.floor({value.text} * 0.5)", f"halved({value.numpy})"
            if value.dtype not in ("float32", "float64"):
                return False
            low, high = value.low // 2, value.high // 2
    if value.is_integer:
        low, high = wrapped(value.dtype, low, high)
    k.assign(replace(value, text=text, numpy=numpy, low=low, high=high, has_plain_zeros=False))
    return True


def ternary(k: Builder) -> bool:
    """Functions of several operands: fma, clamp, cdiv, umulhi."""
    value = arithmetical(k)
    if value is None:
        return False
    if value.dtype in ("int32", "uint32", "int64") and k.chance(0.6):
        return _high_or_ceiling(k, value)
    if value.dtype not in ("float32", "float64"):
        return False
    bound = int(EXACT[value.dtype] ** 0.5) // 2
    if k.chance(0.5):
        top = k.rng.randint(1, 9)
        low, high = max(-top, value.low), min(top, value.high)
        low, high = min(low, top), max(high, -top)
        text = f"tl.clamp({value.text}, {-top}.0, {top}.0)"
        k.assign(replace(value, text=text, numpy=f"clip({value.numpy}, {-top}, {top})",
                         low=low, high=high, has_plain_zeros=False))  # fmt: skip
        return True
    same = [
        k.pick(lambda each: (each.dtype, each.shape) == (value.dtype, value.shape)) for _ in "ab"
    ]
    a, b, c = (small(each, bound) for each in (value, *filter(None, same)))
    product = arithmetic("*", a, b)
    total = arithmetic("+", product, small(c, EXACT[value.dtype] // 4))
    text = f"tl.fma({a.text}, {b.text}, {small(c, EXACT[value.dtype] // 4).text})"
    k.assign(replace(total, text=text))
    return True


def _high_or_ceiling(k: Builder, value: Value) -> bool:
    if value.dtype == "int32" and k.chance(0.5):
        by = k.rng.choice((2, 3, 4, 7))
        start = arithmetic("+", small(value, 2**20), literal(by - 1))
        numpy = f"quotient({start.numpy}, {by})"
        top = (start.magnitude // by) + 1
        k.assign(Value(f"tl.cdiv({small(value, 2**20).text}, {by})", numpy, value.shape, "int32", -top,
                       top))  # fmt: skip
        return True
    other = k.pick(lambda each: (each.dtype, each.shape) == (value.dtype, value.shape))
    assert other is not None
    text, numpy = (
        f"tl.umulhi({value.text}, {other.text})",
        f"high_product({value.numpy}, {other.numpy})",
    )
    k.assign(Value(text, numpy, value.shape, value.dtype, *limits(value.dtype)))
    return True
