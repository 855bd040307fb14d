"""``triton.runtime._allocation``: the function that gives kernels scratch memory on a GPU.

Kernels need none on the CPU; the function is stored, so that scripts can set and restore it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

Allocator = Callable[[int, int, "int | None"], Any]


class Buffer(Protocol):
    """Memory with an address."""

    def data_ptr(self) -> int:
        """The address of its first byte."""
        ...


class NullAllocator:
    """What there is before a script sets an allocator."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Buffer:
        raise RuntimeError(
            "a kernel needs scratch memory and there is no allocator: call triton.set_allocator"
        )


_NULL = NullAllocator()
_allocator: ContextVar[Any] = ContextVar("_allocator", default=_NULL)
_profile_allocator: ContextVar[Any] = ContextVar("_profile_allocator", default=_NULL)


def set_allocator(allocator: Allocator) -> None:
    """Accepted: kernels get their scratch memory on a GPU from it, and need none here."""
    _allocator.set(allocator)


def set_profile_allocator(allocator: Allocator | None) -> None:
    _profile_allocator.set(_NULL if allocator is None else allocator)


def has_profile_allocator() -> bool:
    return not isinstance(_profile_allocator.get(), NullAllocator)
