"""Every table of the meaning of integer ops against one definition, on all pairs of 8-bit integers.

The same ops are computed on constants, on NumPy arrays, on polynomials and in generated source. The
definition here has unbounded integers; `Table` states which results a table must have:

    width      results wrap around at so many bits; None: integers are unbounded
    unsigned   whether unsigned ops may have negative operands, read as large integers

Division by zero and shifts by 8 or more are undefined and left out; -128 / -1 does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.dialects.test import TestOp

from tilewright.analysis.affine import Interval, Space
from tilewright.analysis.affine.arrays import evaluate_array
from tilewright.analysis.alias_sync import symbolic_ints
from tilewright.analysis.barriers import constant_eval
from tilewright.analysis.integers import index_rules, index_values
from tilewright.analysis.thread_sync import values as thread_values
from tilewright.dialects import arith
from tilewright.dialects.folding.integer import BINARY as FOLDED
from tilewright.passes.tenstorrent import control_flow
from tilewright.passes.tlx.alias_sync import walk as alias_sync_walk
from tilewright.runtime.tile import device
from tilewright.targets.host import read as host
from tilewright.targets.numpy.simt import scalars

translate: Any = import_module("tilewright.targets.tenstorrent.machine.translate")
"""The module; its package has the function of this name."""

Ints = Any
"""An array of integers; of objects, where some are None."""

BITS = 8
WHOLE = np.arange(-128, 128)
LEFT, RIGHT = (each.ravel() for each in np.meshgrid(WHOLE, WHOLE, indexing="ij"))

DIVISIONS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
SHIFTS = ("shli", "shrsi", "shrui")
OPS = (
    *("addi", "subi", "muli", *DIVISIONS, *SHIFTS, "andi", "ori", "xori"),
    *("minsi", "maxsi", "minui", "maxui"),
)


def truncated(a: Ints, b: Ints) -> Ints:
    return np.sign(a) * np.sign(b) * (abs(a) // abs(b))


MEANING: Mapping[str, Callable[[Ints, Ints], Ints]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": truncated,
    "rem": lambda a, b: a - b * truncated(a, b),
    "floordiv": np.floor_divide,
    "ceildiv": lambda a, b: -np.floor_divide(-a, b),
    "shl": np.left_shift,
    "shr": np.right_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}
"""By the op's name without its mark of signs."""


def is_unsigned(op: str) -> bool:
    return op.endswith(("u", "ui"))


def meaning(op: str, a: Ints, b: Ints, bits: int) -> Ints:
    """Results of `op` before they wrap around; `bits` are those of unsigned operands."""
    plain = op.removesuffix("i").removesuffix("u" if is_unsigned(op) else "s")
    if is_unsigned(op):
        a, b = a & ((1 << bits) - 1), b & ((1 << bits) - 1)
    return MEANING[plain](a, b)


def pairs(op: str, *, unsigned: bool) -> tuple[Ints, Ints]:
    """Operands on which `op` is defined."""
    keep = np.full(LEFT.shape, True)
    if is_unsigned(op) and not unsigned:
        keep &= (LEFT >= 0) & (RIGHT >= 0)
    if op in DIVISIONS:
        keep &= RIGHT != 0
        keep &= (LEFT != -128) | (RIGHT != -1)
    if op in SHIFTS:
        keep &= (RIGHT >= 0) & (RIGHT < BITS)
    return LEFT[keep], RIGHT[keep]


def made(op: str, type: Any) -> Any:
    """An op on two values of a type."""
    operation = next(each for each in arith.Arith.operations if each.name == f"arith.{op}")
    given = TestOp(result_types=[type, type])
    return operation.create(operands=given.results, result_types=[type])


# -- the tables ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """One way to compute ops."""

    compute: Callable[[str, Ints, Ints], Ints | None]
    """None if the op is not in the table."""
    width: int | None = None
    unsigned: bool = False
    missing: frozenset[str] = frozenset()
    """Ops that are not in the table."""
    is_partial: bool = False
    """Whether results may be unknown."""


def one_by_one(function: Callable[[int, int], int | None]) -> Callable[[Ints, Ints], Ints]:
    return np.frompyfunc(lambda a, b: function(int(a), int(b)), 2, 1)


def fold(op: str, a: Ints, b: Ints) -> Ints:
    return one_by_one(lambda x, y: FOLDED[f"arith.{op}"].rule(x, y, BITS))(a, b)


def generated_numpy(op: str, a: Ints, b: Ints) -> Ints:
    function = scalars.function_of(made(op, IntegerType(BITS)))
    return function(a.astype(np.int8), b.astype(np.int8))


def generated_numpy_of_indices(op: str, a: Ints, b: Ints) -> Ints:
    return scalars.function_of(made(op, IndexType()))(a.astype(np.int64), b.astype(np.int64))


