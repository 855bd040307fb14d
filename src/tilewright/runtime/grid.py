"""Grids, and the memory that pointers in memory refer to."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, cast

from tilewright.runtime.arrays import NumpyArray, host_array
from tilewright.runtime.launchable import Launchable

Grid: TypeAlias = int | Sequence[int] | Callable[[dict[str, Any]], Any]

MAX_GRID = (2**31 - 1, 2**16 - 1, 2**16 - 1)


def launch_grid(
    grid: Grid, arguments: Mapping[str, Any], kernel: Launchable
) -> tuple[int, int, int]:
    """How many programs run along each axis; a callable grid sees the arguments by name."""
    sizes: Any = grid(dict(arguments)) if callable(grid) else grid
    if hasattr(sizes, "__index__"):
        sizes = (sizes,)
    elif not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"the grid of {kernel.name} is {sizes!r}: expected a tuple of one to three "
            "integers, or a function of the arguments that returns one"
        )
    sizes = tuple(cast("Sequence[Any]", sizes))
    if not 1 <= len(sizes) <= 3:
        raise ValueError(
            f"the grid of {kernel.name} has {len(sizes)} axes, expected 1, 2 or 3: merge axes, "
            "and split program_id with // and %"
        )
    for axis, (size, limit) in enumerate(zip(sizes, MAX_GRID, strict=False)):
        if not hasattr(size, "__index__"):
            raise TypeError(
                f"axis {axis} of the grid of {kernel.name} is {size!r}, expected an integer: "
                "use cdiv(n, BLOCK) instead of n / BLOCK"
            )
        if not 0 <= int(size) <= limit:
            raise ValueError(
                f"axis {axis} of the grid of {kernel.name} is {size}, but GPUs allow 0 to {limit}"
            )
    x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
    return x, y, z


_reachable: ContextVar[tuple[NumpyArray, ...]] = ContextVar("reachable arrays", default=())


@contextmanager
def reachable(*arrays: Any) -> Generator[None]:
    """Let kernels inside the ``with`` follow addresses of `arrays` that they read from memory.

    A checked run has the extents of its array arguments. A kernel that loads pointers from
    memory reaches others, and those have to be named here.
    """
    before = _reachable.set(
        (*_reachable.get(), *(host_array(array).array for array in arrays)),
    )
    try:
        yield
    finally:
        _reachable.reset(before)


def reachable_arrays() -> tuple[NumpyArray, ...]:
    return _reachable.get()
