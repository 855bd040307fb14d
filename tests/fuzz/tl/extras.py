"""Statements of the wide family: what the plain one does not make.

Hints that hold, tuples, arrays of truth values, memory that a program writes and reads again behind a
barrier, reductions through descriptors, reductions of several tensors at once, functions that stay
functions.
"""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.tile.text import Text
from tests.fuzz.tl import memory
from tests.fuzz.tl.builder import Builder, list_text
from tests.fuzz.tl.values import BITS, BOOL, Value, arithmetic, cast, is_float, limits, small


def hint(k: Builder) -> bool:
    """What a kernel promises about its values."""
    if k.chance(0.4):
        scalar = k.pick(lambda each: each.shape == () and each.is_integer)
        if scalar is None:
            return False
        k.text.add(f"tl.assume({scalar.text} >= {scalar.low})", None)
        return True
    step = k.rng.choice((4, 8, 16))
    extent = k.rng.choice((16, 32, 64))
    known = {each.text for each in k.values} | {"pid"}  # those of unrolled loops are numbers
    indices = [each for each in k.indices if each.text in known]
    index = k.rng.choice(indices) if indices else None
    start = f"{index.text} * {step}" if index else "0"
    high = index.high * step if index else 0
    low = index.low * step if index else 0
    first = k.fresh("v")
    k.text.add(f"{first} = tl.multiple_of({start}, {step})" if index else f"{first} = 0",
               f"{first} = np.int32({start})")  # fmt: skip
    text = f"tl.max_contiguous({first} + tl.arange(0, {extent}), {extent})"
    numpy = f"np.asarray({first} + aranged(0, {extent}), np.int32)"
    where = k.assign(Value(text, numpy, (extent,), "int32", low, high + extent - 1), "off")
    dtype = k.rng.choice(("float32", "int8", "float16", "int64"))
    memory.loaded(k, k.array("x", dtype, 1, k.small_span(dtype)), where)
    return True


def tuples(k: Builder) -> bool:
    """Two values in a tuple, taken out by number."""
    one, two = (k.pick(lambda each: each.is_arithmetic) for _ in range(2))
    if one is None or two is None:
        return False
    name = k.fresh("t")
    pair = f"{name} = ({one.text}, {two.text})"
    k.text.add(pair, f"{name} = ({one.numpy}, {two.numpy})")
    number = k.rng.randrange(2)
    chosen = (one, two)[number]
    taken = replace(chosen, text=f"{name}[{number}]", numpy=f"{name}[{number}]")
    k.assign(arithmetic(k.rng.choice(("+", "*", "max")), taken, small(chosen, 7)))
    return True


def truth_in_memory(k: Builder) -> bool:
    """Truth values are read from memory, one byte each."""
    shape = k.rng.choice(k.shapes)
    where = memory.offsets(k, shape, memory.strides_of(k, shape), memory.base(k))
    source = k.array("x", BOOL, 1, (0, 1))
    if where.low < 0:
        return False
    k.enlarge(source, where.high + 1)
    text, numpy = f"tl.load({source.name} + {where.text})", f"load({source.name}, {where.numpy})"
    k.assign(Value(text, numpy, shape, BOOL, 0, 1), "m")
    return True


def round_trip(k: Builder) -> bool:
    """A program writes its own part of an array and reads it again in another order."""
    if k.in_helper or k.depth:
        return False
    value = k.pick(lambda each: each.is_arithmetic and 1 < each.size <= 512)
    if value is None:
        return False
    array = k.array("o", value.dtype, k.programs * value.size, (5, 5), is_written=True)
    text, numpy = memory.flat(value.shape)
    start = f"pid * {value.size}"
    k.text.add(f"tl.store({array.name} + {start} + {text}, {value.text})",
               f"store({array.name}, {start} + {numpy}, {value.numpy})")  # fmt: skip
    k.text.add("tl.debug_barrier()", None)
    step = k.rng.choice((1, 3, 5, 7))
    place = f"{start} + (tl.arange(0, {value.size}) * {step} + 1) % {value.size}"
    reference = f"{start} + (aranged(0, {value.size}) * {step} + 1) % {value.size}"
    k.assign(replace(value, text=f"tl.load({array.name} + {place})", shape=(value.size,),
                     numpy=f"load({array.name}, {reference})"))  # fmt: skip
    k.text.add("tl.debug_barrier()", None)
    return True


