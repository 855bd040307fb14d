"""Memory that kernels reach by addresses: which array of a launch an integer points into.

    %p = tile.ptr_at %address : !tile.ptr<f16>     ->   an array, and a byte of it

The arrays are the arguments, and those named as reachable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ReachedMemory(Generic[T]):
    """Arrays by address; `T` is what stands for an array."""

    def __init__(self, arrays: Iterable[tuple[T, Any]]) -> None:
        self._spans = [(address_of(array), array.nbytes, each) for each, array in arrays]

    def at(self, address: int) -> tuple[T, int] | None:
        """The array that contains an address, and the byte in it; None if none does."""
        for low, size, each in self._spans:
            if low <= address < low + size:
                return each, address - low
        return None


def address_of(array: Any) -> int:
    """Where an array begins."""
    return array.__array_interface__["data"][0]
