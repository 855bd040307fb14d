"""The bits of TVM that kernels of TileLang are written with: constants, casts, types to name."""

from __future__ import annotations

from typing import Any, TypeAlias

from tilewright.language import T
from tilewright.language.T.expressions import Expr
from tilewright.language.T.prim_func import PrimFunc as PrimFunc

PrimExpr: TypeAlias = Expr
Var: TypeAlias = Expr


def const(value: Any, dtype: str = "int32", span: object = None) -> Any:
    """A constant of a type."""
    return T.cast(value, dtype)


def Cast(dtype: str, value: Any, span: object = None) -> Any:
    return T.cast(value, dtype)


def Select(condition: Any, true_value: Any, false_value: Any, span: object = None) -> Any:
    return T.if_then_else(condition, true_value, false_value)


def Min(a: Any, b: Any, span: object = None) -> Any:
    return T.min(a, b)


def Max(a: Any, b: Any, span: object = None) -> Any:
    return T.max(a, b)


def reinterpret(dtype: str, value: Any, span: object = None) -> Any:
    """The bits of `value` as another type."""
    return T.reinterpret(dtype, value)


class Target:
    """What a kernel is compiled for, by name."""

    def __init__(self, target: object = "cuda", host: object = None) -> None:
        self.text = str(target)

    @property
    def kind(self) -> str:
        return self.text.partition(" ")[0].partition(":")[0]

    def __str__(self) -> str:
        return self.text
