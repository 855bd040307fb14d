"""What a kernel's variables hold, seen from control flow.

A branch or a loop of the IR merges SSA values; a variable of a kernel may hold one (a tensor),
several (a tensor descriptor), a tuple of such, or nothing of the kind (``None``, a number known at
compile time, a type). `handles` takes a variable apart into SSA values and `rebuild` puts other
ones instead, so that control flow is independent of what it carries:

    handles(acc)                 -> [%acc]
    rebuild(acc, iter([%arg3]))  -> the same kind of value around %arg3
    kind(acc)                    -> what must agree where two values are merged
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self, cast

from xdsl.ir import SSAValue


class Value(ABC):
    """Something built from SSA values that a variable of a kernel can hold."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Attributes that such values have in other libraries, and what to write here instead."""

    @abstractmethod
    def handles(self) -> Sequence[SSAValue]:
        """The SSA values inside, in an order that `rebuild` understands."""

    @abstractmethod
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        """The same kind of value around the next SSA values of `handles`."""

    @abstractmethod
    def kind(self) -> object:
        """What must be equal where two values are merged; its `str()` is shown in errors."""

    def labels(self, name: str) -> list[str]:
        """How the SSA values inside are called when a variable `name` holds them."""
        return [name] * len(self.handles())

    def agreement(self, other: Value) -> str:
        """The change that makes `other`, of another kind, mergeable with this value."""
        return "convert one of them, or use two names"


class Undefined:
    """A variable that has no value here. Any use reports it.

    `why` is the reason that Python lacks: assigned in one branch only, or only inside a loop.
    """

    __slots__ = ("_name", "_why")

    def __init__(self, name: str, why: str = "") -> None:
        self._name = name
        self._why = why

    def __str__(self) -> str:
        return f"{self._name} is not defined" + (f": {self._why}" if self._why else "")

    @property
    def has_reason(self) -> bool:
        return bool(self._why)

    def _fail(self, *_: object) -> NoReturn:
        raise NameError(str(self))

    def __getattr__(self, attribute: str) -> NoReturn:
        self._fail()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _fail
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _fail
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _fail
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _fail
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _fail
    __neg__ = __pos__ = __invert__ = __bool__ = __index__ = __int__ = __float__ = _fail
    __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = __contains__ = _fail


def is_namedtuple(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(cast("Any", value), "_fields")


def parts_of(value: object) -> Sequence[Any] | None:
    """The elements of a tuple; None for anything else."""
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else None


def map_leaves(function: Callable[[Any], object], value: object) -> Any:
    """`value` with `function` applied to everything in it that is not a tuple."""
    parts = parts_of(value)
    if parts is None:
        return function(value)
    mapped = [map_leaves(function, part) for part in parts]
    # A NamedTuple is built from its fields, a tuple from a sequence.
    return type(cast("Any", value))(*mapped) if is_namedtuple(value) else tuple(mapped)


def handles(value: object) -> list[SSAValue]:
    """Every SSA value in `value`, tuples opened up; nothing for what is known at compile time."""
    if isinstance(value, Value):
        return list(value.handles())
    parts = parts_of(value)
    return [] if parts is None else [handle for part in parts for handle in handles(part)]


def rebuild(value: object, new: Iterator[SSAValue]) -> Any:
    """`value` with its SSA values replaced by the next ones of `new`."""
    return map_leaves(lambda leaf: leaf.rebuild(new) if isinstance(leaf, Value) else leaf, value)


def kind(value: object) -> object:
    """What must agree where two values are merged: SSA types, equality of everything else."""
    if isinstance(value, Value):
        return value.kind()
    parts = parts_of(value)
    if parts is None:
        return ("constant", type(value), value)
    return (type(value), *(kind(part) for part in parts))
