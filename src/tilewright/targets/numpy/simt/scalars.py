"""Scalar arithmetic of the thread level as Python functions of one value per thread.

What `arith` and `math` ops mean is written once, as templates (`numpy/ops`); here the template of
an op is filled in with plain parameters and compiled:

    arith.remui : index    ->    lambda a0, a1: (remui(a0, a1))

A value is an array with one element per thread, or a NumPy scalar where all threads agree; the
same text serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.targets.numpy.dtypes import ScalarType, scalar_type
from tilewright.targets.numpy.emitter import Emitter, Unit
from tilewright.targets.numpy.ops import arith, math
from tilewright.targets.numpy.ops.arith.casts import CXX_RULES
from tilewright.targets.numpy.support import HELPERS
from tilewright.targets.numpy.values import PROGRAM, Expr, Tensor

Function: TypeAlias = Callable[..., Any]

_RULES = {**arith.RULES, **CXX_RULES, **math.RULES}
_NAMES: dict[str, Any] = {
    "np": np,
    **{name: getattr(import_module(module), name) for name, module in HELPERS.items()},
}
_KNOWN: dict[str, Function] = {}
"""Compiled functions by their text."""


class _Formula(Emitter):
    """Writes one op as an expression instead of as statements."""

    def __init__(self, op: Operation) -> None:
        super().__init__(Unit({}, _RULES, keeps_terms=False))
        for index, operand in enumerate(op.operands):
            expr = Expr(f"a{index}", PROGRAM, 0, 1)
            self.values[operand] = Tensor(expr)

    @override
    def pure(
        self,
        template: str,
        *operands: Expr,
        axes: int | None = None,
        rank: int | None = None,
        hint: str | None = None,
    ) -> Expr:
        text = template.format(*[operand.text for operand in operands])
        return Expr(f"({text})", PROGRAM, 0, 1)

    def text(self, result: SSAValue) -> str:
        return self.expr(result).text


def function_of(op: Operation) -> Function:
    """What an op computes; several results come as a tuple."""
    quick = _QUICK.get(op.name)
    if quick is not None and isinstance(op.operands[0].type, IndexType):
        return quick
    formula = _Formula(op)
    _RULES[op.name](formula, op)
    texts = [formula.text(result) for result in op.results]
    parameters = ", ".join(f"a{index}" for index in range(len(op.operands)))
    body = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    text = f"lambda {parameters}: {body}"
    found = _KNOWN.get(text)
    if found is None:
        found = _KNOWN[text] = eval(compile(text, f"<{op.name}>", "eval"), _NAMES)
    return found


def constant_of(op: ConstantOp) -> Any:
    """The number that a constant is."""
    type, value = type_of(op.result), op.value
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise TypeError(f"expected an integer or float constant, got '{value.name}'")
    data = value.value.data
    if type.kind == "b":
        return np.bool_(bool(data))
    if isinstance(data, int):
        wrapped = data & ((1 << type.bits) - 1)
        data = wrapped - (1 << type.bits) if wrapped >> (type.bits - 1) else wrapped
    return type.dtype.type(data)


def type_of(value: SSAValue) -> ScalarType:
    """The NumPy side of a value's type, or of the type of its elements."""
    found = scalar_type(value.type)
    if found is None:
        raise TypeError(f"type '{value.type}' has no NumPy equivalent")
    return found


# Numbers of elements and threads are divided all the time, and mostly by a power of two.


def _divui(a: Any, b: Any) -> Any:
    if b.ndim == 0 and b > 0 and (b & (b - 1)) == 0:
        return (a.view(np.uint64) >> np.uint64(int(b).bit_length() - 1)).view(np.int64)
    return _NAMES["divui"](a, b)


def _remui(a: Any, b: Any) -> Any:
    if b.ndim == 0 and b > 0 and (b & (b - 1)) == 0:
        return a & (b - 1)
    return _NAMES["remui"](a, b)


_QUICK: dict[str, Function] = {"arith.divui": _divui, "arith.remui": _remui}

__all__ = ["Function", "constant_of", "function_of", "type_of"]