_COMBINED = {"add": "+", "max": "max", "min": "min", "and": "&", "or": "|", "xor": "^"}
_BY_DESCRIPTOR = {
    "add": ("int32", "uint32", "float32"), "max": ("int32", "uint32"), "min": ("int32", "uint32"),
    "and": ("int32", "uint32"), "or": ("int32", "uint32"), "xor": ("int32", "uint32"),
}  # fmt: skip


def descriptor_reduction(k: Builder) -> bool:
    """All programs combine a block of theirs with one block of memory."""
    if k.in_helper or not k.is_loop_countable:
        return False
    name = k.rng.choice(tuple(_BY_DESCRIPTOR))

    def fits(each: Value) -> bool:
        wide = each.shape != () and each.shape[-1] * 32 >= 128 and max(each.shape) <= 256
        return wide and each.is_arithmetic and each.size <= 512

    value = k.pick(fits)
    if value is None:
        return False
    kinds = _BY_DESCRIPTOR[name]
    dtype = value.dtype if value.dtype in kinds else k.rng.choice(kinds)
    value = cast(small(value, 100) if is_float(dtype) else value, dtype)
    block = value.shape
    array, desc, whole = memory.described(
        k, "o", dtype, block, block, memory.pitch_of(block[-1], dtype), (0, 9), is_written=True
    )
    corner = list_text([0] * len(block))
    k.text.add(f"{desc}.atomic_{name}({corner}, {value.text})",
               f"combine_box({_COMBINED[name]!r}, {array.name}, {block}, {value.numpy}, {whole[-1]})")  # fmt: skip
    return True


def joint_reduction(k: Builder) -> bool:
    """Two tensors reduced together: the least of one and the xor of the other."""
    one = k.pick(lambda each: each.shape != () and each.is_integer and each.size <= 512)
    if one is None:
        return False
    two = k.pick(lambda each: each.shape == one.shape and each.is_integer)
    assert two is not None
    axis = k.rng.randrange(len(one.shape))
    name, text = k.fresh("combine"), Text()
    with text.block(f"def {name}(a, b, c, d):", f"def {name}(a, b, c, d):"):
        text.add("return tl.minimum(a, c), b ^ d", "return arith('min', a, c), bits('^', b, d)")
    text.tile.insert(0, "@tw.jit")
    k.helpers.append(text)
    names = k.fresh("v"), k.fresh("v")
    k.text.add(
        f"{names[0]}, {names[1]} = tl.reduce(({one.text}, {two.text}), {axis}, {name})",
        f"{names[0]}, {names[1]} = folded({name}, [{one.numpy}, {two.numpy}], {axis}, False)",
    )
    shape = (*one.shape[:axis], *one.shape[axis + 1 :])
    k.values.append(replace(one, text=names[0], numpy=names[0], shape=shape))
    low, high = limits(two.dtype)
    k.values.append(Value(names[1], names[1], shape, two.dtype, low, high))
    return True


def kept_function(k: Builder) -> bool:
    """A function of scalars that is called, not expanded."""
    if k.in_helper:
        return False
    one, two = (k.pick(lambda each: each.shape == () and each.dtype == "int32") for _ in range(2))
    if one is None or two is None:
        return False
    name, text = k.fresh("kept"), Text()
    with text.block(f"def {name}(a, b):", f"def {name}(a, b):"):
        text.add("c = a * 3 - b", "c = arith('-', arith('*', a, 3), b)")
        with text.block("if c > 5:", "if c > 5:"):
            text.add("c = c // 2", "c = quotient(c, 2)")
        text.both("return c")
    text.tile.insert(0, "@tw.jit(noinline=True)")
    k.helpers.append(text)
    low, high = limits("int32")
    call = f"{name}({one.text}, {two.text})"
    k.assign(Value(call, call, (), "int32", low, high))
    return True


def small_products(k: Builder) -> bool:
    """Bytes that a product of narrow integers has left: widened, multiplied, narrowed."""
    value = k.pick(lambda each: each.is_integer and BITS[each.dtype] <= 16)
    if value is None:
        return False
    wide = cast(value, "int32")
    k.assign(cast(arithmetic("*", wide, wide), value.dtype))
    return True
