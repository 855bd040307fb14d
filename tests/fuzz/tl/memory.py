"""Statements that read and write memory: pointers, descriptors, block pointers, atomics.

Arrays are made as large as their accesses need, or the accesses are masked to the size they have.
Every store has an array of its own, with a part for each program and each iteration of the loops
around it, so that no two lanes meet; atomics alone may meet, where their order does not matter.
"""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.tl.builder import Argument, Builder, list_text
from tests.fuzz.tl.values import (
    BITS,
    BOOL,
    EXACT,
    FLOATS,
    INTEGERS,
    SMALL_FLOATS,
    Value,
    cast,
    fitting,
    is_float,
    limits,
    natural,
    numpy_as,
    small,
)

INPUTS = (*INTEGERS, *FLOATS, "float32", "float16", "int32", "int32", *SMALL_FLOATS)
_POISON = 5


def _axes(shape: tuple[int, ...]) -> list[tuple[str, str]]:
    """The index of every element, an expression for each axis."""
    found: list[tuple[str, str]] = []
    for axis, extent in enumerate(shape):
        places = [":" if each == axis else "None" for each in range(len(shape))]
        suffix = f"[{', '.join(places)}]" if len(shape) > 1 else ""
        found.append((f"tl.arange(0, {extent}){suffix}", f"aranged(0, {extent}){suffix}"))
    return found


def base(k: Builder) -> tuple[str, int, int]:
    """Where a block starts: the same text in both languages, and its range."""
    if not k.indices or k.chance(0.15):
        start = k.rng.choice((0, 0, 3, 16))
        return str(start), start, start
    index = k.rng.choice(k.indices)
    step = k.rng.choice((1, 8, 16, 16, 32, 7))
    text = f"{index.text} * {step}"
    low, high = index.low * step, index.high * step
    if k.chance(0.25):
        other = k.rng.choice(k.indices)
        text, low, high = f"{text} + {other.text}", low + other.low, high + other.high
    return text, low, high


def offsets(
    k: Builder, shape: tuple[int, ...], strides: list[int], start: tuple[str, int, int]
) -> Value:
    """A named tensor of offsets."""
    text, low, high = start
    numpy = text
    for (axis, reference), extent, stride in zip(_axes(shape), shape, strides, strict=True):
        factor = str(stride)
        if stride > 1 and k.chance(0.3):
            factor = k.number_argument(stride)
        text, numpy = f"{text} + {axis} * {factor}", f"{numpy} + {reference} * {factor}"
        low, high = low + min(0, (extent - 1) * stride), high + max(0, (extent - 1) * stride)
    named = Value(f"({text})", f"np.asarray({numpy}, np.int32)", shape, "int32", low, high)
    return k.assign(named, "off")


def strides_of(k: Builder, shape: tuple[int, ...]) -> list[int]:
    """Contiguous, padded, transposed or repeated elements."""
    order = list(range(len(shape)))[::-1]
    if k.chance(0.3):
        k.rng.shuffle(order)
    strides, step = [0] * len(shape), k.rng.choice((1, 1, 1, 1, 2, 3))
    for axis in order:
        strides[axis] = step
        step = step * shape[axis] + k.rng.choice((0, 0, 0, 1, 4))
    if k.chance(0.15):
        strides[k.rng.randrange(len(shape))] = 0
    return strides


def load(k: Builder) -> Value:
    """Elements of an input, all of them inside of it or masked."""
    shape = k.rng.choice(k.shapes)
    source = _source(k)
    where = offsets(k, shape, strides_of(k, shape), base(k))
    return loaded(k, source, where)


def _source(k: Builder) -> Argument:
    known = [each for each in k.arguments if not each.is_written and not each.block]
    if known and k.chance(0.35):
        return k.rng.choice(known)
    dtype = k.rng.choice(INPUTS)
    return k.array("x", dtype, 1, k.small_span(dtype))


