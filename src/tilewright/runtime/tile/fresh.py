"""Arrays that a script made with `np.empty` and has not filled: `tilewright check` watches them.

An array that the caller passes holds what the caller put there, and a kernel may write a part of
it. Memory from `np.empty` holds nothing, though. Inside `watching` such arrays are filled with one
byte all over, and as long as all of an array still is, nothing has been written to it:

- a kernel that reads an element of it before it writes it reads nothing;
- an element that is still untouched when the script ends, in an array that some kernel wrote and
  none read, was meant to be written.

The second is reported at the end, not after a launch: another launch, or the script itself, may
fill what one launch left.

NumPy has no hook for this, so `np.empty` and `np.empty_like` are replaced while arrays are watched.
The replacement is NumPy's own function for all but the code of the user in the thread that watches:
what Tilewright, torch and other installed packages allocate is neither filled nor remembered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from inspect import currentframe
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from tilewright.ir.diagnostics import Diagnostic
    from tilewright.targets.numpy.api import Array

_UNTOUCHED = 0xA5
_KINDS = "biufcV"
_MANY = 64
_LIBRARIES = (Path(__file__).parents[2], Path(os.__file__).parent)
"""The files of Tilewright and of Python."""
_INSTALLED = {"site-packages", "dist-packages"}


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
    _limit: int = _MANY
    """From which number on the arrays that are gone are forgotten."""

    def made(self, array: Array) -> Array:
        """Remember a new array."""
        if array.dtype.kind in _KINDS and array.nbytes:
            array.reshape(-1, order="A").view(np.uint8)[...] = _UNTOUCHED
            self._made.append(ref(array))
            if len(self._made) > self._limit:
                self._made = [each for each in self._made if each() is not None]
                self._limit = max(_MANY, 2 * len(self._made))
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


_active: ContextVar[FreshArrays | None] = ContextVar("tilewright_fresh_arrays", default=None)
_NAMES = ("empty", "empty_like")
_lock = Lock()
_originals: dict[str, Callable[..., Array]] = {}
"""NumPy's functions while they are replaced."""
_replaced: dict[str, Callable[..., Array]] = {}
_watching = 0
"""How many watch, in all threads."""


def watched() -> FreshArrays | None:
    """What watches arrays at the moment, in this thread."""
    return _active.get()


@contextmanager
def watching() -> Generator[FreshArrays]:
    """Watch what user code makes with `np.empty` and `np.empty_like` inside the ``with``."""
    found = FreshArrays()
    token = _active.set(found)
    _replace()
    try:
        yield found
    finally:
        _restore()
        _active.reset(token)


def _replace() -> None:
    global _watching
    with _lock:
        _watching += 1
        if _watching > 1:
            return
        for name in _NAMES:
            _originals[name] = getattr(np, name)
            _replaced[name] = _wrapped(_originals[name])
            setattr(np, name, _replaced[name])


def _restore() -> None:
    global _watching
    with _lock:
        _watching -= 1
        if _watching:
            return
        for name in _NAMES:
            if getattr(np, name) is _replaced[name]:  # else the script has replaced it
                setattr(np, name, _originals[name])


def _wrapped(original: Callable[..., Array]) -> Callable[..., Array]:
    def made(*args: Any, **kwargs: Any) -> Array:
        array = original(*args, **kwargs)
        fresh = _active.get()
        if fresh is None or type(array) is not np.ndarray:
            return array
        caller = currentframe()
        caller = None if caller is None else caller.f_back
        is_users = caller is not None and _is_users(caller.f_code.co_filename)
        return fresh.made(array) if is_users else array

    made.__name__, made.__doc__ = original.__name__, original.__doc__
    return made


@cache
def _is_users(file: str) -> bool:
    """Whether a file is neither of Tilewright, nor of Python, nor of an installed package."""
    path = Path(file)
    if not _INSTALLED.isdisjoint(path.parts):
        return False
    return not any(path.is_relative_to(each) for each in _LIBRARIES)
