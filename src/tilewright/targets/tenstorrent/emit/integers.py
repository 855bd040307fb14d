"""Integer arithmetic on ``uint32_t``, comparisons, and block orders.

``index`` values are 32-bit and unsigned; signed ops (``divsi``, ``cmpi slt`` ...) go through
``int32_t``, which differs only for values that wrapped below zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.dialects.tensix.tables import TableOp
from tilewright.ir.interfaces import constant_integer
from tilewright.targets.cxx.control import RULES as CONTROL
from tilewright.targets.cxx.emitter import (
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUAL,
    LESS,
    MULTIPLY,
    SHIFT,
    SUM,
    TERNARY,
    Emitter,
    Rule,
    Text,
)
from tilewright.targets.tenstorrent.emit.emitter import TensixEmitter


def _infix(operator: str, binds: int) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        left, right = op.operands
        # Operands of one level associate to the left.
        text = f"{emitter.operand(left, binds)} {operator} {emitter.operand(right, binds + 1)}"
        emitter.pure(op.results[0], Text(text, binds))

    return rule


def _bitwise(operator: str, binds: int) -> Rule:
    """And, or, xor; comparisons in them are put in parentheses, without which compilers warn."""

    def rule(emitter: Emitter, op: Operation) -> None:
        within = SHIFT if op.results[0].type == i1 else binds
        left, right = op.operands
        text = f"{emitter.operand(left, within)} {operator} {emitter.operand(right, within + 1)}"
        emitter.pure(op.results[0], Text(text, binds))

    return rule


def _signed_infix(operator: str, binds: int) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        left, right = (f"int32_t({emitter.operand(each)})" for each in op.operands)
        emitter.pure(op.results[0], Text(f"{left} {operator} {right}", binds))

    return rule


def _choice(operator: str, *, signed: bool) -> Rule:
    """Minimum and maximum."""

    def rule(emitter: Emitter, op: Operation) -> None:
        left, right = (_atom(emitter, each) for each in op.operands)
        test = (
            f"int32_t({left}) {operator} int32_t({right})"
            if signed
            else f"{left} {operator} {right}"
        )
        emitter.pure(op.results[0], Text(f"{test} ? {left} : {right}", TERNARY))

    return rule


def _atom(emitter: Emitter, value: SSAValue) -> str:
    """An operand that is written twice: a variable or a constant."""
    text = emitter.text(value)
    if text.text.isidentifier() or text.text.isdecimal():
        return text.text
    name = emitter.names.take(value.name_hint)
    emitter.statement(f"const uint32_t {name} = {text.text};")
    emitter.define(value, Text(name))
    return name


def _ceil_div(emitter: Emitter, op: Operation) -> None:
    left, right = op.operands
    divisor = _atom(emitter, right)
    text = f"({emitter.operand(left, SUM)} + {divisor} - 1) / {divisor}"
    emitter.pure(op.results[0], Text(text, MULTIPLY))


def _rounded(comparison: str, correction: str) -> Rule:
    """A signed quotient, corrected where it has a remainder: rounded down or up."""

    def rule(emitter: Emitter, op: Operation) -> None:
        left, right = (f"int32_t({_atom(emitter, each)})" for each in op.operands)
        signs = f"({left} < 0) {comparison} ({right} < 0)"
        text = f"{left} / {right} {correction} ({left} % {right} != 0 && {signs})"
        emitter.pure(op.results[0], Text(text, SUM))

    return rule


_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_SIGNED, _FIRST_UNSIGNED = 2, 6


def _compare(emitter: Emitter, op: Operation) -> None:
    predicate: int = cast("Any", op.properties["predicate"]).value.data
    binds = EQUAL if predicate < _FIRST_SIGNED else LESS
    is_signed = _FIRST_SIGNED <= predicate < _FIRST_UNSIGNED
    make = _signed_infix if is_signed else _infix
    make(_COMPARISONS[predicate], binds)(emitter, op)


def _select(emitter: Emitter, op: Operation) -> None:
    test, first, second = op.operands
    text = (
        f"{emitter.operand(test, TERNARY + 1)} ? {emitter.operand(first, TERNARY + 1)} : "
        f"{emitter.operand(second, TERNARY + 1)}"
    )
    emitter.pure(op.results[0], Text(text, TERNARY))


def _same(emitter: Emitter, op: Operation) -> None:
    emitter.same(op.results[0], op.operands[0])


def _widened(emitter: Emitter, op: Operation) -> None:
    emitter.pure(op.results[0], Text(f"uint32_t({emitter.operand(op.operands[0])})", ATOM))


def _nothing(emitter: Emitter, op: Operation) -> None:
    """Constants are written where they are used; ends of blocks have no text."""


# -- block orders ----------------------------------------------------------------------------------


def _raster(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, RasterOp)
    policy = op.policy.data
    if policy == "row_major":
        _divide(emitter, op.row, op.column, op.tile, op.columns)
    elif policy == "column_major":
        _divide(emitter, op.column, op.row, op.tile, op.rows)
    elif policy == "block_linear":
        _block_linear(emitter, op)
    else:
        _table(emitter, op)


def _divide(
    emitter: Emitter, quotient: SSAValue, remainder: SSAValue, tile: SSAValue, by: SSAValue
) -> None:
    left, right = emitter.operand(tile, MULTIPLY), emitter.operand(by, MULTIPLY + 1)
    emitter.pure(quotient, Text(f"{left} / {right}", MULTIPLY))
    emitter.pure(remainder, Text(f"{left} % {right}", MULTIPLY))


def _block_linear(emitter: TensixEmitter, op: RasterOp) -> None:
    """Bands of `height` rows, in them blocks of `width` columns; the last ones may be smaller."""
    assert op.raster.block is not None
    height, width = op.raster.block
    t, rows, columns = (_atom(emitter, each) for each in (op.tile, op.rows, op.columns))

    def constant(hint: str, text: str) -> str:
        name = emitter.names.take(hint)
        emitter.statement(f"const uint32_t {name} = {text};")
        return name

    band = constant("band", f"{t} / ({height} * {columns})")
    rest = constant("rest", f"{t} - {band} * {height} * {columns}")
    below = constant("rows_left", f"{rows} - {band} * {height}")
    high = constant("band_rows", f"{below} < {height} ? {below} : {height}")
    block = constant("block", f"{rest} / ({high} * {width})")
    inside = constant("inside", f"{rest} - {block} * {high} * {width}")
    right = constant("columns_left", f"{columns} - {block} * {width}")
    wide = constant("block_columns", f"{right} < {width} ? {right} : {width}")
    row = Text(f"{band} * {height} + {inside} / {wide}", SUM)
    column = Text(f"{block} * {width} + {inside} % {wide}", SUM)
    emitter.pure(op.row, row)
    emitter.pure(op.column, column)


def _table(emitter: TensixEmitter, op: RasterOp) -> None:
    """Orders without a closed form, for grids of constant size."""
    rows, columns = constant_integer(op.rows), constant_integer(op.columns)
    if rows is None or columns is None:
        raise emitter.refusal(
            f"block order '{op.policy.data}' needs a grid of constant size",
            "use row_major, column_major or block_linear",
        )
    ids = [row * columns + column for row, column in op.raster.table(rows, columns)]
    table, block = emitter.names.take("block_ids"), emitter.names.take("block_id")
    emitter.tables.append(_array(table, ids))
    emitter.statement(f"const uint32_t {block} = {table}[{emitter.operand(op.tile)}];")
    emitter.pure(op.row, Text(f"{block} / {columns}", MULTIPLY))
    emitter.pure(op.column, Text(f"{block} % {columns}", MULTIPLY))


def _lookup(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, TableOp)
    name = emitter.names.take(f"{op.result.name_hint or 'value'}_table")
    emitter.tables.append(_array(name, [each & 0xFFFFFFFF for each in op.entries], "uint32_t"))
    emitter.pure(op.result, Text(f"{name}[{emitter.operand(op.position)}]", ATOM))


def _array(name: str, values: Sequence[int], type: str = "uint16_t") -> str:
    lines = [
        "    " + ", ".join(map(str, values[start : start + 16])) + ","
        for start in range(0, len(values), 16)
    ]
    return "\n".join([f"constexpr {type} {name}[{len(values)}] = {{", *lines, "};"])


RULES: Mapping[str, Rule] = {
    "scf.for": CONTROL["scf.for"],
    "scf.if": CONTROL["scf.if"],
    "scf.yield": CONTROL["scf.yield"],
    "tensix.end": _nothing,
    "arith.constant": _nothing,
    "arith.addi": _infix("+", SUM),
    "arith.subi": _infix("-", SUM),
    "arith.muli": _infix("*", MULTIPLY),
    "arith.divui": _infix("/", MULTIPLY),
    "arith.remui": _infix("%", MULTIPLY),
    "arith.ceildivui": _ceil_div,
    "arith.floordivsi": _rounded("!=", "-"),
    "arith.ceildivsi": _rounded("==", "+"),
    "arith.divsi": _signed_infix("/", MULTIPLY),
    "arith.remsi": _signed_infix("%", MULTIPLY),
    "arith.minui": _choice("<", signed=False),
    "arith.maxui": _choice(">", signed=False),
    "arith.minsi": _choice("<", signed=True),
    "arith.maxsi": _choice(">", signed=True),
    "arith.andi": _bitwise("&", BIT_AND),
    "arith.ori": _bitwise("|", BIT_OR),
    "arith.xori": _bitwise("^", BIT_XOR),
    "arith.shli": _infix("<<", SHIFT),
    "arith.shrui": _infix(">>", SHIFT),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.index_cast": _same,
    "arith.extui": _widened,
    "tensix.raster": _raster,
    "tensix.table": _lookup,
}
