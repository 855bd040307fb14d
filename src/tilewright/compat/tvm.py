"""The bits of TVM that kernels of TileLang are written with: constants, casts, types to name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, cast

from tilewright.compat.notices import print_once
from tilewright.ir.diagnostics import CompileError
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


def And(a: Any, b: Any, span: object = None) -> Any:
    """Both conditions hold."""
    return T.all_of(a, b)


def Or(a: Any, b: Any, span: object = None) -> Any:
    """One of the conditions holds."""
    return T.any_of(a, b)


def Not(a: Any, span: object = None) -> Any:
    """The condition does not hold."""
    return T.if_then_else(a, False, True)


def all(*conditions: Any, span: object = None) -> Any:
    return T.all_of(*conditions)


def any(*conditions: Any, span: object = None) -> Any:
    return T.any_of(*conditions)


def IntImm(dtype: str, value: int, span: object = None) -> Any:
    """A constant, its type first."""
    return T.cast(value, dtype)


FloatImm = IntImm


@dataclass(frozen=True)
class Range:
    """So many integers from a first one."""

    min: Any
    extent: Any

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: object = None) -> Range:
        return Range(min_value, extent)


class PassContext:
    """Settings of TVM's passes for what is compiled inside; there are none of them here."""

    def __init__(self, config: object = None, **_: object) -> None:
        self.config = config

    def __enter__(self) -> Self:
        if self.config:
            print_once("tvm.transform.PassContext has no effect: give pass_configs to tilelang.jit")
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to restore."""


class Target:
    """What a kernel is compiled for, by name; in a ``with``, the one that `current` finds."""

    _entered: ClassVar[list[Target]] = []

    def __init__(self, target: object = "cuda", host: object = None) -> None:
        if isinstance(target, Mapping):  # {"kind": "cuda", "arch": "sm_90a"}
            given = cast("Mapping[str, Any]", target)
            target = f"{given['kind']} -arch={given['arch']}" if "arch" in given else given["kind"]
        self.text = str(target)
        self.host = host

    @property
    def kind(self) -> str:
        kind = self.text.partition(" ")[0].partition(":")[0]
        return "cuda" if kind == "auto" else kind

    @classmethod
    def current(cls, allow_none: bool = True) -> Target | None:
        if not cls._entered and not allow_none:
            raise ValueError("there is no `with Target(...)` around this")
        return cls._entered[-1] if cls._entered else None

    def __enter__(self) -> Self:
        self._entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.pop()

    def __str__(self) -> str:
        return self.text


def determine_target(target: Any = "auto", return_object: bool = False) -> Any:
    """The target that a name or a description is for; ``auto`` is decided by what compiles."""
    found = target if isinstance(target, Target) else Target("auto" if target is None else target)
    return found if return_object else str(found)


TVMError = InternalError = CompileError
"""Errors of TVM are diagnostics here."""
