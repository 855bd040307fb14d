"""Shared memory of a kernel, cut into slabs that have no byte in common.

Buffers that share bytes are in one slab. A slab is looked at in granules, as many bytes as the
narrowest access to one of its buffers has: tiles that are moved 16 bytes at a time need an eighth
of the work of tiles that are moved element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.types import MBarrierType
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.types import Space, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements

WIDEST = 16
"""Bytes of the widest access; engines take as many at a time."""
_STEP = 1024


@dataclass(frozen=True)
class BufferSpan:
    """Where a buffer lies in shared memory."""

    name: str
    first: int
    behind: int
    """The first byte behind it."""
    element_bytes: int
    storage: int
    """The same number for buffers whose author lets them share bytes."""


@dataclass
class SlabPlan:
    """Buffers that share bytes."""

    first: int
    behind: int
    granule: int = WIDEST
    places: list[BufferSpan] = field(default_factory=list[BufferSpan])

    def describe(self, first: int, behind: int, buffer: str) -> str:
        """Bytes of shared memory as elements of a buffer."""
        place = next((each for each in self.places if each.name == buffer), self.places[0])
        low = (first - place.first) // place.element_bytes
        high = (behind - 1 - place.first) // place.element_bytes
        return f"{place.name}[{low}]" if low == high else f"{place.name}[{low}] to [{high}]"


@dataclass(frozen=True)
class Arena:
    """All of it."""

    slabs: tuple[SlabPlan, ...]
    slab_of: Mapping[SSAValue, int]
    """By the allocation."""
    place_of: Mapping[SSAValue, BufferSpan]
    barriers: tuple[AllocOp, ...]
    """Rows of barriers."""


def is_shared(value: SSAValue) -> bool:
    """Whether a buffer lies in shared memory, and is no row of barriers."""
    space = space_of(value.type)
    return space is not None and space.is_shared and not is_barrier(value)


def is_barrier(value: SSAValue) -> bool:
    return space_of(value.type) is Space.BARRIER or isinstance(
        element_type_of(value.type), MBarrierType
    )


def bits_of_elements(value: SSAValue) -> int:
    """What an element takes in memory: a truth value has a byte of its own."""
    return max(8, bit_width(element_type_of(value.type)))


def plan_arena(function: Operation, accesses: Iterable[tuple[SSAValue, int]]) -> Arena:
    """The arena of a kernel; `accesses` are buffers and the bytes of one access to them."""
    allocs = [op for op in function.walk() if isinstance(op, AllocOp)]
    places = _places(function, [op for op in allocs if is_shared(op.result)])
    narrowest: dict[SSAValue, int] = {}
    for buffer, size in accesses:
        root = base_of(buffer)
        narrowest[root] = min(size, narrowest.get(root, WIDEST))
    slabs: list[SlabPlan] = []
    slab_of: dict[SSAValue, int] = {}
    for root in sorted(places, key=lambda each: places[each].first):
        place = places[root]
        if not slabs or place.first >= slabs[-1].behind:
            slabs.append(SlabPlan(place.first, place.behind))
        slab = slabs[-1]
        slab.behind = max(slab.behind, place.behind)
        slab.granule = min(slab.granule, narrowest.get(root, WIDEST))
        slab.places.append(place)
        slab_of[root] = len(slabs) - 1
    barriers = tuple(op for op in allocs if is_barrier(op.result))
    return Arena(tuple(slabs), slab_of, places, barriers)


def _places(function: Operation, allocs: list[AllocOp]) -> dict[SSAValue, BufferSpan]:
    """Buffers without an offset come one after another, behind all that have one."""
    top = function.attributes.get(nv_names.SHARED_BYTES)
    behind = top.value.data if isinstance(top, IntegerAttr) else 0
    found: dict[SSAValue, BufferSpan] = {}
    for op in allocs:
        bits = bits_of_elements(op.result)
        size = -(-num_elements(op.result.type) * bits // 8)
        first = op.offset_bytes
        if first is None:
            first = -(-behind // _STEP) * _STEP
            behind = first + size
        storage = op.attributes.get(nv_names.STORAGE)
        number = storage.value.data if isinstance(storage, IntegerAttr) else -1 - len(found)
        found[op.result] = BufferSpan(
            op.buffer_name, first, first + size, max(1, bits // 8), number
        )
    return found