def loaded(k: Builder, source: Argument, where: Value) -> Value:
    shift = ""
    if where.low < 0:
        shift = f" + {-where.low}"
        low, high = 0, where.high - where.low
    else:
        low, high = where.low, where.high
    place, reference = f"{source.name} + {where.text}{shift}", f"{where.numpy}{shift}"
    if k.chance(0.1):
        place = f"{source.name} + {where.text}.to(tl.int64){shift}"
    options = _cache(k)
    plain = Value("", "", where.shape, source.dtype, source.low, source.high, True)
    if k.chance(0.45):
        k.enlarge(source, high + 1)
        text = f"tl.load({place}{options})"
        return k.assign(replace(plain, text=text, numpy=f"load({source.name}, {reference})"))
    count = k.rng.randint(max(1, (low + high) // 2), high + 2)
    k.enlarge(source, count)
    limit = k.number_argument(count) if k.chance(0.7) else str(count)
    test = f"{where.text}{shift} < {limit}"
    mask, numpy_mask = f"({test})", f"({reference} < {limit})"
    extra = k.pick(lambda each: each.dtype == BOOL and each.shape == where.shape)
    if extra is not None and k.chance(0.4):
        mask, numpy_mask = f"{mask} & {extra.text}", f"{numpy_mask} & {extra.numpy}"
    if source.dtype not in SMALL_FLOATS and k.chance(0.15):
        return _unfilled(
            k, plain, place, options, mask, f"{source.name}, {reference}, {numpy_mask}"
        )
    least = limits(source.dtype)[0]
    other = k.rng.choice((0, 0, 1, 3, max(least, -2)))
    if source.dtype in SMALL_FLOATS:
        other = 0
    is_small = source.dtype in SMALL_FLOATS
    number = f"{other}.0" if is_small or (is_float(source.dtype) and k.chance(0.5)) else str(other)
    text = f"tl.load({place}, mask={mask}, other={number}{options})"
    numpy = f"load({source.name}, {reference}, {numpy_mask}, {other})"
    low, high = min(source.low, other), max(source.high, other)
    return k.assign(replace(plain, text=text, numpy=numpy, low=low, high=high))


def _unfilled(
    k: Builder, plain: Value, place: str, options: str, mask: str, reference: str
) -> Value:
    """Lanes without a value are replaced before anything reads them."""
    name = k.fresh("m")
    k.text.add(f"{name} = {mask}", None)
    # A number of Python would turn booleans into int32.
    filler, value = ("False", 0) if plain.dtype == BOOL else ("2", 2)
    text = f"tl.where({name}, tl.load({place}, mask={name}{options}), {filler})"
    low, high = min(plain.low, value), max(plain.high, value)
    numpy = f"load({reference}, {value})"
    return k.assign(replace(plain, text=text, numpy=numpy, low=low, high=high))


def _cache(k: Builder) -> str:
    if k.chance(0.85):
        return ""
    return k.rng.choice((', cache_modifier=".cg"', ', cache_modifier=".ca"',
                         ', eviction_policy="evict_last"', ', eviction_policy="evict_first"',
                         ", volatile=True"))  # fmt: skip


def load_statement(k: Builder) -> bool:
    load(k)
    return True


def load_by_index(k: Builder) -> bool:
    """An input at places that were computed."""
    index = k.pick(
        lambda each: each.dtype in ("int32", "int64", "uint8", "int16") and each.size <= 512
    )
    if index is None:
        return False
    index = natural(index, k.rng.choice((15, 63)))
    loaded(k, _source(k), index)
    return True


# -- stores --------------------------------------------------------------------------------------


def _result(k: Builder, dtype: str, size: int, span: tuple[int, int] | None = None) -> Argument:
    return k.array("o", dtype, size, span or (_POISON, _POISON), is_written=True)


def stored_as(k: Builder, value: Value) -> tuple[Value, str]:
    """What is stored, and the type of the array: usually that of the value."""
    if value.dtype == BOOL:
        return value, k.rng.choice(("int8", "int32"))
    if value.dtype in SMALL_FLOATS or k.chance(0.8):
        return value, value.dtype
    dtype = k.rng.choice(INTEGERS if value.is_integer else FLOATS)
    return fitting(value, dtype), dtype


def store(k: Builder, value: Value) -> None:
    value, dtype = stored_as(k, value)
    shape = value.shape
    if shape == ():
        array = _result(k, dtype, k.places)
        k.text.add(f"tl.store({array.name} + {k.place}, {value.text})",
                   f"store({array.name}, {k.place}, {numpy_as(value, dtype)})")  # fmt: skip
        return
    strides = [max(each, 1) for each in strides_of(k, shape)]
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if len({*_reached(shape, strides)}) < value.size:
        strides = _contiguous(shape)
        span = value.size
    array = _result(k, dtype, k.places * span)
    where = offsets(k, shape, strides, (f"{k.place} * {span}", 0, (k.places - 1) * span))
    mask, numpy_mask = "", ""
    chosen = k.pick(lambda each: each.dtype == BOOL and each.shape == shape)
    if chosen is not None and k.chance(0.3):
        mask, numpy_mask = f", mask={chosen.text}", f", {chosen.numpy}"
    elif k.chance(0.3):
        count = k.rng.randint(1, array.size)
        limit = k.number_argument(count)
        mask, numpy_mask = f", mask={where.text} < {limit}", f", {where.numpy} < {limit}"
        if k.chance(0.5):
            index = next(i for i, each in enumerate(k.arguments) if each.name == array.name)
            k.arguments[index] = replace(k.arguments[index], size=count)
    k.text.add(f"tl.store({array.name} + {where.text}, {value.text}{mask})",
               f"store({array.name}, {where.numpy}, {numpy_as(value, dtype)}{numpy_mask})")  # fmt: skip


def _contiguous(shape: tuple[int, ...]) -> list[int]:
    strides, step = [1] * len(shape), 1
    for axis in reversed(range(len(shape))):
        strides[axis], step = step, step * shape[axis]
    return strides


def _reached(shape: tuple[int, ...], strides: list[int]) -> list[int]:
    found = [0]
    for extent, stride in zip(shape, strides, strict=True):
        found = [each + index * stride for each in found for index in range(extent)]
    return found


def store_statement(k: Builder) -> bool:
    if not k.is_loop_countable:
        return False
    value = k.pick(lambda each: True)
    if value is None:
        return False
    store(k, value)
    return True


# -- atomics -------------------------------------------------------------------------------------

_WORDS = {"add": "+", "max": "max", "min": "min", "and": "&", "or": "|", "xor": "^"}
_ATOMIC = {
    "add": ("int32", "uint32", "int64", "uint64", "float32", "float16", "float64", "bfloat16"),
    "max": ("int32", "uint32", "int64", "uint64", "float32"),
    "min": ("int32", "uint32", "int64", "uint64", "float32"),
    "and": ("int32", "uint32", "int64"),
    "or": ("int32", "uint32", "int64"),
    "xor": ("int32", "uint32", "int64"),
    "xchg": ("int32", "int64", "float32"),
}


def _sem(k: Builder) -> str:
    return (
        ""
        if k.chance(0.6)
        else k.rng.choice((', sem="relaxed"', ', sem="release"', ', scope="gpu"'))
    )


def atomic(k: Builder) -> bool:
    if not k.is_loop_countable or k.in_helper:
        return False
    return _own_atomic(k) if k.chance(0.45) else _common_atomic(k)


def _common_atomic(k: Builder) -> bool:
    """All programs combine their values into a few elements."""
    name = k.rng.choice(("add", "add", "max", "min", "and", "or", "xor"))
    value = k.pick(lambda each: each.is_arithmetic and each.size <= 256)
    if value is None:
        return False
    dtype = value.dtype if value.dtype in _ATOMIC[name] else k.rng.choice(_ATOMIC[name])
    lanes = k.places * value.size
    if is_float(dtype) and name == "add":
        if lanes + 4 > EXACT[dtype]:
            return False
        value = small(value, max(1, (EXACT[dtype] - 4) // lanes))
        if value.is_float and value.magnitude * lanes > EXACT[dtype] - 4:
            return False
    value = cast(value, dtype)
    if value.magnitude * lanes > EXACT.get(dtype, 2**200) - 4 and name == "add":
        return False
    index = k.pick(lambda each: each.is_integer and each.shape == value.shape)
    span = (-4, 4) if is_float(dtype) else (max(0, limits(dtype)[0]), 9)
    if index is not None and value.shape:
        index = natural(index, k.rng.choice((1, 7, 31)))
        place, numpy, size = index.text, index.numpy, index.high + 1
    elif value.shape:
        place, numpy = flat(value.shape)
        size = value.size
    else:
        place, numpy, size = "0", "0", 1
    array = _result(k, dtype, size, span)
    mask = k.pick(
        lambda each: each.dtype == BOOL and each.shape == value.shape and each.shape != ()
    )
    masks = (f", mask={mask.text}", f", {mask.numpy}") if mask and k.chance(0.5) else ("", "")
    k.text.add(
        f"tl.atomic_{name}({array.name} + {place}, {value.text}{masks[0]}{_sem(k)})",
        f"update({_WORDS[name]!r}, {array.name}, {numpy}, {value.numpy}{masks[1]})",
    )
    return True


def flat(shape: tuple[int, ...]) -> tuple[str, str]:
    parts = [
        (f"{text} * {stride}", f"{numpy} * {stride}")
        for (text, numpy), stride in zip(_axes(shape), _contiguous(shape), strict=True)
    ]
    return (
        f"({' + '.join(each[0] for each in parts)})",
        f"({' + '.join(each[1] for each in parts)})",
    )


def _own_atomic(k: Builder) -> bool:
    """Each lane has an element of its own, so that what it finds there is known."""
    name = k.rng.choice((*_ATOMIC, "xchg", "cas"))
    kinds = ("int32", "int64") if name == "cas" else _ATOMIC[name]
    value = k.pick(lambda each: each.is_arithmetic and each.size <= 256)
    if value is None:
        return False
    dtype = value.dtype if value.dtype in kinds else k.rng.choice(kinds)
    value = cast(small(value, 100) if is_float(dtype) else value, dtype)
    span = (-4, 4) if is_float(dtype) else (0, 9)
    array = _result(k, dtype, k.places * value.size, span)
    if value.shape:
        text, numpy = flat(value.shape)
        place, reference = (
            f"{k.place} * {value.size} + {text}",
            f"{k.place} * {value.size} + {numpy}",
        )
    else:
        place, reference = k.place, k.place
    if name == "cas":
        wanted = k.rng.randint(0, 3)
        expected = f"tl.full({list_text(value.shape)}, {wanted}, tl.{dtype})" if value.shape else (
            f"tl.full((), {wanted}, tl.{dtype})")  # fmt: skip
        text = f"tl.atomic_cas({array.name} + {place}, {expected}, {value.text})"
        numpy = f"swap({array.name}, {reference}, {wanted}, {value.numpy})"
    else:
        word = _WORDS.get(name, name)
        text = f"tl.atomic_{name}({array.name} + {place}, {value.text}{_sem(k)})"
        numpy = f"update({word!r}, {array.name}, {reference}, {value.numpy})"
    k.assign(Value(text, numpy, value.shape, dtype, *span, has_plain_zeros=True))
    return True


# -- descriptors and block pointers --------------------------------------------------------------


def _block(k: Builder, dtype: str) -> tuple[int, ...]:
    least = max(1, 16 * 8 // BITS[dtype])
    rank = k.rng.choice((1, 2, 2, 2, 3))
    last = k.rng.choice([each for each in (8, 16, 32, 64) if each >= least])
    front = [k.rng.choice((1, 2, 4, 8, 16, 32)) for _ in range(rank - 1)]
    while last * _count(tuple(front)) > 1024:
        front[front.index(max(front))] //= 2
    return (*front, last)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _corner(k: Builder, block: tuple[int, ...], dtype: str) -> tuple[list[str], list[int]]:
    """Where a block starts, and one past the largest start.

    On the last axis it is a multiple of 16 bytes: TMA takes no other.
    """
    unit = max(1, 128 // BITS[dtype])
    texts: list[str] = []
    ends: list[int] = []
    for axis, extent in enumerate(block):
        index = k.rng.choice(k.indices) if k.indices and k.chance(0.7) else None
        extra = k.rng.choice((0, 0, 0, 0, 8, 16, -4, 3))
        if axis == len(block) - 1:
            extra = k.rng.choice((0, 0, 0, unit, -unit, 3 * unit))
        if index is None:
            texts.append(str(extra))
            ends.append(max(0, extra) + 1)
            continue
        texts.append(f"{index.text} * {extent}" + (f" + {extra}" if extra else ""))
        ends.append(max(0, index.high * extent + extra) + 1)
    return texts, ends


def _extents(
    k: Builder, block: tuple[int, ...], ends: list[int], dtype: str
) -> tuple[tuple[int, ...], int]:
    """A shape that the blocks reach over or stay within, and the elements from row to row."""
    shape = [max(1, end - 1 + extent - k.rng.choice((0, 0, 0, extent // 2, 1)))
             for end, extent in zip(ends, block, strict=True)]  # fmt: skip
    return tuple(shape), pitch_of(shape[-1], dtype)


def pitch_of(columns: int, dtype: str) -> int:
    unit = max(1, 128 // BITS[dtype])
    return -(-columns // unit) * unit


_DESCRIBED = ("float16", "float32", "bfloat16", "int32", "int8", "uint8", "int16", "uint16", "float8e4nv",
              "int64", "float64", "uint32")  # fmt: skip


def descriptor_load(k: Builder) -> bool:
    if k.in_helper:
        return False
    dtype = k.rng.choice(_DESCRIBED)
    block = _block(k, dtype)
    corner, ends = _corner(k, block, dtype)
    shape, pitch = _extents(k, block, ends, dtype)
    array, name, whole = described(k, "x", dtype, block, shape, pitch, k.small_span(dtype))
    text = f"{name}.load({list_text(corner)})"
    if k.chance(0.2):
        text = f"tl.load_tensor_descriptor({name}, {list_text(corner)})"
    numpy = f"box({array.name}, {shape}, {list_text(corner)}, {block}, {whole[-1]})"
    low, high = min(0, array.low), max(0, array.high)
    k.assign(Value(text, numpy, block, dtype, low, high, True))
    return True


def described(
    k: Builder, prefix: str, dtype: str, block: tuple[int, ...], shape: tuple[int, ...], pitch: int,
    span: tuple[int, int], *, is_written: bool = False,
) -> tuple[Argument, str, tuple[int, ...]]:  # fmt: skip
    """An array and the name of a descriptor of it, made in the kernel or passed to it."""
    whole = (*shape[:-1], pitch)
    array = k.array(prefix, dtype, _count(whole), span, is_written=is_written)
    index = len(k.arguments) - 1
    if k.chance(0.35):
        array = replace(array, is_shifted=False, block=block, shape=shape)
        k.arguments[index] = array
        return array, array.name, whole
    array = replace(array, is_shifted=False)
    k.arguments[index] = array
    name = k.fresh("desc")
    strides = _contiguous(whole)
    sizes = [k.number_argument(each) if each > 1 and k.chance(0.4) else str(each) for each in shape]
    steps = [
        k.number_argument(each) if each > 1 and k.chance(0.4) else str(each) for each in strides
    ]
    steps[-1] = "1"
    k.text.add(
        f"{name} = tl.make_tensor_descriptor({array.name}, shape={list_text(sizes)}, "
        f"strides={list_text(steps)}, block_shape={list_text(block)})",
        None,
    )
    return array, name, whole


def descriptor_store(k: Builder) -> bool:
    """A block of its own for every program; the last ones may reach over the edge."""
    if k.in_helper or k.repeats or not k.is_loop_countable:
        return False

    def fits(each: Value) -> bool:
        wide = each.shape != () and each.shape[-1] * BITS[each.dtype] >= 128
        return wide and each.dtype in _DESCRIBED and max(each.shape) <= 256

    value = k.pick(fits)
    if value is None:
        return False
    block, rank = value.shape, len(value.shape)
    axis = k.rng.randrange(rank)
    corner = ["0"] * rank
    corner[axis] = f"pid * {block[axis]}"
    shape = list(block)
    shape[axis] = max(1, k.programs * block[axis] - k.rng.choice((0, 0, 1, block[axis] // 2)))
    shape[-1] = pitch_of(shape[-1], value.dtype)  # stores write whole units of 16 bytes
    pitch = pitch_of(shape[-1], value.dtype)
    array, name, whole = described(k, "o", value.dtype, block, tuple(shape), pitch, (_POISON, _POISON),
                                    is_written=True)  # fmt: skip
    kind = k.rng.random()
    text = f"{name}.store({list_text(corner)}, {value.text})"
    if kind < 0.2:
        text = f"tl.store_tensor_descriptor({name}, {list_text(corner)}, {value.text})"
    k.text.add(
        text,
        f"put_box({array.name}, {tuple(shape)}, {list_text(corner)}, {value.numpy}, {whole[-1]})",
    )
    return True


def block_pointer(k: Builder) -> bool:
    """A block that a pointer with a shape reaches; axes that may reach over the edge are checked."""
    if k.in_helper:
        return False
    dtype = k.rng.choice(("float16", "float32", "int32", "int8", "bfloat16"))
    block = _block(k, dtype)
    corner, ends = _corner(k, block, dtype)
    shape = tuple(
        max(1, end + 4 + extent - k.rng.choice((0, 1, extent // 2)))
        for end, extent in zip(ends, block, strict=True)
    )
    array = k.array("x", dtype, _count(shape), k.small_span(dtype))
    strides = _contiguous(shape)
    order = list(range(len(block)))[::-1]
    name = k.fresh("block")
    k.text.add(
        f"{name} = tl.make_block_ptr({array.name}, {list_text(shape)}, {list_text(strides)}, "
        f"{list_text(corner)}, {list_text(block)}, {list_text(order)})",
        None,
    )
    checked = ", ".join(map(str, range(len(block))))
    text = f'tl.load({name}, boundary_check=[{checked}], padding_option="zero")'
    numpy = f"box({array.name}, {shape}, {list_text(corner)}, {block}, {shape[-1]})"
    low, high = min(0, array.low), max(0, array.high)
    k.uses_block_pointers = True
    k.assign(Value(text, numpy, block, dtype, low, high, True))
    return True
