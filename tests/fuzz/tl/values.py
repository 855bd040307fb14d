"""Typed expressions, written twice: as `tl` sees them and as NumPy does.

Every value has a range. Integers wrap, and then have the range of their type; floats hold integers
that their type represents exactly, so that no order of a sum, no fused multiply-add and no rounding
mode can change a result. `promoted` states the rules of the language (the usual arithmetic
conversions of C, with numbers of Python taking the type of the tensor beside them).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

LITERAL = "literal"
"""The type of a Python number in a kernel."""
BOOL = "int1"
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
SMALL_FLOATS = ("float8e4nv", "float8e5")
FLOATS = ("float16", "bfloat16", "float32", "float64")
EXACT = {
    "float8e4nv": 16, "float8e5": 8, "bfloat16": 256, "float16": 2048,
    "float32": 2**24, "float64": 2**50,
}  # fmt: skip
"""Up to here a type holds every integer."""
BITS = {name: int("".join(filter(str.isdigit, name))) for name in (*INTEGERS, *FLOATS)}
BITS |= {"float8e4nv": 8, "float8e5": 8, BOOL: 1}


def is_float(dtype: str) -> bool:
    return dtype in EXACT


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS


def limits(dtype: str) -> tuple[int, int]:
    """The least and largest value of a type: of an integer type, or of the integers in a float."""
    if dtype in EXACT:
        return -EXACT[dtype], EXACT[dtype]
    if dtype == BOOL:
        return 0, 1
    bits = BITS[dtype]
    return (0, 2**bits - 1) if dtype in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@dataclass(frozen=True)
class Value:
    """An expression of known shape, type and range in both languages."""

    text: str
    numpy: str
    shape: tuple[int, ...]
    dtype: str
    low: int
    high: int
    has_plain_zeros: bool = False
    """No zero among its elements is a negative one, so that its bits are known."""

    @property
    def magnitude(self) -> int:
        return max(-self.low, self.high)

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def is_float(self) -> bool:
        return is_float(self.dtype)

    @property
    def is_integer(self) -> bool:
        return is_integer(self.dtype)

    @property
    def is_arithmetic(self) -> bool:
        """Whether operators take it: 8-bit floats are only stored, converted and multiplied."""
        return self.dtype in INTEGERS or self.dtype in FLOATS


def literal(number: int) -> Value:
    return Value(str(number), str(number), (), LITERAL, number, number)


def promoted(one: str, other: str) -> str:
    """The type in which two operands are added."""
    if LITERAL in (one, other):
        return other if one == LITERAL else one
    if one == other:
        return one
    for wide in ("float64", "float32", "float16"):
        if wide in (one, other):
            return wide
    if "bfloat16" in (one, other):
        return "float32"
    if BITS[one] != BITS[other]:
        return one if BITS[one] > BITS[other] else other
    return one if one in UNSIGNED else other


def wrapped(dtype: str, low: int, high: int) -> tuple[int, int]:
    """The range of a result of an integer type."""
    least, largest = limits(dtype)
    return (low, high) if least <= low and high <= largest else (least, largest)


def small(value: Value, bound: int) -> Value:
    """`value` cut down to magnitude `bound`: integers lose high bits, floats are clamped."""
    if value.magnitude <= bound:
        return value
    assert value.dtype != LITERAL
    if value.is_integer:
        mask = 1
        while mask * 2 + 1 <= min(bound, limits(value.dtype)[1]):
            mask = mask * 2 + 1
        text, numpy = f"({value.text} & {mask})", f"bits('&', {value.numpy}, {mask})"
        return replace(value, text=text, numpy=numpy, low=0, high=mask)
    text = f"tl.minimum(tl.maximum({value.text}, {-bound}), {bound})"
    numpy = f"clip({value.numpy}, {-bound}, {bound})"
    low, high = max(value.low, -bound), min(value.high, bound)
    return replace(value, text=text, numpy=numpy, low=low, high=high, has_plain_zeros=False)


def natural(value: Value, bound: int) -> Value:
    """An integer cut down to ``0 <= it <= bound``, one less than a power of two."""
    if value.low >= 0 and value.high <= bound:
        return value
    mask = min(bound, limits(value.dtype)[1])
    text, numpy = f"({value.text} & {mask})", f"bits('&', {value.numpy}, {mask})"
    return replace(value, text=text, numpy=numpy, low=0, high=mask)


def cast(value: Value, dtype: str) -> Value:
    """`value` of another type, by a conversion that has one right answer."""
    if value.dtype == dtype:
        return value
    if dtype == BOOL:
        source = value
        low, high = 0, 1
    elif is_float(dtype):
        source = small(value, EXACT[dtype]) if value.dtype != BOOL else value
        if dtype in SMALL_FLOATS and source.dtype not in ("float16", "float32"):
            source = cast(source, "float32")
        low, high = source.low, source.high
    elif value.is_float:
        source = value
        if value.dtype in SMALL_FLOATS:
            source = cast(source, "float32")
        source = small(source, min(limits(dtype)[1], EXACT[source.dtype]))
        low, high = source.low, source.high
        if dtype in UNSIGNED and low < 0:
            text, numpy = f"tl.abs({source.text})", f"absolute({source.numpy})"
            low, high = 0, source.magnitude
            source = replace(source, text=text, numpy=numpy, low=low, high=high)
    else:
        source = value
        low, high = wrapped(dtype, value.low, value.high)
    text, numpy = f"{source.text}.to(tl.{dtype})", f"cast({source.numpy}, {dtype!r})"
    plain = not is_float(dtype) or value.has_plain_zeros or not value.is_float
    return Value(text, numpy, value.shape, dtype, low, high, plain)


def broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of a result, if the operands agree."""
    if len(one) < len(other):
        one, other = other, one
    padded = (1,) * (len(one) - len(other)) + other
    if any(a != b and 1 not in (a, b) for a, b in zip(one, padded, strict=True)):
        return None
    return tuple(max(a, b) for a, b in zip(one, padded, strict=True))


