"""Shared memory of a kernel, divided into disjoint shadow regions.

Overlapping buffers are in one region. A region consists of shadow cells, each as many bytes as the
narrowest access to one of its buffers: tiles that are moved 16 bytes at a time need an eighth of
the work of tiles that are moved element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.mbarrier import MBarrierType
from tilewright.dialects.tile.types import Space, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.ir.traversal import walk

WIDEST = 16
"""Bytes of the widest access, and of each access by an asynchronous unit."""
_STEP = 1024


@dataclass(frozen=True)
class BufferSpan:
    """The bytes of a buffer in shared memory."""

    name: str
    first: int
    end: int
    """The first byte past its end."""
    element_bytes: int
    storage: int
    """The same id for buffers that the user lets overlap."""


@dataclass
class ShadowPlan:
    """Overlapping buffers."""

    first: int
    end: int
    cell_bytes: int = WIDEST
    spans: list[BufferSpan] = field(default_factory=list[BufferSpan])

    def describe(self, first: int, end: int, buffer: str) -> str:
        """Bytes of shared memory as elements of a buffer."""
        span = next((each for each in self.spans if each.name == buffer), self.spans[0])
        low = (first - span.first) // span.element_bytes
        high = (end - 1 - span.first) // span.element_bytes
        return f"{span.name}[{low}]" if low == high else f"{span.name}[{low}] to [{high}]"


@dataclass(frozen=True)
class Arena:
    """All of shared memory."""

    regions: tuple[ShadowPlan, ...]
    region_of: Mapping[SSAValue, int]
    """By the allocation."""
    span_of: Mapping[SSAValue, BufferSpan]
    barriers: tuple[AllocOp, ...]
    """Arrays of barriers."""


def is_shared(value: SSAValue) -> bool:
    """Whether a buffer is in shared memory, and is not an array of barriers."""
    space = space_of(value.type)
    return space is not None and space.is_shared and not is_barrier(value)


def is_barrier(value: SSAValue) -> bool:
    return space_of(value.type) is Space.BARRIER or isinstance(
        element_type_of(value.type), MBarrierType
    )


def bits_of_elements(value: SSAValue) -> int:
    """The size of an element in memory: a boolean has a byte of its own."""
    return max(8, bit_width(element_type_of(value.type)))


def plan_arena(function: Operation, accesses: Iterable[tuple[SSAValue, int]]) -> Arena:
    """The arena of a kernel; `accesses` are buffers and the bytes of one access to them."""
    allocs = [op for op in walk(function) if isinstance(op, AllocOp)]
    spans = _spans(function, [op for op in allocs if is_shared(op.result)])
    narrowest: dict[SSAValue, int] = {}
    for buffer, size in accesses:
        root = base_of(buffer)
        narrowest[root] = min(size, narrowest.get(root, WIDEST))
    regions: list[ShadowPlan] = []
    region_of: dict[SSAValue, int] = {}
    for root in sorted(spans, key=lambda each: spans[each].first):
        span = spans[root]
        if not regions or span.first >= regions[-1].end:
            regions.append(ShadowPlan(span.first, span.end))
        region = regions[-1]
        region.end = max(region.end, span.end)
        region.cell_bytes = min(region.cell_bytes, narrowest.get(root, WIDEST))
        region.spans.append(span)
        region_of[root] = len(regions) - 1
    barriers = tuple(op for op in allocs if is_barrier(op.result))
    return Arena(tuple(regions), region_of, spans, barriers)


def _spans(function: Operation, allocs: list[AllocOp]) -> dict[SSAValue, BufferSpan]:
    """Buffers without an offset are contiguous, after all that have one."""
    top = function.attributes.get(simt_names.SHARED_BYTES)
    end = top.value.data if isinstance(top, IntegerAttr) else 0
    found: dict[SSAValue, BufferSpan] = {}
    for op in allocs:
        bits = bits_of_elements(op.result)
        size = -(-num_elements(op.result.type) * bits // 8)
        first = op.offset_bytes
        if first is None:
            first = -(-end // _STEP) * _STEP
            end = first + size
        storage = op.attributes.get(simt_names.STORAGE)
        storage_id = storage.value.data if isinstance(storage, IntegerAttr) else -1 - len(found)
        found[op.result] = BufferSpan(
            op.buffer_name, first, first + size, max(1, bits // 8), storage_id
        )
    return found
