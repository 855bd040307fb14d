"""From the arguments of a kernel function to the parameters of its machine code.

What is compiled in has no parameter. A tuple has one for each item. A tensor descriptor has its
tensor map, then its shape, then its strides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.runtime.specialise import CONSTEXPR, Key


def flatten(keys: Sequence[Key], values: Sequence[Any]) -> list[Any]:
    """`values`, one for each of `keys`, as `Launcher` takes them."""
    return [each for key, value in zip(keys, values, strict=True) for each in _parts(key, value)]


def _parts(key: Key, value: Any) -> Iterator[Any]:
    kind = key[0]
    if kind == CONSTEXPR:
        return
    if kind == "tuple":
        yield from flatten(key[2:], value)
    elif kind == "tensordesc":
        yield value
        yield from value.shape
        yield from value.strides
    else:
        yield value
