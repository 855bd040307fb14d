"""Abstract values: the facts about one SSA value on one path.

===============  ==================================================================
``Integer``      an integer or tensor of integers, a polynomial
``Boolean``      an ``i1`` or tensor of them, a formula
``Pointer``      a base and an offset in bytes
``BlockPointer`` a base and, per dimension, shape, stride, offset and block extent
``Descriptor``   the same without offsets, which come with each access
``Data``         anything else; only what it depends on is known
===============  ==================================================================

Lanes are positional: the symbol ``lane0`` in a value means the index along dimension 0 of that
value. Range and congruence are functions of the polynomial, queried from the context where needed.

Every value carries its ``basis``: a bit set of the assumptions that make it true. Its lowest bits
are for the axes whose program id entered by a choice: ``sel(flag, n - pid, pid)`` is a polynomial
with a factor for ``flag``, but not affine in ``pid``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tilewright.analysis.affine import Atom, Formula, Poly

AXIS_BITS = 3
CHOSEN_AXES = (1 << AXIS_BITS) - 1
"""The bits of a basis that stand for axes chosen between, not for assumptions."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A polynomial, and the same value over derived coordinates."""

    expr: Poly
    virtual: Poly | None
    """The value with coordinates (``%pid_m``) in place of what they compute: the same object as
    `expr` where no coordinate is involved, ``None`` where the value cannot be written so."""
    is_simple: bool = True
    """Of a scalar: free of program ids, affine in them, or a multiple by a factor free of them. A
    sum of such values is still looked into when coordinates are sought."""
    basis: int = 0


@dataclass(frozen=True, slots=True)
class Boolean:
    formula: Formula
    basis: int = 0


@dataclass(frozen=True, slots=True)
class Data:
    """A value that is no address and no index, or one of an unknown kind."""

    deps: int
    """Bit set of what it depends on, as in ``Poly.deps_mask``."""
    basis: int = 0


@dataclass(frozen=True, slots=True)
class Base:
    """Where a pointer comes from."""

    name: str
    """``%arg``, ``*%value`` for a pointer that was loaded or cast, ``?`` if it may be any."""
    address: Poly | None
    """The address as an integer, ``None`` for ``?``."""
    divisibility: int | None
    """Of the address, where a hint gives it."""
    deps: int
    """What the choice of the base depends on."""
    argument: Atom | None = None
    """Of an integer argument used as an address: its symbol."""

    @property
    def is_top(self) -> bool:
        return self.address is None


@dataclass(frozen=True, slots=True)
class Pointer:
    base: Base
    offset: Integer
    """In bytes."""


@dataclass(frozen=True, slots=True)
class BlockPointer:
    base: Base
    offset: Integer
    """In bytes, of the tensor's first element."""
    shape: tuple[Integer, ...]
    strides: tuple[Integer, ...]
    offsets: tuple[Integer, ...]
    block: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Descriptor:
    base: Base
    offset: Integer
    shape: tuple[Integer, ...]
    strides: tuple[Integer, ...]
    block: tuple[int, ...]
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Poison:
    """A value that nothing may depend on."""


POISON = Poison()

Value: TypeAlias = Integer | Boolean | Data | Pointer | BlockPointer | Descriptor | Poison


def parts(value: Value) -> tuple[Integer, ...]:
    """The integers that a value consists of."""
    match value:
        case Integer():
            return (value,)
        case Pointer():
            return (value.offset,)
        case Descriptor():
            return (value.offset, *value.shape, *value.strides)
        case BlockPointer():
            return (value.offset, *value.shape, *value.strides, *value.offsets)
        case _:
            return ()


def base_of(value: Value) -> Base | None:
    return value.base if isinstance(value, Pointer | BlockPointer | Descriptor) else None


def deps_of(value: Value) -> int:
    """Bit set of everything a value may depend on."""
    match value:
        case Boolean():
            return value.formula.deps_mask
        case Data():
            return value.deps
        case _:
            mask = 0
            for part in parts(value):
                mask |= part.expr.deps_mask
            base = base_of(value)
            return mask if base is None else mask | base.deps


def basis_of(value: Value) -> int:
    if isinstance(value, Boolean | Data):
        return value.basis
    basis = 0
    for part in parts(value):
        basis |= part.basis
    return basis
