"""The bits of TVM that kernels of TileLang are written with: constants, casts, types to name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, cast

from typing_extensions import override

from tilewright.compat.notices import print_once
from tilewright.frontend.builder import build_outside, current
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.hints import name_hint_of
from tilewright.language import T
from tilewright.language.T.expressions import Expr
from tilewright.language.T.loop_forms import as_sequence
from tilewright.language.T.prim_func import PrimFunc as PrimFunc
from tilewright.language.T.vectors import Vector

PrimExpr: TypeAlias = Expr
Call: TypeAlias = Expr


class _Variables(type):
    """The class of `Var`: every scalar of a kernel counts as one."""

    @override
    def __call__(cls, name: str = "v", dtype: object = "int32", span: object = None) -> Any:
        build_outside()
        found = T.dtype(dtype)
        block = current().block
        element = T.dtype(str(found).rpartition("x")[0]) if found.lanes > 1 else found
        lanes = [
            Expr(block.insert_arg(element.type, len(block.args)), element)
            for _ in range(found.lanes)
        ]
        for lane in lanes:
            lane.handle.name_hint = name_hint_of(name)
        return lanes[0] if found.lanes == 1 else Vector(lanes)

    @override
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, (Expr, Vector))


class Var(metaclass=_Variables):
    """A scalar that stands for any: expressions of it can be built outside of kernels."""


def const(value: Any, dtype: str = "int32", span: object = None) -> Any:
    """A constant of a type."""
    build_outside()
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
    build_outside()
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


class IndexMap:
    """A function from indices to indices."""

    def __init__(self, mapping: Callable[..., Any]) -> None:
        self._mapping = mapping

    @staticmethod
    def from_func(mapping: Callable[..., Any], *_: object, **__: object) -> IndexMap:
        return IndexMap(mapping)

    def map_indices(self, indices: Sequence[Any]) -> list[Any]:
        """Where `indices` are mapped to."""
        return list(as_sequence(self._mapping(*indices)))


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
