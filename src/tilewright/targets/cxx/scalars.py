"""Scalar arithmetic.

Integers of IR have no sign; the op determines how they are read. Indices are never negative where
an unsigned op uses them, so those compile to cheap unsigned instructions.

Integers of IR wrap, and indices do not overflow. Signed integers of C++ must not overflow either,
and compilers rely on it: sums of other integers are therefore taken of unsigned ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith.attributes import FastMathFlag, FastMathFlagsAttr
from tilewright.targets.cxx.emitter import (
    AND,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUAL,
    LESS,
    MULTIPLY,
    OR,
    SHIFT,
    SUM,
    TERNARY,
    UNARY,
    Emitter,
    Rule,
    Text,
)
from tilewright.targets.cxx.flavour import INT
from tilewright.targets.cxx.syntax import bracketed, unsigned


@dataclass(frozen=True)
class Infix:
    """``a + b``."""

    sign: str
    binds: int
    is_unsigned: bool = False

    def __call__(self, emitter: Emitter, op: Operation) -> None:
        left, right = op.operands
        type = emitter.scalar(op.results[0].type)
        if self.is_unsigned:
            name = unsigned(type.bits)
            first = unsigned_operand(emitter, left, name)
            second = unsigned_operand(emitter, right, name)
            text = f"{first} {self.sign} {second}"
            emitter.pure(op.results[0], Text(f"{bracketed(type.name)}({text})"))
        elif type.is_float and not type.has_arithmetic:
            text = f"float({emitter.operand(left)}) {self.sign} float({emitter.operand(right)})"
            emitter.pure(op.results[0], Text(f"{type.name}({text})"))
        else:
            # The right operand of an operator that groups to the left needs to bind tighter.
            first, second = (
                emitter.operand(left, self.binds),
                emitter.operand(right, self.binds + 1),
            )
            text = Text(f"{first} {self.sign} {second}", self.binds)
            emitter.pure(op.results[0], narrow(type.name, type.bits, text))


@dataclass(frozen=True)
class Wrapping:
    """``a + b`` of indices and small integers, ``int(unsigned(a) + unsigned(b))`` of others."""

    sign: str
    binds: int

    def __call__(self, emitter: Emitter, op: Operation) -> None:
        type = op.results[0].type
        may_overflow = isinstance(type, IntegerType) and type.width.data >= INT.bits
        Infix(self.sign, self.binds, is_unsigned=may_overflow)(emitter, op)


def unsigned_operand(emitter: Emitter, value: SSAValue, name: str) -> str:
    """An operand as an unsigned integer; a constant with an unsigned suffix."""
    text = emitter.operand(value)
    if text.isdecimal() and name == "unsigned":
        return f"{text}u"
    return f"({name})({text})" if " " in name else f"{name}({text})"


def narrow(name: str, bits: int, text: Text) -> Text:
    """C++ computes small integers as `int`; the result is cut back to its type."""
    is_small = bits < 32 and name in ("signed char", "short")
    return Text(f"{bracketed(name)}({text.text})") if is_small else text


@dataclass(frozen=True)
class Call:
    """``f(a, b)``, with a name for each type of number."""

    names: Mapping[type[Attribute], str]
    default: str
    is_ours: bool = False
    """Whether CUDA lacks the function, too."""

    def __call__(self, emitter: Emitter, op: Operation) -> None:
        type = op.results[0].type
        c_type = emitter.scalar(type)
        name = self.names.get(type.__class__)
        operands = [emitter.operand(each) for each in op.operands]
        call_of = emitter.call if self.is_ours else emitter.library
        if name is None and c_type.is_float and not isinstance(type, Float32Type):
            # Small floats take the function of `float`.
            call = call_of(self.default, [f"float({each})" for each in operands])
            emitter.pure(op.results[0], Text(f"{c_type.name}({call})"))
        else:
            text = Text(call_of(name or self.default, operands))
            emitter.pure(op.results[0], narrow(c_type.name, c_type.bits, text))


def _math(name: str, half: str | None = None) -> Call:
    names: dict[type[Attribute], str] = {Float64Type: name, Float32Type: f"{name}f"}
    if half is not None:
        names[Float16Type] = half
    return Call(names, f"{name}f")


_COMPARISONS: Mapping[int, tuple[str, bool]] = {
    0: ("==", False),
    1: ("!=", False),
    2: ("<", False),
    3: ("<=", False),
    4: (">", False),
    5: (">=", False),
    6: ("<", True),
    7: ("<=", True),
    8: (">", True),
    9: (">=", True),
}
"""``arith.cmpi``'s predicates: the sign, and whether numbers are read as unsigned."""

_FLOAT_COMPARISONS: Mapping[int, tuple[str, bool]] = {
    1: ("==", False),
    2: (">", False),
    3: (">=", False),
    4: ("<", False),
    5: ("<=", False),
    8: ("!=", True),
    9: ("<=", True),
    10: ("<", True),
    11: (">=", True),
    12: (">", True),
    13: ("!=", False),
}
"""``arith.cmpf``: the sign, and whether the result is negated (unordered predicates)."""


