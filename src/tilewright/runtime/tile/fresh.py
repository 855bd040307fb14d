"""Arrays that a script made with `np.empty` and has not filled: `tilewright check` watches them.

An array that the caller passes holds what the caller put there, and a kernel may write a part of
it. Memory from `np.empty` holds nothing, though. Inside `watching` such arrays are filled with one
byte all over, and as long as all of an array still is, nothing has been written to it:

- a kernel that reads an element of it before it writes it reads nothing;
- an element that is still untouched when the script ends, in an array that some kernel wrote and
  none read, was meant to be written.

The second is reported at the end, not after a launch: another launch, or the script itself, may
fill what one launch left. What torch and other libraries allocate is not watched.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from tilewright.ir.diagnostics import Diagnostic
    from tilewright.targets.numpy.api import Array

_UNTOUCHED = 0xA5
_KINDS = "biufcV"


@dataclass
class _Left:
    """What a launch did not write of an array."""

    array: Array
    missing: Any
    report: Diagnostic


@dataclass
class FreshArrays:
    """The arrays that were made so far, and what launches left of them."""

    _made: list[ref[Array]] = field(default_factory=list["ref[Array]"])
    _left: list[_Left] = field(default_factory=list[_Left])

    def made(self, array: Array) -> Array:
        """Remember a new array."""
        if array.dtype.kind in _KINDS and array.nbytes:
            array.reshape(-1, order="A").view(np.uint8)[...] = _UNTOUCHED
            self._made = [each for each in self._made if each() is not None]
            self._made.append(ref(array))
        return array

    def is_untouched(self, array: Array) -> bool:
        """Whether an array, or a part of one, is as it was made."""
        owners = (each() for each in self._made)
        if not any(each is not None and np.may_share_memory(each, array) for each in owners):
            return False
        return bool((_bytes(array) == _UNTOUCHED).all())

    def left(self, array: Array, missing: Any, report: Diagnostic) -> None:
        """A launch wrote `array`, except for the elements `missing`."""
        self._left.append(_Left(array, missing, report))

    def read(self, array: Array) -> None:
        """A launch reads an array: it is no result, and need not be full."""
        self._left = [each for each in self._left if not np.may_share_memory(each.array, array)]

    def reports(self) -> list[Diagnostic]:
        """What is to be reported when the script is done."""
        return [
            each.report
            for each in self._left
            if (_bytes(each.array)[each.missing] == _UNTOUCHED).all(axis=-1).any()
        ]


def _bytes(array: Array) -> Any:
    """The bytes of elements, along a last axis."""
    whole = np.ascontiguousarray(array)
    return whole.view(np.uint8).reshape(*array.shape, array.dtype.itemsize)


_NAMES = ("empty", "empty_like")
_watched: list[FreshArrays] = []
_unwrapped: list[Sequence[Callable[..., Array]]] = []
"""The functions of NumPy before each of those that watch."""


def watched() -> FreshArrays | None:
    """What watches arrays at the moment."""
    return _watched[-1] if _watched else None


@contextmanager
def watching() -> Generator[FreshArrays]:
    """Watch what `np.empty` and `np.empty_like` make inside the ``with``."""
    found, originals = FreshArrays(), _bound()
    _watched.append(found)
    _unwrapped.append(originals)
    _bind([_wrapped(found, each) for each in originals])
    try:
        yield found
    finally:
        _bind(_unwrapped.pop())
        _watched.remove(found)


@contextmanager
def unwatched() -> Generator[None]:
    """What is made inside the ``with`` is none of the script's arrays: a kernel is executed."""
    wrapped = _bound()
    _bind(_unwrapped[0] if _unwrapped else wrapped)
    try:
        yield
    finally:
        _bind(wrapped)


def _bound() -> Sequence[Callable[..., Array]]:
    return [getattr(np, name) for name in _NAMES]


def _bind(functions: Sequence[Callable[..., Array]]) -> None:
    for name, function in zip(_NAMES, functions, strict=True):
        setattr(np, name, function)


def _wrapped(fresh: FreshArrays, original: Callable[..., Array]) -> Callable[..., Array]:
    def made(*args: Any, **kwargs: Any) -> Array:
        array = original(*args, **kwargs)
        return fresh.made(array) if type(array) is np.ndarray else array

    made.__name__, made.__doc__ = original.__name__, original.__doc__
    return made
