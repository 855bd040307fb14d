"""Functions of FPU and SFPU for the arithmetic of one element."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from tilewright.dialects.arith import CmpfOp, CmpiOp
from tilewright.passes.tenstorrent.reports import NotSupported

FPU: Mapping[str, str] = {"arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul"}
"""Functions of two tiles of circular buffers."""

BINARY: Mapping[str, str] = {
    **FPU,
    "arith.divf": "div",
    "arith.maxnumf": "max",
    "arith.maximumf": "max",
    "arith.minnumf": "min",
    "arith.minimumf": "min",
    "math.powf": "power",
    "arith.andi": "mul",
    "arith.ori": "max",
}
"""Functions of floats and of conditions, which are 1.0 and 0.0."""

INTEGER_BINARY: Mapping[str, str] = {
    "arith.addi": "add_int",
    "arith.subi": "sub_int",
    "arith.muli": "mul_int",
    "arith.maxsi": "max_int",
    "arith.minsi": "min_int",
    "arith.divsi": "div_int",
    "arith.floordivsi": "floordiv_int",
}
"""Functions of int32 elements."""

UNARY: Mapping[str, str] = {
    "math.exp": "exp",
    "math.exp2": "exp2",
    "math.expm1": "expm1",
    "math.log": "log",
    "math.log1p": "log1p",
    "math.sqrt": "sqrt",
    "math.rsqrt": "rsqrt",
    "math.tanh": "tanh",
    "math.softsign": "softsign",
    "math.erf": "erf",
    "math.erfc": "erfc",
    "math.sin": "sin",
    "math.cos": "cos",
    "math.tan": "tan",
    "math.asin": "asin",
    "math.acos": "acos",
    "math.atan": "atan",
    "math.floor": "floor",
    "math.ceil": "ceil",
    "math.trunc": "trunc",
    "math.absf": "abs",
    "arith.negf": "negative",
}

SAME = ("arith.extf", "arith.truncf")
"""Conversions between floats: DST holds one float format, packing rounds."""

SCALAR = {"add", "sub", "mul", "div"}
COMMUTES = {"add", "mul", "max", "min", "eq", "ne"}

_COMPARISONS: Mapping[str, str] = {
    "oeq": "eq",
    "ueq": "eq",
    "one": "ne",
    "une": "ne",
    "olt": "lt",
    "ult": "lt",
    "ogt": "gt",
    "ugt": "gt",
    "ole": "le",
    "ule": "le",
    "oge": "ge",
    "uge": "ge",
}
_INTEGER_COMPARISONS = ("eq", "ne", "slt", "sgt", "sle", "sge")


def comparison(op: Operation) -> str:
    """The function that compares two floats."""
    assert isinstance(op, CmpfOp)
    found = _COMPARISONS.get(op.predicate_name)
    if found is None:
        raise NotSupported(op, f"comparison '{op.predicate_name}' has no tile intrinsic")
    return found


def integer_comparison(op: Operation) -> str:
    """The function that compares two integers."""
    assert isinstance(op, CmpiOp)
    if op.predicate_name not in _INTEGER_COMPARISONS or op.operands[0].type != i32:
        raise NotSupported(
            op,
            f"comparison '{op.predicate_name}' of '{op.operands[0].type}' has no tile intrinsic: "
            "use int32",
        )
    return f"{op.predicate_name.removeprefix('s')}_int"


def no_intrinsic(op: Operation) -> str:
    """What the target has instead of an op."""
    return (
        f"'{op.name}' on '{op.results[0].type}' has no tile intrinsic: element-wise ops are add, "
        "sub, mul, div, max, min and comparisons of floats and int32, select, and of floats power, "
        f"log2, {', '.join(UNARY.values())}"
    )
