"""Statements that move elements: shapes, reductions, scans, sorting, gathering, matrix products."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.tile.text import Text
from tests.fuzz.tl.builder import Builder, list_text
from tests.fuzz.tl.values import (
    BITS,
    BOOL,
    EXACT,
    INTEGERS,
    SMALL_FLOATS,
    UNSIGNED,
    Value,
    arithmetic,
    cast,
    is_float,
    limits,
    natural,
    small,
    wrapped,
)

_LARGEST = 2048
"""Elements of a tensor; compile time grows with them."""
_LARGEST_SORTED = 128


def tensor(k: Builder, *, rank: int | None = None) -> Value | None:
    def fits(each: Value) -> bool:
        return each.shape != () and (rank is None or len(each.shape) == rank)

    return k.pick(fits)


def moved(value: Value, text: str, numpy: str, shape: tuple[int, ...]) -> Value:
    return replace(value, text=text, numpy=numpy, shape=shape)


def transpose(k: Builder) -> bool:
    value = k.pick(lambda each: len(each.shape) > 1)
    if value is None:
        return False
    axes = list(range(len(value.shape)))
    k.rng.shuffle(axes)
    shape = tuple(value.shape[axis] for axis in axes)
    listed = ", ".join(map(str, axes))
    numpy = f"np.transpose({value.numpy}, ({listed}))"
    if len(axes) == 2 and axes == [1, 0] and k.chance(0.6):
        text = k.rng.choice((f"tl.trans({value.text})", f"{value.text}.T"))
    else:
        text = k.rng.choice(
            (f"tl.permute({value.text}, ({listed}))", f"tl.trans({value.text}, {listed})")
        )
    k.assign(moved(value, text, numpy, shape))
    return True


def reshape(k: Builder) -> bool:
    value = tensor(k)
    if value is None:
        return False
    shape = split_size(k, value.size)
    numpy = f"np.reshape({value.numpy}, {shape})"
    if k.chance(0.2):
        k.assign(moved(value, f"tl.ravel({value.text})", f"np.ravel({value.numpy})", (value.size,)))
        return True
    text = f"tl.reshape({value.text}, {list_text(shape)})"
    if k.chance(0.3):
        text = f"{value.text}.reshape({', '.join(map(str, shape))})"
    k.assign(moved(value, text, numpy, shape))
    return True


def split_size(k: Builder, size: int) -> tuple[int, ...]:
    """A shape of `size` elements."""
    rank = k.rng.choice((1, 2, 2, 3))
    shape: list[int] = []
    for _ in range(rank - 1):
        factor = 2 ** k.rng.randint(0, size.bit_length() - 1)
        shape.append(factor)
        size //= factor
    shape.append(size)
    k.rng.shuffle(shape)
    return tuple(shape)


def expand(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and len(each.shape) < 3)
    if value is None:
        return False
    axis = k.rng.randint(0, len(value.shape))
    shape = (*value.shape[:axis], 1, *value.shape[axis:])
    numpy = f"np.expand_dims({value.numpy}, {axis})"
    if k.chance(0.5):
        text = f"tl.expand_dims({value.text}, {axis})"
    else:
        parts = [":"] * len(value.shape)
        parts.insert(axis, "None")
        text = f"{value.text}[{', '.join(parts)}]"
    found = k.assign(moved(value, text, numpy, shape))
    if k.chance(0.6):
        extent = k.rng.choice((2, 4, 8, 16))
        whole = (*shape[:axis], extent, *shape[axis + 1 :])
        if value.size * extent <= _LARGEST:
            numpy = f"np.broadcast_to({found.numpy}, {whole})"
            k.assign(
                moved(found, f"tl.broadcast_to({found.text}, {list_text(whole)})", numpy, whole)
            )
    return True


def join(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and len(each.shape) < 3 and each.size <= 512)
    if value is None or value.dtype == BOOL:
        return False
    other = k.pick(lambda each: (each.dtype, each.shape) == (value.dtype, value.shape))
    assert other is not None
    low, high = min(value.low, other.low), max(value.high, other.high)
    both = replace(value, low=low, high=high,
                   has_plain_zeros=value.has_plain_zeros and other.has_plain_zeros)  # fmt: skip
    operands, numpy = f"{value.text}, {other.text}", f"{value.numpy}, {other.numpy}"
    if k.chance(0.5):
        shape = (*value.shape[:-1], value.shape[-1] * 2)
        k.assign(moved(both, f"tl.interleave({operands})", f"interleaved({numpy})", shape))
    else:
        k.assign(moved(both, f"tl.join({operands})", f"joined({numpy})", (*value.shape, 2)))
    return True


def split(k: Builder) -> bool:
    value = k.pick(lambda each: len(each.shape) > 0 and each.size > 1 and each.dtype != BOOL)
    if value is None:
        return False
    if value.shape[-1] != 2:
        shape = (value.size // 2, 2) if k.chance(0.5) else (2, value.size // 2)
        pair = moved(value, f"tl.reshape({value.text}, {list_text(shape)})",
                     f"np.reshape({value.numpy}, {shape})", shape)  # fmt: skip
        value = k.assign(pair)
        if shape[-1] != 2:
            value = k.assign(moved(value, f"tl.trans({value.text})", f"np.transpose({value.numpy})",
                                   shape[::-1]))  # fmt: skip
    if len(value.shape) < 2:
        return False
    one, two = k.fresh("v"), k.fresh("v")
    k.text.add(f"{one}, {two} = tl.split({value.text})",
               f"{one}, {two} = {value.numpy}[..., 0], {value.numpy}[..., 1]")  # fmt: skip
    for name in (one, two):
        k.values.append(moved(value, name, name, value.shape[:-1]))
    return True


def flip(k: Builder) -> bool:
    value = k.pick(lambda each: each.is_arithmetic and 1 < each.size <= 512)
    if value is None:
        return False
    axis = k.rng.randrange(len(value.shape))
    k.assign(
        moved(
            value, f"tl.flip({value.text}, {axis})", f"np.flip({value.numpy}, {axis})", value.shape
        )
    )
    return True


def make(k: Builder) -> bool:
    """Tensors from nothing."""
    shape = k.rng.choice(k.shapes)
    match k.rng.randrange(4):
        case 0:
            extent = k.rng.choice((8, 16, 32, 64))
            start = k.rng.choice((0, 0, 3, extent))
            value = Value(f"tl.arange({start}, {start + extent})", f"aranged({start}, {start + extent})",
                          (extent,), "int32", start, start + extent - 1)  # fmt: skip
        case 1:
            dtype = k.rng.choice((*INTEGERS, "float16", "bfloat16", "float32", "float64"))
            value = Value(f"tl.zeros({list_text(shape)}, dtype=tl.{dtype})", f"filled({shape}, 0, {dtype!r})",
                          shape, dtype, 0, 0, True)  # fmt: skip
        case 2:
            dtype = k.rng.choice((*INTEGERS, "float16", "bfloat16", "float32", "float64"))
            number = k.rng.randint(0, 9)
            value = Value(f"tl.full({list_text(shape)}, {number}, tl.{dtype})",
                          f"filled({shape}, {number}, {dtype!r})", shape, dtype, number, number, True)  # fmt: skip
        case _:
            scalar = k.pick(lambda each: each.shape == () and each.is_arithmetic)
            if scalar is None:
                return False
            value = replace(scalar, text=f"tl.full({list_text(shape)}, {scalar.text}, tl.{scalar.dtype})",
                            numpy=f"filled({shape}, {scalar.numpy}, {scalar.dtype!r})", shape=shape)  # fmt: skip
    k.assign(value)
    return True


# -- reductions ----------------------------------------------------------------------------------


def _axis(k: Builder, value: Value, *, may_be_all: bool = True) -> tuple[int | None, bool]:
    axis = k.rng.randrange(len(value.shape))
    return (None if may_be_all and k.chance(0.2) else axis), k.chance(0.3)


def _without(value: Value, axis: int | None, keep: bool) -> tuple[int, ...]:
    if axis is None:
        return (1,) * len(value.shape) if keep else ()
    shape = list(value.shape)
    shape[axis : axis + 1] = [1] if keep else []
    return tuple(shape)


def _count(value: Value, axis: int | None) -> int:
    return value.size if axis is None else value.shape[axis]


def _summable(value: Value, count: int) -> Value:
    """Floats whose sum of `count` is exact."""
    return small(value, max(1, EXACT[value.dtype] // count)) if value.is_float else value


def _sum_dtype(dtype: str) -> str:
    if is_float(dtype) or BITS[dtype] >= 32:
        return dtype
    return "uint32" if dtype in UNSIGNED else "int32"


def total(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_arithmetic)
    if value is None:
        return False
    axis, keep = _axis(k, value)
    count = _count(value, axis)
    if value.is_float and count > EXACT[value.dtype]:
        return False
    value = _summable(value, count)
    dtype = _sum_dtype(value.dtype)
    given = ""
    if k.chance(0.15):
        dtype = k.rng.choice(("float32", "float64") if value.is_float else ("int64", "int32"))
        given = f", dtype=tl.{dtype}"
    low, high = min(0, value.low * count), max(0, value.high * count)
    low, high = (low, high) if is_float(dtype) else wrapped(dtype, low, high)
    text = f"tl.sum({value.text}, axis={axis}, keep_dims={keep}{given})"
    numpy = f"reduced('+', cast({value.numpy}, {dtype!r}), {axis}, {keep})"
    k.assign(Value(text, numpy, _without(value, axis, keep), dtype, low, high))
    return True


def extreme(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_arithmetic)
    if value is None:
        return False
    axis, keep = _axis(k, value)
    dtype = _extreme_dtype(value.dtype)
    word = k.rng.choice(("min", "max"))
    text = f"tl.{word}({value.text}, axis={axis}, keep_dims={keep})"
    if axis is not None and not keep and k.chance(0.2):
        text = f"{value.text}.{word}(axis={axis})"
    numpy = f"reduced({word!r}, cast({value.numpy}, {dtype!r}), {axis}, {keep})"
    k.assign(replace(value, text=text, numpy=numpy, shape=_without(value, axis, keep), dtype=dtype,
                     has_plain_zeros=False))  # fmt: skip
    return True


def _extreme_dtype(dtype: str) -> str:
    if BITS[dtype] >= 32:
        return dtype
    return "float32" if is_float(dtype) else "int32"


def place_of_extreme(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_arithmetic)
    if value is None:
        return False
    axis, keep = _axis(k, value, may_be_all=False)
    assert axis is not None
    word = k.rng.choice(("min", "max"))
    shape = _without(value, axis, keep)
    numpy = f"placed({word!r}, {value.numpy}, {axis}, {keep})"
    index = Value(f"tl.arg{word}({value.text}, axis={axis}, keep_dims={keep})", numpy, shape, "int32", 0,
                  value.shape[axis] - 1)  # fmt: skip
    if k.chance(0.5):
        k.assign(index)
        return True
    one, two = k.fresh("v"), k.fresh("v")
    found = f"reduced({word!r}, {value.numpy}, {axis}, {keep})"
    k.text.add(
        f"{one}, {two} = tl.{word}({value.text}, axis={axis}, return_indices=True, keep_dims={keep})",
        f"{one}, {two} = {found}, {numpy}",
    )
    k.values.append(replace(value, text=one, numpy=one, shape=shape, has_plain_zeros=False))
    k.values.append(replace(index, text=two, numpy=two))
    return True


def xor_total(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_integer)
    if value is None:
        return False
    axis, keep = _axis(k, value)
    text = f"tl.xor_sum({value.text}, axis={axis}, keep_dims={keep})"
    numpy = f"reduced('^', {value.numpy}, {axis}, {keep})"
    k.assign(Value(text, numpy, _without(value, axis, keep), value.dtype, *limits(value.dtype)))
    return True


_COMBINES = {
    "+": "a + b", "*": "a * b", "^": "a ^ b", "|": "a | b", "&": "a & b",
    "min": "tl.minimum(a, b)", "max": "tl.maximum(a, b)",
}  # fmt: skip


def _combine(k: Builder, word: str) -> str:
    """A helper that combines two elements."""
    name, text = k.fresh("combine"), Text()
    form = "bits" if word in "^|&" else "arith"
    with text.block(f"def {name}(a, b):", f"def {name}(a, b):"):
        text.add(f"return {_COMBINES[word]}", f"return {form}({word!r}, a, b)")
    text.tile.insert(0, "@tw.jit")
    k.helpers.append(text)
    return name


def custom_reduction(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_arithmetic and each.size <= 512)
    if value is None:
        return False
    axis, keep = _axis(k, value, may_be_all=False)
    assert axis is not None
    words = ("min", "max") if value.is_float else tuple(_COMBINES)
    word = k.rng.choice(words)
    name = _combine(k, word)
    low, high = (value.low, value.high) if word in ("min", "max") else limits(value.dtype)
    text = f"tl.reduce({value.text}, {axis}, {name}, keep_dims={keep})"
    numpy = f"folded({name}, [{value.numpy}], {axis}, {keep})"
    k.assign(Value(text, numpy, _without(value, axis, keep), value.dtype, low, high))
    return True


# -- scans ---------------------------------------------------------------------------------------


def scan(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_arithmetic and each.size <= 512)
    if value is None:
        return False
    axis, reverse = k.rng.randrange(len(value.shape)), k.chance(0.3)
    count = value.shape[axis]
    if value.is_float and count > EXACT[value.dtype]:
        return False
    if k.chance(0.25) and value.is_integer:
        return _affine_scan(k, value, axis, reverse)
    if k.chance(0.3):
        word = k.rng.choice(("min", "max") if value.is_float else tuple(_COMBINES))
        name = _combine(k, word)
        low, high = (value.low, value.high) if word in ("min", "max") else limits(value.dtype)
        text = f"tl.associative_scan({value.text}, {axis}, {name}, reverse={reverse})"
        numpy = f"scanned({name}, [{value.numpy}], {axis}, {reverse})"
        k.assign(Value(text, numpy, value.shape, value.dtype, low, high))
        return True
    word, function = k.rng.choice((("+", "cumsum"), ("+", "cumsum"), ("*", "cumprod")))
    value = _summable(value, count) if word == "+" else small(value, 1) if value.is_float else value
    dtype = _sum_dtype(value.dtype)
    low, high = min(value.low, value.low * count), max(value.high, value.high * count)
    if word == "*":
        low, high = (-1, 1) if value.is_float else limits(dtype)
    low, high = (low, high) if is_float(dtype) else wrapped(dtype, low, high)
    text = f"tl.{function}({value.text}, axis={axis}, reverse={reverse})"
    numpy = f"running({word!r}, cast({value.numpy}, {dtype!r}), {axis}, {reverse})"
    k.assign(Value(text, numpy, value.shape, dtype, low, high))
    return True


def _affine_scan(k: Builder, value: Value, axis: int, reverse: bool) -> bool:
    """Functions x -> a x + b composed one after the other: associative, but not commutative."""
    other = k.pick(lambda each: (each.dtype, each.shape) == (value.dtype, value.shape))
    assert other is not None
    name, text = k.fresh("compose"), Text()
    with text.block(f"def {name}(a, b, c, d):", f"def {name}(a, b, c, d):"):
        text.add("return a * c, b * c + d",
                 "return arith('*', a, c), arith('+', arith('*', b, c), d)")  # fmt: skip
    text.tile.insert(0, "@tw.jit")
    k.helpers.append(text)
    one, two = k.fresh("v"), k.fresh("v")
    k.text.add(
        f"{one}, {two} = tl.associative_scan(({value.text}, {other.text}), {axis}, {name}, reverse={reverse})",
        f"{one}, {two} = scanned({name}, [{value.numpy}, {other.numpy}], {axis}, {reverse})",
    )
    for each in (one, two):
        k.values.append(Value(each, each, value.shape, value.dtype, *limits(value.dtype)))
    return True


# -- by value ------------------------------------------------------------------------------------


def sort(k: Builder) -> bool:
    def fits(each: Value) -> bool:
        size = each.size
        return (
            each.shape != ()
            and each.is_arithmetic
            and each.shape[-1] > 1
            and size <= _LARGEST_SORTED
        )

    value = k.pick(fits)
    if value is None:
        return False
    descending = k.chance(0.5)
    extent = value.shape[-1]
    if k.chance(0.35):
        count = k.rng.choice([each for each in (2, 4, 8, 16) if each <= extent])
        dtype = value.dtype if count == extent else _extreme_dtype(value.dtype)
        text = f"tl.topk({value.text}, {count})"
        numpy = f"ordered(cast({value.numpy}, {dtype!r}), True)[..., :{count}]"
        shape = (*value.shape[:-1], count)
        k.assign(
            replace(value, text=text, numpy=numpy, shape=shape, dtype=dtype, has_plain_zeros=False)
        )
        return True
    text = f"tl.sort({value.text}, descending={descending})"
    k.assign(
        replace(
            value, text=text, numpy=f"ordered({value.numpy}, {descending})", has_plain_zeros=False
        )
    )
    return True


def gather(k: Builder) -> bool:
    value = k.pick(lambda each: each.shape != () and each.is_arithmetic and each.size <= 512)
    if value is None:
        return False
    axis = k.rng.randrange(len(value.shape))
    extent = value.shape[axis]

    def fits(each: Value) -> bool:
        same = [a == b for a, b in zip(each.shape, value.shape, strict=False)]
        return (
            each.dtype == "int32"
            and len(each.shape) == len(value.shape)
            and all(fine or number == axis for number, fine in enumerate(same))
        )

    index = k.pick(fits)
    if index is None:
        return False
    index = natural(index, extent - 1)
    text = f"tl.gather({value.text}, {index.text}, axis={axis})"
    numpy = f"np.take_along_axis({value.numpy}, {index.numpy}.astype(np.int64), {axis})"
    k.assign(replace(value, text=text, numpy=numpy, shape=index.shape))
    return True


def histogram(k: Builder) -> bool:
    value = k.pick(
        lambda each: len(each.shape) == 1 and each.dtype in ("int32",) and each.size <= 512
    )
    if value is None:
        return False
    bins = k.rng.choice((2, 8, 16, 32, 64))
    value = natural(value, bins - 1)
    mask = k.pick(lambda each: each.dtype == BOOL and each.shape == value.shape)
    given = (f", mask={mask.text}", f", {mask.numpy}") if mask and k.chance(0.5) else ("", "")
    text = f"tl.histogram({value.text}, {bins}{given[0]})"
    numpy = f"counted({value.numpy}, {bins}{given[1]})"
    k.assign(Value(text, numpy, (bins,), "int32", 0, value.size))
    return True


# -- products ------------------------------------------------------------------------------------

_OPERANDS = (
    "float16",
    "float16",
    "bfloat16",
    "float32",
    "int8",
    "float8e4nv",
    "float8e5",
    "float64",
)


def dot(k: Builder) -> bool:
    left = k.pick(
        lambda each: len(each.shape) in (2, 3) and each.shape[-1] >= 16 and each.dtype != BOOL
    )
    if left is None:
        return False
    depth, batch = left.shape[-1], left.shape[:-2]
    right = k.pick(
        lambda each: each.dtype != BOOL and each.shape[:-2] == batch and len(each.shape) > 1
        and each.shape[-2] == depth
    )  # fmt: skip
    if right is None:
        other = k.pick(
            lambda each: each.dtype != BOOL and len(each.shape) == 2 and each.shape[-1] == depth
        )
        if other is None or batch:
            return False
        right = k.assign(moved(other, f"tl.trans({other.text})", f"np.transpose({other.numpy})",
                               other.shape[::-1]))  # fmt: skip
    return multiply(k, left, right)


def multiply(k: Builder, left: Value, right: Value) -> bool:
    depth = left.shape[-1]
    kinds = (
        [left.dtype] if left.dtype == right.dtype and left.dtype in _OPERANDS else list(_OPERANDS)
    )
    kind = k.rng.choice(
        [each for each in kinds if depth >= (32 if BITS[each] == 8 else 16)] or ["float16"]
    )
    bound = 7 if kind in SMALL_FLOATS else 4
    left, right = (_operand(each, kind, bound) for each in (left, right))
    dtype = "int32" if kind == "int8" else "float64" if kind == "float64" else "float32"
    extra = ""
    if kind == "float32":
        extra = k.rng.choice(("", ', input_precision="ieee"', ', input_precision="tf32"',
                              ', input_precision="tf32x3"'))  # fmt: skip
    limit = left.magnitude * right.magnitude * depth
    if kind == "float16" and limit <= 1024 and k.chance(0.3):
        dtype, extra = "float16", ", out_dtype=tl.float16"
    elif kind == "float64":
        extra = ", out_dtype=tl.float64"
    shape = (*left.shape[:-1], right.shape[-1])
    acc, numpy = "", ""
    total = limit
    before = k.pick(lambda each: (each.dtype, each.shape) == (dtype, shape))
    if before is not None and k.chance(0.6):
        start = small(before, EXACT[dtype] // 2) if is_float(dtype) else before
        acc, numpy = f", {start.text}", f", {start.numpy}"
        total += start.magnitude
    text = f"tl.dot({left.text}, {right.text}{acc}{extra})"
    reference = f"product({left.numpy}, {right.numpy}, {dtype!r}{numpy})"
    low, high = (-total, total) if is_float(dtype) else wrapped(dtype, -total, total)
    k.assign(Value(text, reference, shape, dtype, low, high))
    return True


def _operand(value: Value, kind: str, bound: int) -> Value:
    if value.dtype == kind and (value.magnitude <= bound or kind == "int8"):
        return value
    if value.dtype in SMALL_FLOATS:
        value = cast(value, "float32")
    return cast(small(value, bound), kind)


def outer(k: Builder) -> bool:
    """A table of all pairs of two vectors."""
    one, two = (k.pick(lambda each: len(each.shape) == 1 and each.is_arithmetic) for _ in range(2))
    if one is None or two is None or one.size * two.size > _LARGEST:
        return False
    column = moved(one, f"{one.text}[:, None]", f"{one.numpy}[:, None]", (one.size, 1))
    row = moved(two, f"{two.text}[None, :]", f"{two.numpy}[None, :]", (1, two.size))
    k.assign(arithmetic(k.rng.choice(("+", "-", "*", "min", "max")), column, row))
    return True
