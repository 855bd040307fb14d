"""Machine integers: what each op of ``arith`` does to two's complement numbers of its width.

Numbers are kept as signed 64-bit arrays. Each op computes the mathematical result, as big integers
where 64 bits may not be enough, and then wraps it to the width; whether wrapping changed anything is
told apart, because claims of an analysis may rest on its not happening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.analysis.oracle.recording import Array

_LIMIT = 1 << 62


class UndefinedBehaviour(Exception):
    """The program has no meaning for these inputs."""


def magnitude(array: Array) -> int:
    return 0 if array.size == 0 else max(abs(int(array.max())), abs(int(array.min())))


def _exact(array: Array) -> Array:
    return array.astype(object)


def wrapped(exact: Array, width: int) -> tuple[Array, bool]:
    """(`exact` as a signed number of `width` bits, whether it was one before)."""
    # Arrays of Python integers without axes turn into Python integers.
    exact = np.asarray(exact, dtype=object if isinstance(exact, int) else None)
    half = 1 << (width - 1)
    if exact.dtype != object:
        if width == 64:
            return exact.astype(np.int64), True
        result = ((exact + half) & ((1 << width) - 1)) - half
        return np.asarray(result, dtype=np.int64), bool(np.all(result == exact))
    result = (exact + half) % (1 << width) - half
    return np.asarray(result, dtype=np.int64), bool(np.all(result == exact))


def unsigned(array: Array, width: int) -> Array:
    return _exact(array) % (1 << width)


def _add(a: Array, b: Array) -> Array:
    wide = magnitude(a) + magnitude(b) >= _LIMIT
    return _exact(a) + _exact(b) if wide else a + b


def _sub(a: Array, b: Array) -> Array:
    wide = magnitude(a) + magnitude(b) >= _LIMIT
    return _exact(a) - _exact(b) if wide else a - b


def _mul(a: Array, b: Array) -> Array:
    wide = magnitude(a) * magnitude(b) >= _LIMIT
    return _exact(a) * _exact(b) if wide else a * b


def _no_zero(b: Array) -> None:
    if np.any(b == 0):
        raise UndefinedBehaviour("division by zero")


def _div(a: Array, b: Array) -> Array:
    _no_zero(b)
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


def _rem(a: Array, b: Array) -> Array:
    _no_zero(b)
    rest = np.abs(a) % np.abs(b)
    return np.where(a < 0, -rest, rest)


def _floor_div(a: Array, b: Array) -> Array:
    _no_zero(b)
    return a // b


def _ceil_div(a: Array, b: Array) -> Array:
    _no_zero(b)
    return -(-a // b)


def _shift(b: Array, width: int) -> Array:
    if np.any(b < 0) or np.any(b >= width):
        raise UndefinedBehaviour("shift by more than the width")
    return b


SIGNED: Mapping[str, Callable[[Array, Array], Array]] = {
    "arith.addi": _add,
    "arith.subi": _sub,
    "arith.muli": _mul,
    "arith.divsi": _div,
    "arith.remsi": _rem,
    "arith.floordivsi": _floor_div,
    "arith.ceildivsi": _ceil_div,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
}
UNSIGNED: Mapping[str, Callable[[Array, Array], Array]] = {
    "arith.divui": _floor_div,
    "arith.remui": lambda a, b: a - b * _floor_div(a, b),
    "arith.ceildivui": _ceil_div,
    "arith.minui": np.minimum,
    "arith.maxui": np.maximum,
}
SHIFTS = frozenset(("arith.shli", "arith.shrsi", "arith.shrui"))
WRAPPING = frozenset(("arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.trunci"))
"""Ops whose mathematical result may not fit."""


def binary(name: str, a: Array, b: Array, width: int) -> tuple[Array, bool]:
    """(result, whether it is the mathematical one)."""
    if name in SIGNED:
        return wrapped(SIGNED[name](a, b), width)
    if name in UNSIGNED:
        result, _ = wrapped(UNSIGNED[name](unsigned(a, width), unsigned(b, width)), width)
        return result, True
    amount = _shift(b, width)
    if name == "arith.shli":
        return wrapped(_exact(a) * 2 ** _exact(amount), width)
    if name == "arith.shrsi":
        return wrapped(a >> amount, width)
    result, _ = wrapped(unsigned(a, width) // 2 ** _exact(amount), width)
    return result, True


_RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compared(predicate: str, a: Array, b: Array, width: int) -> Array:
    if predicate[0] == "u":
        a, b = unsigned(a, width), unsigned(b, width)
    relation = predicate if predicate in ("eq", "ne") else predicate[1:]
    return np.asarray(_RELATIONS[relation](a, b), dtype=bool)


def truth(name: str, a: Array, b: Array) -> Array:
    """The same ops on one bit, true being -1 as a signed number."""
    tables: Mapping[str, Callable[[Array, Array], Array]] = {
        "arith.andi": np.logical_and,
        "arith.muli": np.logical_and,
        "arith.minui": np.logical_and,
        "arith.maxsi": np.logical_and,
        "arith.ori": np.logical_or,
        "arith.maxui": np.logical_or,
        "arith.minsi": np.logical_or,
        "arith.xori": np.logical_xor,
        "arith.addi": np.logical_xor,
        "arith.subi": np.logical_xor,
    }
    return tables[name](a, b)