def values_of_threads(op: str, a: Ints, b: Ints) -> Ints:
    function = thread_values.function_of(made(op, IntegerType(BITS)))
    assert function is not None
    return function(a, b)


def uniform_values(op: str, a: Ints, b: Ints) -> Ints:
    function = thread_values.function_of(made(op, IntegerType(BITS)))
    assert function is not None
    return one_by_one(function)(a, b)


def barrier_constants(op: str, a: Ints, b: Ints) -> Ints:
    rule = constant_eval.rule_of(made(op, IndexType()))
    return one_by_one(lambda x, y: rule((x, y)))(a, b)


def symbolic_integers(op: str, a: Ints, b: Ints) -> Ints:
    name = alias_sync_walk._ARITHMETIC[f"arith.{op}"]  # pyright: ignore[reportPrivateUsage]
    return one_by_one(lambda x, y: symbolic_ints.apply(name, (x, y)))(a, b)


def arrays_of_indices(op: str, a: Ints, b: Ints) -> Ints | None:
    found = index_values.ARITHMETIC.get(f"arith.{op}")
    return None if found is None else found(a, b)


def schedules_of_cores(op: str, a: Ints, b: Ints) -> Ints:
    written = made(op, IndexType())
    return one_by_one(lambda x, y: control_flow.integer_of(written, (x, y)))(a, b)


def host_programs(op: str, a: Ints, b: Ints) -> Ints:
    two, steps = host._TWO, device._TWO  # pyright: ignore[reportPrivateUsage]
    return one_by_one(steps[two[f"arith.{op}"]])(a, b)


def tensix_model(op: str, a: Ints, b: Ints) -> Ints | None:
    rule = translate._RULES.get(f"arith.{op}")
    if rule is None:
        return None
    written = made(op, IndexType())
    writer = translate._Writer(depth=0, rules={})
    one, other = (writer.name(each) for each in written.operands)
    rule(writer, written)
    expression = writer.lines[0].partition(" = ")[2]
    function = eval(f"lambda {one}, {other}: {expression}", dict(translate._HELPERS))
    return one_by_one(lambda x, y: function(x & translate.MASK, y & translate.MASK))(a, b)


def polynomials(op: str, a: Ints, b: Ints) -> Ints:
    """The polynomial for a symbol and a shift or a divisor of one sign, evaluated."""
    found = np.full(a.shape, None)
    parts = [b == amount for amount in range(BITS)] if op in SHIFTS else [b < 0, b >= 0]
    for part in (each for each in parts if each.any()):
        space, x, y = Space(), a[part], b[part]
        one = space.symbol("a", Interval(int(x.min()), int(x.max())))
        low, high = int(y.min()), int(y.max())
        other = space.const(low) if low == high else space.symbol("b", Interval(low, high))
        poly = index_rules.INTEGER_RULES[f"arith.{op}"](space.root, one, other)
        if poly is not None:
            found[part] = evaluate_array(poly, {"a": x, "b": y})
    return found


TABLES: Mapping[str, Table] = {
    "dialects.folding": Table(fold, BITS, unsigned=True),
    "targets.numpy (i8)": Table(generated_numpy, BITS, unsigned=True),
    "targets.numpy (index)": Table(generated_numpy_of_indices, 64, unsigned=True),
    "analysis.thread_sync (uniform)": Table(uniform_values, BITS, unsigned=True),
    "analysis.thread_sync (arrays)": Table(values_of_threads, BITS, unsigned=True),
    "analysis.barriers": Table(barrier_constants),
    "analysis.alias_sync": Table(symbolic_integers),
    "analysis.integers (arrays)": Table(
        arrays_of_indices, missing=frozenset(("ceildivsi", "ceildivui"))
    ),
    "analysis.integers (polynomials)": Table(polynomials, is_partial=True),
    "passes.tenstorrent": Table(schedules_of_cores),
    "runtime.tile (host)": Table(host_programs),
    "targets.tenstorrent": Table(tensix_model, 32, unsigned=True, missing=frozenset(("shrsi",))),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("op", OPS)
def test_all_pairs_of_8_bits(name: str, op: str) -> None:
    table = TABLES[name]
    a, b = pairs(op, unsigned=table.unsigned)
    found = table.compute(op, a, b)
    assert (found is None) == (op in table.missing)
    if found is None:
        return
    bits = table.width or 64
    expected = meaning(op, a.astype(object), b.astype(object), bits)
    found = np.asarray(found).astype(object)
    known = found != None  # noqa: E711 (of every element)
    assert known.any() if table.is_partial else known.all()
    if table.width is not None:
        mask = (1 << bits) - 1
        found, expected = np.where(known, found, 0) & mask, expected & mask
    wrong = known & (found != expected)
    shown = [f"{op} {a[i]}, {b[i]} is {expected[i]}, not {found[i]}" for i in np.flatnonzero(wrong)]
    assert not shown, f"{len(shown)} of {len(a)}: {shown[:5]}"
