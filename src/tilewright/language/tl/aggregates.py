"""Classes of a kernel: several values under one name, with methods.

    @tw.aggregate
    class Tile:
        pointer: tl.tensor
        rows: tl.tensor
        SIZE: tl.constexpr

        @tw.jit
        def load(self, row):
            return tl.load(self.pointer + row * self.SIZE + tl.arange(0, self.SIZE))

The fields are the annotated names, those of a base class first. An instance never changes once it
is made; `aggregate_replace` makes another one that differs in some fields. Branches and loops merge
instances field by field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from typing_extensions import dataclass_transform, override
from xdsl.ir import SSAValue

from tilewright.frontend.merging import labels_of
from tilewright.frontend.values import Value, handles, kind, rebuild
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.type_of import type_of

_Class = TypeVar("_Class", bound=type)
_Instance = TypeVar("_Instance")
_NOT_COPIED = ("__dict__", "__weakref__")


@dataclass(frozen=True)
class aggregate_type:
    """The class of an instance, and what its fields hold."""

    base_cls: type
    fields: tuple[tuple[str, object], ...]

    def mangle(self) -> str:
        """The type as part of a function's symbol."""
        parts = [str(getattr(held, "mangle")()) for _, held in self.fields]  # noqa: B009
        return f"{self.base_cls.__module__}.{self.base_cls.__qualname__}<{', '.join(parts)}>"

    @override
    def __str__(self) -> str:
        return f"{self.base_cls.__name__}({', '.join(f'{n}: {held}' for n, held in self.fields)})"


class Aggregate(Value):
    """An instance of a class that `aggregate` made."""

    field_types: ClassVar[Mapping[str, object]] = {}
    defaults: ClassVar[Mapping[str, object]] = {}
    _is_complete = False

    @property
    def type(self) -> aggregate_type:
        names = type(self).field_types
        return aggregate_type(
            type(self), tuple((name, type_of(getattr(self, name))) for name in names)
        )

    @override
    def __setattr__(self, name: str, value: object) -> None:
        owner = type(self).__name__
        if name not in self.field_types:
            raise AttributeError(f"{owner} has no attribute '{name}': annotate it in the class")
        if self._is_complete:
            raise AttributeError(
                f"cannot assign to field '{name}' on immutable aggregate {owner}; use "
                "aggregate_replace() to construct a modified copy"
            )
        _check(owner, name, self.field_types[name], value)
        is_constant = self.field_types[name] is constexpr
        object.__setattr__(self, name, constexpr(value) if is_constant else value)

    def _parts(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.field_types])

    @override
    def handles(self) -> Sequence[SSAValue]:
        return handles(self._parts())

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        made = object.__new__(type(self))
        for name in self.field_types:
            object.__setattr__(made, name, rebuild(getattr(self, name), handles))
        object.__setattr__(made, "_is_complete", True)
        return made

    @override
    def kind(self) -> object:
        parts = tuple((name, kind(getattr(self, name))) for name in self.field_types)
        return _Kind(self.type, parts)

    @override
    def labels(self, name: str) -> list[str]:
        fields = type(self).field_types
        return [each for f in fields for each in labels_of(f"{name}.{f}", getattr(self, f))]

    @override
    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class _Kind:
    """What must agree where two instances are merged."""

    type: aggregate_type
    parts: tuple[tuple[str, object], ...]

    @override
    def __str__(self) -> str:
        return str(self.type)


def _check(owner: str, name: str, required: object, value: object) -> None:
    """Whether `value` can be held by a field annotated `wanted`."""
    if required is constexpr:
        fits, found = not isinstance(value, Value), f"the run-time value {value}"
    else:
        known = not isinstance(value, Value) and not isinstance(unwrap(value), tuple)
        fits = not isinstance(required, type) or isinstance(value, required)
        found = f"the constant {unwrap(value)!r}; tl.to_tensor makes a tensor of it"
        found = found if known else str(value)
    if not fits:
        expected = getattr(required, "__name__", required)
        raise TypeError(f"Expected {expected} for attribute '{name}' of {owner}, got {found}")


@dataclass_transform(eq_default=False)
def aggregate(cls: _Class) -> _Class:
    """Let kernels make and use instances of `cls`."""
    fields: dict[str, object] = {}
    defaults: dict[str, object] = {}
    bases = tuple(base for base in cls.__bases__ if base is not object)
    for base in bases:
        if not issubclass(base, Aggregate):
            raise TypeError(
                "Aggregates can only inherit from other aggregates, but got non-aggregate base: "
                f"{base}"
            )
        fields |= base.field_types
        defaults |= base.defaults
    own = _annotations(cls)
    given = vars(cls)
    fields |= own
    defaults |= {name: given[name] for name in own if name in given}
    members: dict[str, Any] = {
        name: value for name, value in given.items() if name not in own and name not in _NOT_COPIED
    }
    members["__init__"] = _constructor(cls.__name__, given.get("__init__"))
    members["field_types"], members["defaults"] = fields, defaults
    return type(cls)(cls.__name__, bases or (Aggregate,), members)


def _annotations(cls: type) -> dict[str, object]:
    try:
        return inspect.get_annotations(cls, eval_str=True)
    except NameError:  # a name of the function around the class
        return inspect.get_annotations(cls)


def _complete(made: Aggregate) -> None:
    """The constructor is through: every field has a value, and keeps it."""
    for name in made.field_types:
        if not hasattr(made, name):
            raise AttributeError(
                f"constructor for {type(made).__name__} did not initialize attribute '{name}'"
            )
    object.__setattr__(made, "_is_complete", True)


def _constructor(owner: str, written: Callable[..., None] | None) -> Callable[..., None]:
    """The user's ``__init__``, or one that takes the fields in their order."""

    def __init__(self: Aggregate, *args: Any, **kwargs: Any) -> None:
        if written is None:
            _fill(owner, self, args, kwargs)
        else:
            written(self, *args, **kwargs)
        _complete(self)

    return __init__


def _fill(
    owner: str, made: Aggregate, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> None:
    names = list(made.field_types)
    if len(args) > len(names):
        raise TypeError(
            f"{owner}.__init__() takes {len(names) + 1} positional arguments but {len(args) + 1} "
            "were given"
        )
    given = dict(zip(names, args, strict=False))
    for name in kwargs:
        if name in given:
            raise TypeError(f"{owner}.__init__() got multiple values for argument '{name}'")
        if name not in names:
            raise TypeError(f"{owner}.__init__() got an unexpected keyword argument '{name}'")
    values = {**made.defaults, **given, **kwargs}
    for name in names:
        if name not in values:
            raise TypeError(f"{owner}.__init__() missing required argument: '{name}'")
        setattr(made, name, values[name])


def aggregate_replace(instance: _Instance, **changes: object) -> _Instance:
    """A copy of `instance` with other values for some of its fields."""
    if not isinstance(instance, Aggregate):
        raise TypeError(f"aggregate_replace() expects an aggregate instance, got {type(instance)}")
    cls = type(instance)
    for name in changes:
        if name not in cls.field_types:
            raise TypeError(f"{cls.__name__} has no field '{name}'")
    held = {name: getattr(instance, name) for name in cls.field_types}
    return cls(**{**held, **changes})
