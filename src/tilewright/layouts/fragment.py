"""``Fragment``: which thread owns an element, and in which of its registers.

    Fragment((8, 8), thread=lambda i, j: 4 * i + j // 2, index=lambda i, j: j % 2)

An element may have `replicas` owners; `thread` then takes the index of the replica as a last
argument. As with `Layout`, the functions work on numbers, arrays and expressions, sizes need not be
powers of two, and every question is decided by going through the elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from tilewright.layouts.grid import tabulate
from tilewright.layouts.index_map import Function, check_extents, listed, row_major

Owner = tuple[int, int]
"""A thread and one of its registers."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """Threads and registers of the elements of a tile."""

    shape: tuple[int, ...]
    thread: Function = field(repr=False)
    """The thread of an element; takes the replica too if there are several."""
    index: Function = field(repr=False)
    """The register of an element in its threads, with one or more coordinates."""
    replicas: int = 1

    def __post_init__(self) -> None:
        check_extents(self.shape)
        if self.replicas < 1:
            raise ValueError(f"replicas is {self.replicas}, expected at least 1")

    @classmethod
    def replicated(cls, shape: Sequence[int], num_threads: int) -> Fragment:
        """Every thread holds every element."""
        sizes = tuple(shape)
        if num_threads == 1:
            return cls(sizes, lambda *_: 0, lambda *index: row_major(index, sizes))
        return cls(sizes, lambda *i: i[-1], lambda *index: row_major(index, sizes), num_threads)

    # --- looking ----------------------------------------------------------------------------

    def thread_of(self, *index: Any, replica: Any = 0) -> Any:
        """The thread that holds a replica of an element."""
        self._check(index)
        return self.thread(*index, replica) if self.replicas > 1 else self.thread(*index)

    def index_of(self, *index: Any) -> tuple[Any, ...]:
        """The coordinates of an element among its threads' registers."""
        self._check(index)
        return listed(self.index(*index))

    def register_of(self, *index: Any) -> Any:
        """The number of the register, the coordinates of the index joined row by row."""
        return row_major(self.index_of(*index), self.index_shape)

    def _check(self, index: Sequence[Any]) -> None:
        if len(index) != len(self.shape):
            raise ValueError(f"this fragment takes {len(self.shape)} coordinates, got {len(index)}")

    def points(self) -> Iterator[tuple[int, ...]]:
        """All elements, the last coordinate fastest."""
        return product(*map(range, self.shape))

    @property
    def size(self) -> int:
        return prod(self.shape)

    @cached_property
    def threads(self) -> tuple[tuple[int, ...], ...]:
        """For every element, in the order of `points`, its threads in the order of replicas."""
        shape = (*self.shape, self.replicas)
        (flat,) = tabulate(lambda *i: (self.thread_of(*i[:-1], replica=i[-1]),), shape)
        columns = [flat[first :: self.replicas] for first in range(self.replicas)]
        return tuple(zip(*columns, strict=True))

    @cached_property
    def index_shape(self) -> tuple[int, ...]:
        return tuple(1 + max(axis) for axis in tabulate(self.index_of, self.shape))

    @cached_property
    def registers(self) -> tuple[int, ...]:
        """For every element, in the order of `points`, its register."""
        (found,) = tabulate(lambda *index: (self.register_of(*index),), self.shape)
        return tuple(found)

    @cached_property
    def num_threads(self) -> int:
        """One more than the highest thread that holds anything."""
        return 1 + max(max(threads) for threads in self.threads)

    @property
    def num_registers(self) -> int:
        """How many registers each thread needs."""
        return prod(self.index_shape)

    def owners(self, *index: int) -> tuple[Owner, ...]:
        """All threads that hold an element, with their register."""
        register = self.register_of(*index)
        return tuple(
            (self.thread_of(*index, replica=replica), register) for replica in range(self.replicas)
        )

    @cached_property
    def contents(self) -> dict[Owner, tuple[int, ...]]:
        """The element in each register of each thread; two in one register are an error."""
        found: dict[Owner, tuple[int, ...]] = {}
        for point, threads, register in zip(
            self.points(), self.threads, self.registers, strict=True
        ):
            for thread in set(threads):
                if (thread, register) in found:
                    other = found[thread, register]
                    raise ValueError(
                        f"elements {other} and {point} both map to register {register} of thread "
                        f"{thread}"
                    )
                found[thread, register] = point
        return found

    def inverse(self, thread: int, register: int) -> tuple[int, ...] | None:
        """The element that a thread holds in a register; None if it holds none there."""
        return self.contents.get((thread, register))

    def is_injective(self) -> bool:
        """Whether no two elements share a register of a thread."""
        if self.replicas == 1:
            return len(set(zip(self.threads, self.registers, strict=True))) == self.size
        pairs = {
            (thread, register)
            for threads, register in zip(self.threads, self.registers, strict=True)
            for thread in threads
        }
        return len(pairs) == sum(len(set(threads)) for threads in self.threads)

    def is_complete(self) -> bool:
        """Whether every register of every thread up to the last holds an element."""
        return len(self.contents) == self.num_threads * self.num_registers

    def __eq__(self, other: object) -> bool:
        """Whether every element has the same threads and the same register."""
        if not isinstance(other, Fragment):
            return NotImplemented
        if self.shape != other.shape or self.registers != other.registers:
            return False
        if self.threads == other.threads:
            return True
        return all(set(a) == set(b) for a, b in zip(self.threads, other.threads, strict=True))

    def __hash__(self) -> int:
        return hash((self.shape, self.registers, tuple(map(frozenset, self.threads))))

    def contains(self, other: Fragment, same_registers: bool = True) -> bool:
        """Whether each thread that `other` gives an element already holds it here."""
        return self.first_missing(other, same_registers) is None

    def first_missing(self, other: Fragment, same_registers: bool = True) -> tuple[int, ...] | None:
        """An element that a thread of `other` does not hold here, or not in the same register."""
        if self.shape != other.shape:
            raise ValueError(f"{list(self.shape)} and {list(other.shape)} are different tiles")
        for point, own, required, a, b in zip(
            self.points(), self.threads, other.threads, self.registers, other.registers, strict=True
        ):
            if (same_registers and a != b) or not set(required) <= set(own):
                return point
        return None

    # --- new fragments from old ones --------------------------------------------------------

    def repeat(
        self,
        factors: Sequence[int],
        on_threads: bool = False,
        last_dim_first: bool = True,
    ) -> Fragment:
        """The tile repeated; copies go to further registers, or to further threads.

        Copies are numbered along the last dimension first, or along the first one.
        """
        if len(factors) != len(self.shape):
            raise ValueError(f"{len(self.shape)} factors are needed, got {len(factors)}")
        sizes, times = self.shape, tuple(factors)
        step = self.num_threads if on_threads else self.num_registers
        order = range(len(sizes)) if last_dim_first else reversed(range(len(sizes)))
        axes = tuple(order)

        def inside(index: Sequence[Any]) -> list[Any]:
            return [i % size for i, size in zip(index, sizes, strict=False)]

        def copy(index: Sequence[Any]) -> Any:
            which = [index[axis] // sizes[axis] for axis in axes]
            return row_major(which, [times[axis] for axis in axes])

        def thread(*index: Any) -> Any:
            rank = len(sizes)
            found = self.thread(*inside(index[:rank]), *index[rank:])
            return found + step * copy(index) if on_threads else found

        def register(*index: Any) -> Any:
            found = self.register_of(*inside(index))
            return found if on_threads else found + step * copy(index)

        shape = tuple(size * factor for size, factor in zip(sizes, times, strict=True))
        return Fragment(shape, thread, register, self.replicas)

    def replicate(self, times: int) -> Fragment:
        """Every element also in as many further sets of threads."""
        if times == 1:
            return self
        step, replicas = self.num_threads, self.replicas

        def thread(*index: Any) -> Any:
            *point, replica = index
            return self.thread_of(*point, replica=replica % replicas) + step * (replica // replicas)

        return Fragment(self.shape, thread, self.index, replicas * times)

    def with_index(self, index: Function) -> Fragment:
        """The same threads with other registers."""
        return Fragment(self.shape, self.thread, index, self.replicas)

    def __str__(self) -> str:
        sizes = " x ".join(map(str, self.shape))
        copies = f", {self.replicas} replicas" if self.replicas > 1 else ""
        return f"Fragment({sizes} -> {self.num_threads} threads x {self.num_registers}{copies})"
