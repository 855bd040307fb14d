"""Atomic updates of many lanes at once, as if lane followed lane.

Lanes may share an element. What is left in memory, and what each lane gets back, must be what
carrying them out in order gives: to the bit, also for sums of floats, which round at every step.

Without results, NumPy's `ufunc.at` does exactly that. With results, lanes are sorted by element
(stable, so in order) and either

- each element's lanes are accumulated (`ufunc.accumulate` is the sequence of partial results), or
- the first lanes of all elements are carried out together, then all second ones, and so on,

whichever takes fewer steps. Compare-and-swap has no partial results and takes the second way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.targets.numpy.api import Array

_INTEGER_OPS: dict[str, np.ufunc] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
}
_FLOAT_OPS: dict[str, np.ufunc] = {
    "add": np.add,
    "fadd": np.add,
    # The number wins over NaN, as in IEEE 754's maximumNumber.
    "max": np.fmax,
    "min": np.fmin,
}
_BITWISE = frozenset(("umax", "umin", "and", "or", "xor", "exch"))


@dataclass(frozen=True, slots=True)
class Typed:
    """Elements of a table, stored as unsigned bits, that represent values of a type."""

    bits: Array
    dtype: np.dtype[Any]

    def values(self, kind: str, bits: Array) -> Array:
        """`bits` as what `kind` computes with."""
        return bits if kind in _BITWISE else bits.view(self.dtype)

    def ufunc(self, kind: str) -> np.ufunc:
        ops = _INTEGER_OPS if kind in _BITWISE or self.dtype.kind in "iu" else _FLOAT_OPS
        if kind not in ops:
            raise ValueError(f"atomic {kind} is not defined for {self.dtype}")
        return ops[kind]


@dataclass(frozen=True, slots=True)
class _Sharing:
    """Lanes sorted by element."""

    order: Array
    """Lanes, those of one element next to each other and in order."""
    begins: Array
    """Where in `order` each element's lanes begin."""
    counts: Array
    """How many lanes each element has."""

    @classmethod
    def of(cls, index: Array) -> _Sharing:
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        is_first = np.empty(len(index), np.bool_)
        is_first[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
        begins = np.flatnonzero(is_first)
        return cls(order, begins, np.diff(begins, append=len(index)))

    @property
    def rounds(self) -> int:
        """The most lanes that share one element."""
        return int(self.counts.max(initial=0))

    def round(self, index: int) -> Array:
        """The lanes that are the `index`-th of their element."""
        return self.order[self.begins[self.counts > index] + index]


def update(kind: str, elements: Typed, index: Array, bits: Array) -> None:
    """Combine each lane's value with its element, in order of lanes."""
    if kind == "exch":
        elements.bits[index] = bits
        return
    table, values = elements.values(kind, elements.bits), elements.values(kind, bits)
    with np.errstate(all="ignore"):
        elements.ufunc(kind).at(table, index, values)


def fetch_update(kind: str, elements: Typed, index: Array, bits: Array) -> Array:
    """As `update`; returns the bits of each element before the update by its lane."""
    sharing = _Sharing.of(index)
    if kind != "exch" and len(sharing.begins) < sharing.rounds:
        return _accumulate(kind, elements, index, bits, sharing)
    old = np.empty_like(bits)
    table, values = elements.values(kind, elements.bits), elements.values(kind, bits)
    for step in range(sharing.rounds):
        lanes = sharing.round(step)
        found = table[index[lanes]]
        old[lanes] = found.view(old.dtype)
        with np.errstate(all="ignore"):
            table[index[lanes]] = (
                values[lanes] if kind == "exch" else elements.ufunc(kind)(found, values[lanes])
            )
    return old


def _accumulate(kind: str, elements: Typed, index: Array, bits: Array, sharing: _Sharing) -> Array:
    old = np.empty_like(bits)
    table, values = elements.values(kind, elements.bits), elements.values(kind, bits)
    ufunc = elements.ufunc(kind)
    for begin, count in zip(sharing.begins.tolist(), sharing.counts.tolist(), strict=True):
        lanes = sharing.order[begin : begin + count]
        slot = index[lanes[0]]
        sequence = np.concatenate((table[slot : slot + 1], values[lanes]))
        with np.errstate(all="ignore"):
            partial = ufunc.accumulate(sequence, dtype=sequence.dtype)
        old[lanes] = partial[:-1].view(old.dtype)
        table[slot] = partial[-1]
    return old


def compare_and_swap(table: Array, index: Array, compare: Array, bits: Array) -> Array:
    """Write each lane's bits where the element equals `compare`; the bits it found."""
    sharing = _Sharing.of(index)
    old = np.empty_like(bits)
    for step in range(sharing.rounds):
        lanes = sharing.round(step)
        found = table[index[lanes]]
        old[lanes] = found
        table[index[lanes]] = np.where(found == compare[lanes], bits[lanes], found)
    return old
