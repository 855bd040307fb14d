"""What float ops compute on constants, and the few identities that hold for every float.

Computed in double precision and rounded once to the type, which is exact rounding for f16, bf16
and f32. A NaN that is computed is always the positive quiet one. Small floats (fp8 and below) have
casts but no arithmetic, so nothing is folded on them here.

Signed zeros and NaNs decide which identities are true::

    x + -0.0 = x    but not x + 0.0   (-0.0 + 0.0 is 0.0)
    x - 0.0 = x     but not x - -0.0, and not x - x = 0 (inf, NaN)
    x * 1.0 = x     but not x * 0.0 = 0

``maximumf`` hands NaN on and orders -0.0 below 0.0. ``maxnumf`` prefers the operand that is a
number, and for zeros of different sign hardware may return either: those are not folded. Nor is an
op that names another rounding mode than to nearest. Of the ``math`` ops only those are folded whose
result is exact, because device libraries approximate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from xdsl.ir import Attribute, Operation

from tilewright.dialects.folding.constants import (
    Constants,
    defined_by,
    elementwise,
    is_computable,
    is_float,
    is_integer,
    round_to,
    same_float,
)
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.interfaces import Folded

Rule: TypeAlias = Callable[..., float | None]


@dataclass(frozen=True, slots=True)
class FloatOp:
    """How to fold one float op whose operands have its result's type."""

    rule: Rule
    units: tuple[float, ...] = ()
    """Constants on the right that make the op its left operand."""
    commutative: bool = False
    same_operands: bool = False
    """``x op x`` is ``x``."""

    def fold(self, op: Operation, constants: Constants) -> Folded:
        type = op.results[0].type
        scalar = element_type_of(type)
        if not is_computable(scalar):
            return None
        operands = op.operands
        if self.same_operands and operands[0] is operands[1]:
            return [operands[0]]
        if self._is_unit(constants[-1]):
            return [operands[0]]
        if self.commutative and self._is_unit(constants[0]):
            return [operands[1]]
        if None in constants or not _rounds_to_nearest(op):
            return None

        def compute(*values: float) -> float | None:
            result = self.rule(*values)
            return None if result is None else round_to(result, scalar)

        constant = elementwise(compute, constants, type)
        return None if constant is None else [constant]

    def _is_unit(self, constant: Attribute | None) -> bool:
        return constant is not None and any(is_float(constant, unit) for unit in self.units)


def _rounds_to_nearest(op: Operation) -> bool:
    mode = op.properties.get("roundingmode")
    return mode is None or is_integer(mode, 0)


# Rules. Python's operators are IEEE's except where they raise.


def _add(a: float, b: float) -> float:
    return a + b


def _subtract(a: float, b: float) -> float:
    return a - b


def _multiply(a: float, b: float) -> float:
    return a * b


def _divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _remainder(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


def _negative(a: float) -> bool:
    return math.copysign(1.0, a) < 0


def _maximum(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if a == b:
        return b if _negative(a) else a
    return max(a, b)


def _minimum(a: float, b: float) -> float:
    return -_maximum(-a, -b)


def _maxnum(a: float, b: float) -> float | None:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b and not same_float(a, b):
        return None
    return max(a, b)


def _minnum(a: float, b: float) -> float | None:
    result = _maxnum(-a, -b)
    return None if result is None else -result


def _round_whole(rounding: Callable[[float], int]) -> Rule:
    def rule(a: float) -> float:
        return math.copysign(float(rounding(a)), a) if math.isfinite(a) else a

    return rule


def _square_root(a: float) -> float | None:
    """Only of squares, where every implementation agrees."""
    if a == 0:
        return a
    if not 0 < a < math.inf:
        return None
    root = math.sqrt(a)
    return root if Fraction(root) ** 2 == Fraction(a) else None


def _multiply_add(a: float, b: float, c: float) -> float | None:
    """Only where double precision holds the exact sum, so that one rounding follows."""
    multiplied = a * b
    if not (math.isfinite(a) and math.isfinite(b)):
        return multiplied + c
    if not math.isfinite(c):
        return c
    if not math.isfinite(multiplied) or Fraction(a) * Fraction(b) != Fraction(multiplied):
        return None
    total = multiplied + c
    if not math.isfinite(total) or Fraction(multiplied) + Fraction(c) != Fraction(total):
        return None
    return total


RULES: Mapping[str, FloatOp] = {
    "arith.addf": FloatOp(_add, units=(-0.0,), commutative=True),
    "arith.subf": FloatOp(_subtract, units=(0.0,)),
    "arith.mulf": FloatOp(_multiply, units=(1.0,), commutative=True),
    "arith.divf": FloatOp(_divide, units=(1.0,)),
    "arith.remf": FloatOp(_remainder),
    "arith.maximumf": FloatOp(_maximum, (-math.inf,), True, True),
    "arith.minimumf": FloatOp(_minimum, (math.inf,), True, True),
    "arith.maxnumf": FloatOp(_maxnum, (math.nan,), True, True),
    "arith.minnumf": FloatOp(_minnum, (math.nan,), True, True),
    "math.ceil": FloatOp(_round_whole(math.ceil)),
    "math.floor": FloatOp(_round_whole(math.floor)),
    "math.trunc": FloatOp(_round_whole(math.trunc)),
    "math.roundeven": FloatOp(_round_whole(round)),
    "math.sqrt": FloatOp(_square_root),
    "math.fma": FloatOp(_multiply_add),
}


# Sign changes move bits and round nothing, so every float type and every NaN has them.


def _fold_negation(op: Operation, constants: Constants) -> Folded:
    source = defined_by(op.operands[0], op.name)
    if source is not None:
        return [source.operands[0]]
    return _fold_sign(op, constants, operator.neg)


def _fold_absolute(op: Operation, constants: Constants) -> Folded:
    return _fold_sign(op, constants, abs)


def _fold_sign(op: Operation, constants: Constants, rule: Callable[[float], float]) -> Folded:
    type = op.results[0].type
    if not is_computable(element_type_of(type)):
        return None
    constant = elementwise(rule, constants, type)
    return None if constant is None else [constant]


FOLDS: Mapping[str, Callable[[Operation, Constants], Folded]] = {
    **{name: rule.fold for name, rule in RULES.items()},
    "arith.negf": _fold_negation,
    "math.absf": _fold_absolute,
}