def _compare(emitter: Emitter, op: Operation) -> None:
    predicate = op.properties["predicate"].value.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    sign, is_unsigned = _COMPARISONS[predicate]
    binds = EQUAL if sign in ("==", "!=") else LESS
    left, right = op.operands
    if is_unsigned and not isinstance(left.type, IndexType):
        name = unsigned(emitter.scalar(left.type).bits)
        operands = [unsigned_operand(emitter, each, name) for each in op.operands]
        emitter.pure(op.results[0], Text(f" {sign} ".join(operands), binds))
        return
    first, second = emitter.operand(left, binds), emitter.operand(right, binds + 1)
    emitter.pure(op.results[0], Text(f"{first} {sign} {second}", binds))


_ALWAYS: Mapping[int, str] = {0: "false", 15: "true"}
_ORDERED, _UNORDERED, _ONE = 7, 14, 6


def _compare_floats(emitter: Emitter, op: Operation) -> None:
    predicate: int = op.properties["predicate"].value.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    result = op.results[0]
    if predicate in _ALWAYS:
        emitter.pure(result, Text(_ALWAYS[predicate]))
        return
    left, right = (_as_float(emitter, each) for each in op.operands)
    if predicate in (_ORDERED, _UNORDERED):
        sign, joint, binds = ("==", "&&", AND) if predicate == _ORDERED else ("!=", "||", OR)
        emitter.pure(result, Text(f"{left} {sign} {left} {joint} {right} {sign} {right}", binds))
    elif predicate == _ONE:
        emitter.pure(result, Text(f"{left} < {right} || {left} > {right}", OR))
    else:
        found = _FLOAT_COMPARISONS[predicate]
        sign, is_opposite = found
        if predicate == 8:  # equal, or one is not a number
            emitter.pure(result, Text(f"!({left} < {right} || {left} > {right})", UNARY))
        elif is_opposite:
            emitter.pure(result, Text(f"!({left} {sign} {right})", UNARY))
        else:
            emitter.pure(
                result, Text(f"{left} {sign} {right}", EQUAL if sign in ("==", "!=") else LESS)
            )


def _as_float(emitter: Emitter, value: SSAValue) -> str:
    type = emitter.scalar(value.type)
    text = emitter.operand(value, SUM)
    return text if type.has_arithmetic else f"float({text})"


def _select(emitter: Emitter, op: Operation) -> None:
    condition, first, second = op.operands
    text = (
        f"{emitter.operand(condition, OR)} ? {emitter.operand(first, OR)} "
        f": {emitter.operand(second, TERNARY)}"
    )
    emitter.pure(op.results[0], Text(text, TERNARY))


def _negate(emitter: Emitter, op: Operation) -> None:
    type, value = emitter.scalar(op.results[0].type), op.operands[0]
    if type.has_arithmetic:
        emitter.pure(op.results[0], Text(f"-{emitter.operand(value, UNARY)}", UNARY))
    else:
        emitter.pure(op.results[0], Text(f"{type.name}(-float({emitter.operand(value)}))"))


def _ours(name: str) -> Rule:
    """A device function of ours, for any type; floats of 8 bits, which CUDA cannot compare, take
    that of `float`."""

    def rule(emitter: Emitter, op: Operation) -> None:
        operands = [emitter.operand(each) for each in op.operands]
        type = emitter.scalar(op.results[0].type)
        if type.is_float and type.bits == 8:
            call = emitter.call(name, [f"float({each})" for each in operands])
            emitter.pure(op.results[0], Text(f"{type.name}({call})"))
            return
        emitter.pure(op.results[0], Text(emitter.call(name, operands)))

    return rule


def _approximated(rule: Rule) -> Rule:
    """A function of ours where the flags of an op on `float` allow it, else `rule`."""

    def emit(emitter: Emitter, op: Operation) -> None:
        name = emitter.flavour.approximate.get(op.name)
        flags = op.properties.get("fastmath")
        is_allowed = isinstance(flags, FastMathFlagsAttr) and FastMathFlag.AFN in flags.data
        if name is None or not is_allowed or op.results[0].type != Float32Type():
            rule(emitter, op)
            return
        operands = [emitter.operand(each) for each in op.operands]
        emitter.pure(op.results[0], Text(emitter.call(name, operands)))

    return emit


def _question(name: str) -> Rule:
    """A device function that classifies a float."""

    def rule(emitter: Emitter, op: Operation) -> None:
        emitter.pure(op.results[0], Text(emitter.call(name, [_as_float(emitter, op.operands[0])])))

    return rule


