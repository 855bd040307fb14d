"""Integer values of a kernel computed for many threads and iterations at once, as NumPy arrays.

What an index is computed from are its *leaves*: arguments, indices of loops, thread and block
indices, and results of ops that are not integer arithmetic. Given an array for each leaf, an index
is evaluated exactly, where an analysis by ranges cannot decide about sums of remainders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.text.accessors import operands_of

Values: TypeAlias = NDArray[Any]
_Function: TypeAlias = Callable[..., Any]


def _truncated(dividend: Values, divisor: Values) -> Values:
    """A quotient rounded towards zero."""
    return np.sign(dividend) * np.sign(divisor) * (np.abs(dividend) // np.abs(divisor))


ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divui": lambda a, b: a // b,
    "arith.divsi": _truncated,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.remsi": np.fmod,
    "arith.xori": lambda a, b: a ^ b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrui": lambda a, b: a >> b,
    "arith.shrsi": lambda a, b: a >> b,
    "arith.minui": np.minimum,
    "arith.maxui": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
}
"""Ops on indices, which are not negative where an op is unsigned and do not overflow: arrays, or
integers that are the same for all."""
_FUNCTIONS: Mapping[str, _Function] = {**ARITHMETIC, "arith.select": np.where}
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi")
_PREDICATES: tuple[_Function, ...] = (
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.less, np.less_equal, np.greater, np.greater_equal),
)
"""``arith.cmpi`` by its predicate: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge."""
_UNSIGNED = ("arith.divui", "arith.remui", "arith.shrui", "arith.minui", "arith.maxui")


_DIVISIONS = frozenset(
    name for name in _FUNCTIONS if name.endswith(("divui", "remui", "divsi", "remsi"))
)


class Undefined(Exception):
    """An unsigned op of a negative value: what it yields depends on the width of the index."""


class IndexValues:
    """Leaves and values of indices, cached."""

    def __init__(self) -> None:
        self._leaves: dict[SSAValue, frozenset[SSAValue]] = {}

    def leaves(self, value: SSAValue) -> frozenset[SSAValue]:
        """What `value` is computed from."""
        found = self._leaves.get(value)
        if found is None:
            found = self._leaves[value] = self._looked_up(value)
        return found

    def _looked_up(self, value: SSAValue) -> frozenset[SSAValue]:
        if constant_value(value) is not None:
            return frozenset()
        owner = value.owner
        if not isinstance(owner, Operation) or not _is_known(owner):
            return frozenset((value,))
        return frozenset(leaf for each in operands_of(owner) for leaf in self.leaves(each))

    def evaluate(self, value: SSAValue, given: Mapping[SSAValue, Values]) -> Values:
        """`value` for arrays of its leaves; raises `Undefined`."""
        return self._evaluate(value, dict(given))

    def evaluate_all(
        self, values: Sequence[SSAValue], given: Mapping[SSAValue, Values]
    ) -> list[Values]:
        """Several values; what they have in common is computed once. Raises `Undefined`."""
        known = dict(given)
        return [self._evaluate(each, known) for each in values]

    def _evaluate(self, value: SSAValue, known: dict[SSAValue, Values]) -> Values:
        found = known.get(value)
        if found is not None:
            return found
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            found = np.asarray(constant.value.data, dtype=np.int64)
        else:
            owner = value.owner
            assert isinstance(owner, Operation), "leaves are given"
            found = _applied(owner, [self._evaluate(each, known) for each in owner.operands])
        known[value] = found
        return found


def _is_known(op: Operation) -> bool:
    return op.name in _FUNCTIONS or op.name in _CASTS or op.name == "arith.cmpi"


def _applied(op: Operation, operands: list[Values]) -> Values:
    if op.name in _CASTS:
        return operands[0].astype(np.int64)
    if op.name == "arith.cmpi":
        predicate = op.properties["predicate"]
        assert isinstance(predicate, IntegerAttr)
        which = predicate.value.data
        if which >= len(_PREDICATES) - 4:
            _check_signs(operands)
        return np.asarray(_PREDICATES[which](*operands))
    if op.name in _UNSIGNED:
        _check_signs(operands)
    if op.name in _DIVISIONS and not operands[1].all():
        raise Undefined
    return np.asarray(_FUNCTIONS[op.name](*operands))


def _check_signs(operands: list[Values]) -> None:
    if any(each.size and each.min() < 0 for each in operands):
        raise Undefined


def addends_of(value: SSAValue) -> Iterator[SSAValue]:
    """The values whose sum is `value`."""
    owner = value.owner
    if isinstance(owner, AddiOp):
        for each in owner.operands:
            yield from addends_of(each)
    else:
        yield value
