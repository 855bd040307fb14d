"""What a component requests: one named scratch buffer, as a value that cannot change.

    class             declared as                        lives in                        for
    shared            location="shared"                  a slice of the shared pool      the kernel
    persistent local  location="local", persistent=True  a slice of the per-thread pool  the kernel
    local             location="local"                   an array of the allocator's     one call

Sizes are elements. A record is frozen: layouts are worked out from records, so a record that
changed in place would leave a layout that no longer fits it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.memory.registry.allocators import element_allocator

Pool: TypeAlias = Literal["shared", "persistent", "local"]
"""The storage of a buffer: a slice of one of two pools, or an array of its own."""

LOCATIONS = ("shared", "local")

PERSISTENT_ALIGNMENT = 8
"""Bytes: that of the widest element type, which the persistent pool consists of."""

_PRECISIONS: dict[np.dtype[Any], type[np.generic]] = {
    np.dtype(kind): kind for kind in (np.float16, np.float32, np.float64, np.int32, np.int64)
}


@dataclass(frozen=True)
class CUDABuffer:
    """A buffer's name, size in elements, storage class, alias target and element type.

    `alignment` requires more than the element type does, in bytes; only the strict policy, which
    places bytes, honours it.
    """

    name: str
    size: int
    location: str
    persistent: bool = False
    aliases: str | None = None
    precision: npt.DTypeLike = np.float32
    alignment: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _require("name", self.name, str)
        _require("size", self.size, (int, np.integer))
        _require("persistent", self.persistent, bool)
        _require("aliases", self.aliases, (str, type(None)))
        if self.size < 0:
            raise ValueError(f"'size' must be >= 0: {self.size}")
        if self.location not in LOCATIONS:
            raise ValueError(f"'location' must be 'shared' or 'local': {self.location!r}")
        # One spelling a value, so that records that mean the same compare equal.
        object.__setattr__(self, "size", int(self.size))
        object.__setattr__(self, "precision", _scalar_type(self.precision))
        _check_alignment(self)

    @property
    def is_shared(self) -> bool:
        return self.location == "shared"

    @property
    def is_persistent_local(self) -> bool:
        return self.location == "local" and self.persistent

    @property
    def is_local(self) -> bool:
        return self.location == "local" and not self.persistent

    @property
    def pool(self) -> Pool:
        """The pool of the buffer when it does not alias another one."""
        if self.is_shared:
            return "shared"
        return "persistent" if self.persistent else "local"

    @property
    def itemsize(self) -> int:
        return np.dtype(self.precision).itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def align(self) -> int:
        """Bytes that the address must be a multiple of."""
        return max(self.itemsize, self.alignment or 1)

    def build_allocator(
        self,
        shared_slice: slice | None,
        persistent_slice: slice | None,
        local_size: int | None,
        zero: bool = False,
    ) -> Callable[..., Any]:
        """A device function ``allocate_buffer(shared, persistent) -> array``, always inlined.

        The first of the three places that is given is used; slices are in elements of the pools.
        With `zero`, elements 0 to size - 1 are cleared at every call of the allocator.
        """
        return element_allocator(self, shared_slice, persistent_slice, local_size, zero)


def _require(field_name: str, value: object, kinds: type | tuple[type, ...]) -> None:
    if isinstance(value, kinds):
        return
    required = kinds if isinstance(kinds, tuple) else (kinds,)
    names = " or ".join(kind.__name__ for kind in required)
    raise TypeError(f"'{field_name}' must be {names}, not {type(value).__name__}: {value!r}")


def _scalar_type(precision: npt.DTypeLike) -> type[np.generic]:
    try:
        found = _PRECISIONS.get(np.dtype(precision))
    except TypeError:
        found = None
    if found is None:
        raise ValueError(
            "Buffer dtype must be one of float16, float32, float64, int32, or int64"
        ) from None
    return found


def _check_alignment(buffer: CUDABuffer) -> None:
    required = buffer.alignment
    if required is None:
        return
    _require("alignment", required, int)
    if required < 1 or required & (required - 1):
        raise ValueError(f"'alignment' must be a power of two: {required}")
    given = PERSISTENT_ALIGNMENT if buffer.persistent else buffer.itemsize
    if not buffer.is_shared and required > given:
        raise ValueError(
            f"Buffer '{buffer.name}' requires {required}-byte alignment; "
            f"its per-thread memory has {given}."
        )