def _count_bits(name: str, *, from_the_top: bool = False) -> Rule:
    """A count of the bits of a number; there are instructions for 32 and for 64 of them."""

    def rule(emitter: Emitter, op: Operation) -> None:
        type = emitter.scalar(op.results[0].type)
        operand = unsigned_operand(emitter, op.operands[0], unsigned(type.bits))
        call = emitter.library(f"{name}{'ll' if type.bits > INT.bits else ''}", [operand])
        above = max(0, INT.bits - type.bits) if from_the_top else 0
        text = f"{call} - {above}" if above else call
        emitter.pure(op.results[0], Text(f"{bracketed(type.name)}({text})"))

    return rule


def _unsigned_call(name: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        type = emitter.scalar(op.results[0].type)
        unsigned_name = unsigned(type.bits)
        operands = [f"({unsigned_name})({emitter.operand(each)})" for each in op.operands]
        emitter.pure(
            op.results[0], Text(f"{bracketed(type.name)}({emitter.library(name, operands)})")
        )

    return rule


def _constant(emitter: Emitter, op: Operation) -> None:
    """Written where it is used."""


def _fma(emitter: Emitter, op: Operation) -> None:
    Call({Float64Type: "fma", Float32Type: "fmaf", Float16Type: "hfma"}, "fmaf")(emitter, op)


_MIN_MAX: Mapping[str, Rule] = {
    "arith.maxnumf": Call(
        {Float32Type: "fmaxf", Float64Type: "fmax", Float16Type: "hmax"}, "fmaxf"
    ),
    "arith.minnumf": Call(
        {Float32Type: "fminf", Float64Type: "fmin", Float16Type: "hmin"}, "fminf"
    ),
    "arith.maximumf": _ours("max_or_nan"),
    "arith.minimumf": _ours("min_or_nan"),
    "arith.maxsi": Call({}, "max"),
    "arith.minsi": Call({}, "min"),
    "arith.maxui": _unsigned_call("max"),
    "arith.minui": _unsigned_call("min"),
}

_MATH: Mapping[str, Rule] = {
    f"math.{name}": _math(function)
    for name, function in {
        "acos": "acos",
        "acosh": "acosh",
        "asin": "asin",
        "asinh": "asinh",
        "atan": "atan",
        "atan2": "atan2",
        "atanh": "atanh",
        "cbrt": "cbrt",
        "ceil": "ceil",
        "copysign": "copysign",
        "cos": "cos",
        "cosh": "cosh",
        "erf": "erf",
        "exp": "exp",
        "exp2": "exp2",
        "expm1": "expm1",
        "floor": "floor",
        "log": "log",
        "log10": "log10",
        "log1p": "log1p",
        "log2": "log2",
        "powf": "pow",
        "round": "round",
        "roundeven": "rint",
        "rsqrt": "rsqrt",
        "sin": "sin",
        "sinh": "sinh",
        "sqrt": "sqrt",
        "tan": "tan",
        "tanh": "tanh",
        "trunc": "trunc",
        "absf": "fabs",
    }.items()
}

RULES: Mapping[str, Rule] = {
    "arith.constant": _constant,
    "arith.addi": Wrapping("+", SUM),
    "arith.subi": Wrapping("-", SUM),
    "arith.muli": Wrapping("*", MULTIPLY),
    "arith.divsi": Infix("/", MULTIPLY),
    "arith.remsi": Infix("%", MULTIPLY),
    "arith.divui": Infix("/", MULTIPLY, is_unsigned=True),
    "arith.remui": Infix("%", MULTIPLY, is_unsigned=True),
    "arith.floordivsi": _ours("floor_divide"),
    "arith.ceildivsi": _ours("ceil_divide"),
    "arith.ceildivui": _ours("ceil_divide"),
    "arith.andi": Infix("&", BIT_AND),
    "arith.ori": Infix("|", BIT_OR),
    "arith.xori": Infix("^", BIT_XOR),
    "arith.shli": Wrapping("<<", SHIFT),
    "arith.shrsi": Infix(">>", SHIFT),
    "arith.shrui": Infix(">>", SHIFT, is_unsigned=True),
    "arith.addf": Infix("+", SUM),
    "arith.subf": Infix("-", SUM),
    "arith.mulf": Infix("*", MULTIPLY),
    "arith.divf": _approximated(Infix("/", MULTIPLY)),
    "arith.remf": _math("fmod"),
    "arith.negf": _negate,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare_floats,
    "arith.select": _select,
    "math.fma": _fma,
    "math.softsign": Call(
        {Float64Type: "softsign", Float32Type: "softsignf"}, "softsignf", is_ours=True
    ),
    "math.absi": Call({}, "abs"),
    "math.ctpop": _count_bits("popc"),
    "math.ctlz": _count_bits("clz", from_the_top=True),
    "math.isnan": _question("is_nan"),
    "math.isinf": _question("is_inf"),
    "math.isfinite": _question("is_finite"),
    "math.ipowi": _ours("integer_power"),
    "nv.dp4a": Call({}, "dp4a"),
    **_MIN_MAX,
    **_MATH,
    **{name: _approximated(_MATH[name]) for name in ("math.exp", "math.exp2", "math.sqrt")},
}

__all__ = ["ATOM", "RULES"]
