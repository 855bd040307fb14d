"""Loops, conditions and functions, with values that they carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.tile.text import Text
from tests.fuzz.tl.builder import Builder
from tests.fuzz.tl.elementwise import compared
from tests.fuzz.tl.memory import strides_of
from tests.fuzz.tl.values import (
    BITS,
    EXACT,
    Value,
    arithmetic,
    cast,
    limits,
    literal,
    natural,
    promoted,
    small,
)

Statements = Callable[[Builder, int], None]
DEEPEST = 2


def _carried(k: Builder) -> list[Value]:
    """New names for values that a loop changes, with the range that they keep."""
    found: list[Value] = []
    for _ in range(k.rng.randint(1, 2)):
        start = k.pick(lambda each: each.is_arithmetic and each.size <= 512)
        if start is None:
            continue
        if start.is_float:
            start = small(start, EXACT[start.dtype] // 4)
            kept = replace(start, low=-EXACT[start.dtype] // 4, high=EXACT[start.dtype] // 4)
        else:
            kept = replace(start, low=limits(start.dtype)[0], high=limits(start.dtype)[1])
        name = k.fresh("c")
        k.text.add(f"{name} = {start.text}", f"{name} = {start.numpy}")
        found.append(replace(kept, text=name, numpy=name, has_plain_zeros=False))
    return found


def _advance(k: Builder, carried: Value) -> None:
    """``c = c + x``, within its range."""

    def fits(each: Value) -> bool:
        return each.is_arithmetic and each.shape in ((), carried.shape)

    other = k.pick(fits)
    if other is None:
        return
    bound = EXACT.get(carried.dtype, 0) // 4
    if promoted(carried.dtype, other.dtype) != carried.dtype or (
        carried.is_float and other.is_integer
    ):
        other = cast(other, carried.dtype)
    if carried.is_float:
        other = small(other, bound)
        new = small(arithmetic(k.rng.choice(("+", "-", "max", "min")), carried, other), bound)
    else:
        new = arithmetic(k.rng.choice(("+", "-", "*", "max")), carried, other)
    k.text.add(f"{carried.text} = {new.text}", f"{carried.numpy} = {new.numpy}")


def for_loop(k: Builder, statements: Statements) -> bool:
    if k.depth >= DEEPEST or k.in_helper:
        return False
    carried = _carried(k)
    name = k.fresh("i")
    start, count, step = (
        k.rng.choice((0, 0, 0, 1, 2)),
        k.rng.randint(0, 4),
        k.rng.choice((1, 1, 1, 2)),
    )
    stop = start + count * step - (step - 1 if count else 0)
    kind = k.rng.choice(("range", "range", "tl.range", "tl.static_range"))
    is_static = kind == "tl.static_range"
    texts = [str(start), str(stop), str(step)]
    if not is_static and k.chance(0.6):
        texts[1] = k.number_argument(stop, is_constant=False) if stop != 1 else "1"
    bounds = texts[1] if start == 0 and step == 1 else ", ".join(texts[: 3 if step > 1 else 2])
    extra = ""
    if kind == "tl.range":
        extra = k.rng.choice(("", f", num_stages={k.rng.randint(1, 4)}", ", loop_unroll_factor=2",
                              ", flatten=True"))  # fmt: skip
        if ", " not in bounds:
            bounds = f"0, {bounds}"
    index = Value(name, name, (), "int32", start, max(start, stop - 1))
    with (
        k.inner(),
        k.text.block(f"for {name} in {kind}({bounds}{extra}):", f"for {name} in looped({bounds}):"),
    ):
        k.values += carried
        k.indices.append(index)
        if not is_static:
            k.values.append(index)
        k.repeats = (*k.repeats, (name, max(1, stop)))
        statements(k, k.rng.randint(1, 3))
        for each in carried:
            _advance(k, each)
        k.text.both("pass")
    k.values += carried
    return True


def while_loop(k: Builder, statements: Statements) -> bool:
    if k.depth >= DEEPEST or k.in_helper:
        return False
    carried = _carried(k)
    counter = k.fresh("w")
    start = k.pick(lambda each: each.dtype == "int32" and each.shape == ())
    if start is None:
        return False
    start = natural(start, 7)
    k.text.add(f"{counter} = {start.text}", f"{counter} = {start.numpy}")
    with k.inner(), k.text.block(f"while {counter} > 0:", f"while {counter} > 0:"):
        k.values += carried
        index = Value(counter, counter, (), "int32", 0, 7)
        k.values.append(index)
        k.indices.append(index)
        k.is_loop_countable = False
        statements(k, k.rng.randint(1, 2))
        for each in carried:
            _advance(k, each)
        how = k.rng.choice(("{0} - 1", "{0} // 2"))
        k.text.add(
            f"{counter} = {how.format(counter)}", f"{counter} = np.int32({how.format(counter)})"
        )
    k.values += carried
    return True


def condition(k: Builder, statements: Statements) -> bool:
    """An if on a scalar; both branches give a name a value of one type."""
    if k.depth >= DEEPEST or k.in_helper:
        return False
    test = _scalar_test(k)
    if test is None:
        return False
    carried = _carried(k)
    with k.text.block(f"if {test[0]}:", f"if {test[1]}:"), k.inner():
        k.values += carried
        statements(k, k.rng.randint(1, 2))
        for each in carried:
            _advance(k, each)
        k.text.both("pass")
    if k.chance(0.6):
        with k.text.block("else:", "else:"), k.inner():
            k.values += carried
            statements(k, k.rng.randint(0, 2))
            for each in carried:
                if k.chance(0.6):
                    _advance(k, each)
            k.text.both("pass")
    k.values += carried
    return True


def _scalar_test(k: Builder) -> tuple[str, str] | None:
    if k.chance(0.4) and k.constants:
        name = k.rng.choice(list(k.constants))
        text = f"{name} > {k.rng.randint(1, 40)}"
        return text, text
    found: list[Value] = []
    for _ in range(2):
        left = k.pick(lambda each: each.shape == () and each.is_arithmetic)
        if left is None:
            return None
        right = k.pick(lambda each: each.shape == () and each.is_arithmetic)
        found.append(
            compared(k, left, right if right and k.chance(0.5) else literal(k.rng.randint(0, 3)))
        )
    one, other = found
    match k.rng.randrange(5):
        case 0:
            return f"{one.text} and {other.text}", f"({one.numpy}) & ({other.numpy})"
        case 1:
            return f"{one.text} or {other.text}", f"({one.numpy}) | ({other.numpy})"
        case 2:
            return f"not {one.text}", f"not {one.numpy}"
        case _:
            return one.text, one.numpy


def helper(k: Builder, statements: Statements) -> bool:
    """A function of its own for some statements; it returns one value or two."""
    if k.in_helper:
        return False
    chosen = [k.pick(lambda each: each.is_arithmetic) for _ in range(k.rng.randint(1, 2))]
    inputs = [each for each in chosen if each is not None]
    if not inputs:
        return False
    outer_text, outer_values, outer_indices = k.text, k.values, k.indices
    k.text, k.in_helper, k.indices = Text(), True, []
    name = k.fresh("helper")
    parameters = [replace(each, text=f"p{n}", numpy=f"p{n}") for n, each in enumerate(inputs)]
    k.values = list(parameters)
    constant = k.fresh("K")
    number = k.rng.randint(2, 9)
    header = ", ".join(each.text for each in parameters)
    with k.text.block(
        f"def {name}({header}, {constant}: tl.constexpr):", f"def {name}({header}, {constant}):"
    ):
        first = parameters[0]
        k.assign(arithmetic("+", first, replace(literal(number), text=constant, numpy=constant)))
        statements(k, k.rng.randint(1, 3))
        results = k.values[len(parameters) :][-k.rng.randint(1, 2) :]
        listed = ", ".join(each.text for each in results)
        k.text.add(f"return {listed}", f"return {listed}")
    k.text.tile.insert(0, "@tw.jit")
    k.helpers.append(k.text)
    k.text, k.values, k.indices, k.in_helper = outer_text, outer_values, outer_indices, False
    names = [k.fresh("v") for _ in results]
    given = ", ".join(each.text for each in inputs)
    call = f"{', '.join(names)} = {name}({given}, {number})"
    k.text.add(call, call)
    for result, each in zip(results, names, strict=True):
        k.values.append(replace(result, text=each, numpy=each))
    return True


def matrix_loop(k: Builder, statements: Statements) -> bool:
    """A product whose inner dimension is a loop, with pointers that it moves."""
    if k.depth or k.in_helper:
        return False
    del statements
    rng = k.rng
    kind = rng.choice(("float16", "float16", "bfloat16", "float32", "int8", "float8e4nv"))
    rows, columns = rng.choice((16, 32, 64)), rng.choice((16, 32, 64))
    depth = 32 if BITS[kind] == 8 else rng.choice((16, 32))
    count = rng.randint(1, 4)
    inner = depth * count - rng.choice((0, 0, 3))
    is_masked = inner % depth != 0 or k.chance(0.3)
    span = (-4, 4)
    a, b = (
        k.array("x", kind, rows * inner if name == "a" else inner * columns, span) for name in "ab"
    )
    acc_dtype = "int32" if kind == "int8" else "float32"
    acc, pa, pb, i = (k.fresh(name) for name in ("acc", "pa", "pb", "i"))
    length = k.number_argument(inner, is_constant=False)
    k.text.add(f"{acc} = tl.zeros([{rows}, {columns}], dtype=tl.{acc_dtype})",
               f"{acc} = filled(({rows}, {columns}), 0, {acc_dtype!r})")  # fmt: skip
    k.text.add(f"{pa} = {a.name} + tl.arange(0, {rows})[:, None] * {length} + tl.arange(0, {depth})[None, :]",
               f"{pa} = aranged(0, {rows})[:, None] * {length} + aranged(0, {depth})[None, :]")  # fmt: skip
    k.text.add(f"{pb} = {b.name} + tl.arange(0, {depth})[:, None] * {columns} + tl.arange(0, {columns})[None, :]",
               f"{pb} = aranged(0, {depth})[:, None] * {columns} + aranged(0, {columns})[None, :]")  # fmt: skip
    stages = rng.choice(("", f", num_stages={rng.randint(1, 4)}"))
    with k.text.block(f"for {i} in tl.range(0, {length}, {depth}{stages}):",
                      f"for {i} in looped(0, {length}, {depth}):"):  # fmt: skip
        masks = ["", ""], ["", ""]
        if is_masked:
            left = f"{i} + {{}}(0, {depth})[None, :] < {length}"
            right = f"{i} + {{}}(0, {depth})[:, None] < {length}"
            masks = (
                [f", mask={left.format('tl.arange')}, other=0", f", {left.format('aranged')}"],
                [f", mask={right.format('tl.arange')}, other=0", f", {right.format('aranged')}"],
            )
            if kind.startswith("float8"):
                masks[0][0], masks[1][0] = (
                    each[0].replace("other=0", "other=0.0") for each in masks
                )
        k.text.add(f"a = tl.load({pa}{masks[0][0]})", f"a = load({a.name}, {pa}{masks[0][1]})")
        k.text.add(f"b = tl.load({pb}{masks[1][0]})", f"b = load({b.name}, {pb}{masks[1][1]})")
        k.text.add(f"{acc} = tl.dot(a, b, {acc})", f"{acc} = product(a, b, {acc_dtype!r}, {acc})")
        k.text.both(f"{pa} += {depth}")
        k.text.both(f"{pb} += {depth} * {columns}")
    bound = 16 * depth * count
    k.values.append(Value(acc, acc, (rows, columns), acc_dtype, -bound, bound))
    return True


def pointer_walk(k: Builder, statements: Statements) -> bool:
    """A loop that carries a tensor of pointers and sums what it finds."""
    if k.depth or k.in_helper:
        return False
    del statements
    shape = k.rng.choice(k.shapes)
    dtype = k.rng.choice(("float32", "int32", "int64", "float16"))
    step, count = k.rng.choice((1, 16, 32)), k.rng.randint(1, 5)
    strides = strides_of(k, shape)
    reach = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    array = k.array("x", dtype, reach + step * (count - 1), (-4, 4))
    total, pointer, i = k.fresh("c"), k.fresh("p"), k.fresh("i")
    texts, numpys = [], []
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        marks = ", ".join(":" if each == axis else "None" for each in range(len(shape)))
        suffix = f"[{marks}]" if len(shape) > 1 else ""
        texts.append(f"tl.arange(0, {extent}){suffix} * {stride}")
        numpys.append(f"aranged(0, {extent}){suffix} * {stride}")
    k.text.add(
        f"{pointer} = {array.name} + ({' + '.join(texts)})", f"{pointer} = {' + '.join(numpys)}"
    )
    k.text.add(
        f"{total} = tl.zeros({list(shape)}, dtype=tl.{dtype})",
        f"{total} = filled({shape}, 0, {dtype!r})",
    )
    bound = k.number_argument(count, is_constant=False) if count > 1 else "1"
    with k.text.block(f"for {i} in range({bound}):", f"for {i} in looped({bound}):"):
        k.text.add(
            f"{total} += tl.load({pointer})",
            f"{total} = arith('+', {total}, load({array.name}, {pointer}))",
        )
        k.text.both(f"{pointer} += {step}")
    k.values.append(Value(total, total, shape, dtype, -4 * count, 4 * count))
    return True