def fitting(value: Value, dtype: str) -> Value:
    """`value`, so that the language's own conversion to `dtype` has one right answer."""
    if value.dtype == LITERAL or not is_float(dtype):
        return value
    return small(value, EXACT[dtype])


def numpy_as(value: Value, dtype: str) -> str:
    return value.numpy if value.dtype == dtype else f"cast({value.numpy}, {dtype!r})"


def arithmetic(word: str, left: Value, right: Value) -> Value:
    """``left word right`` for + - * min max, cut down first where floats would round."""
    dtype = promoted(left.dtype, right.dtype)
    shape = broadcast(left.shape, right.shape)
    assert shape is not None
    if is_float(dtype):
        bound = {"+": EXACT[dtype] // 2, "-": EXACT[dtype] // 2}.get(word, EXACT[dtype])
        if word == "*":
            bound = int(EXACT[dtype] ** 0.5)
        left, right = _within(left, bound), _within(right, bound)
    low, high = _interval(word, left, right)
    low, high = (low, high) if is_float(dtype) else wrapped(dtype, low, high)
    operands = f"{numpy_as(left, dtype)}, {numpy_as(right, dtype)}"
    if word in ("min", "max"):
        text = f"tl.{word}imum({left.text}, {right.text})"
    else:
        text = f"({left.text} {word} {right.text})"
    return Value(text, f"arith({word!r}, {operands})", shape, dtype, low, high)


def _within(value: Value, bound: int) -> Value:
    return value if value.dtype == LITERAL else small(value, bound)


def _interval(word: str, a: Value, b: Value) -> tuple[int, int]:
    match word:
        case "+":
            return a.low + b.low, a.high + b.high
        case "-":
            return a.low - b.high, a.high - b.low
        case "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return min(ends), max(ends)
        case "min":
            return min(a.low, b.low), min(a.high, b.high)
        case _:
            return max(a.low, b.low), max(a.high, b.high)
