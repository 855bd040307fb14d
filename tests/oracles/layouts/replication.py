"""Replicas of a fragment: making them from a reduced dimension, and leaving out those that repeat.

When a dimension is reduced, the threads that owned its elements all end up with the result, so the
coordinate that vanishes becomes a replica index. Many of these name the same thread twice (two
parts may have been in two registers of one thread); *condensing* leaves one of each. The remaining
ones are expressed as a function again, in mixed radix, so that a code generator can still use it::

    replicas 0 1 2 3 4 5 6 7 with threads t t u u t t u u   ->   replicas 0 2, step 2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import Function, coordinates_of

Whole = Callable[[Sequence[Any], Any], tuple[Any, ...]]
"""Puts the coordinate that was reduced back among the others."""


def condense_replicas(fragment: Fragment) -> Fragment:
    """The same fragment without replicas that name the threads of earlier ones."""
    if fragment.replicas == 1:
        return fragment
    columns = list(zip(*fragment.threads, strict=True))
    retained: list[int] = []
    seen: set[tuple[int, ...]] = set()
    for replica, column in enumerate(columns):
        if column not in seen:
            seen.add(column)
            retained.append(replica)
    if len(retained) == fragment.replicas:
        return fragment
    if len(retained) == 1:
        return Fragment(
            fragment.shape, lambda *index: fragment.thread_of(*index, replica=0), fragment.index
        )
    radices = mixed_radix(retained)

    def chosen(replica_index: Any) -> Any:
        return (
            counted(replica_index, radices) if radices is not None else retained[int(replica_index)]
        )

    def thread(*index: Any) -> Any:
        *point, replica = index
        return fragment.thread_of(*point, replica=chosen(replica))

    return Fragment(fragment.shape, thread, fragment.index, len(retained))


def reduce_dimension(fragment: Fragment, axis: int) -> Fragment:
    """Where the results of a reduction along `axis` live: in every thread that held a part.

    A thread keeps one register for each element of the rest. If that cannot be (the threads that
    held parts of one element do not form the same pattern for all), the error names an element.
    """
    size = fragment.shape[axis]
    rest = (*fragment.shape[:axis], *fragment.shape[axis + 1 :]) or (1,)
    flat = len(fragment.shape) == 1
    replicas = fragment.replicas

    def whole(point: Sequence[Any], part: Any) -> tuple[Any, ...]:
        return (part,) if flat else (*point[:axis], part, *point[axis:])

    def thread(*index: Any) -> Any:
        *point, replica_index = index
        part, replica = replica_index // replicas, replica_index % replicas
        return fragment.thread_of(*whole(point, part), replica=replica)

    registers = _fewest_registers(fragment, rest, whole)
    if size * replicas == 1:
        reduced = Fragment(rest, lambda *index: thread(*index, 0), registers)
    else:
        reduced = Fragment(rest, thread, registers, size * replicas)
    if not reduced.is_injective():
        raise ValueError("two results of the reduction map to the same register")
    return condense_replicas(reduced)


def _fewest_registers(fragment: Fragment, rest: Sequence[int], whole: Whole) -> Function:
    """The registers of part 0, numbered again without the gaps that the other parts left."""
    used = sorted({fragment.register_of(*whole(p, 0)) for p in _points(rest)})
    radices = mixed_radix(used) if len(used) > 1 else []
    if radices is None:
        return _looked_up(fragment, used, whole)

    def register(*point: Any) -> Any:
        old = fragment.register_of(*whole(point, 0))
        found: Any = 0
        scale = 1
        for count, step in radices:
            found = found + old // step % count * scale
            scale *= count
        return found

    return register


def _looked_up(fragment: Fragment, used: Sequence[int], whole: Whole) -> Function:
    renumbered = {register: index for index, register in enumerate(used)}

    def register(*point: Any) -> int:
        return renumbered[fragment.register_of(*whole(point, 0))]

    return register


def _points(shape: Sequence[int]) -> list[tuple[int, ...]]:
    count = 1
    for size in shape:
        count *= size
    return [coordinates_of(offset, shape) for offset in range(count)]


def mixed_radix(values: Sequence[int]) -> list[tuple[int, int]] | None:
    """Counts and steps, fastest first, that list these rising numbers; None if there are none.

    ``[0, 2, 4, 6, 16, 18, 20, 22]`` is ``[(4, 2), (2, 16)]``.
    """
    if not values or values[0] != 0:
        return None
    found: list[tuple[int, int]] = []
    width = 1
    while width < len(values):
        step = values[width]
        count = 1
        while width * count < len(values) and values[width * count] == step * count:
            count += 1
        if len(values) % (width * count):
            return None
        found.append((count, step))
        width *= count
    listed = [counted(index, found) for index in range(len(values))]
    return found if listed == list(values) else None


def counted(index: Any, radices: Sequence[tuple[int, int]]) -> Any:
    """The `index`-th of the numbers that `radices` lists."""
    value: Any = 0
    for count, step in radices:
        value = value + index % count * step
        index = index // count
    return value
