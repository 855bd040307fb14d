"""Ordinary allocations, which take space too.

Totals, suggestions and diagrams are about a module as a whole, so every allocation outside of specs
is planned as a region of one buffer. How it is cut into buffers only matters for the diagram: the
first dimension counts buffers where the layout leaves it out or an op indexes it
(``ttg.memdesc_index``); everything else is a single tile. The total is the same either way.

An alias of such an allocation (``tlx.local_alias``) overlaps it from its start, and where it is
larger the allocation grows with it: together they are a region without a tree.

An allocation of unknown size is not skipped silently: it is listed with the reason, and totals have
to report that something is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import LocalAliasOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.traversal import walk
from tilewright.memory import Buffer, Memory, StoragePlan, legacy_region, plan_region
from tilewright.memory.units import element_bytes, smem_alignment
from tilewright.passes.tlx.storage_alias.bounds import indices_of
from tilewright.passes.tlx.storage_alias.buffers import (
    bits_of,
    buffer_of,
    memory_of,
    smem_layout,
    span_bits,
)
from tilewright.passes.tlx.storage_alias.collect import Names, source_of
from tilewright.passes.tlx.storage_alias.legacy import root_of
from tilewright.passes.tlx.storage_alias.record import PLACEMENT

AllocationOp = LocalAllocOp | TMEMAllocOp

_BYTE = 8


@dataclass(frozen=True)
class Unsized:
    """An allocation of unknown size."""

    op: AllocationOp
    reason: str

    @property
    def memory(self) -> Memory:
        return memory_of(memdesc(self.op.result.type))


@dataclass(frozen=True)
class PlainAllocations:
    """Plans by op, in the order of the module, and what could not be planned."""

    plans: Mapping[Operation, StoragePlan]
    unsized: tuple[Unsized, ...] = ()


def names_in(plans: Iterable[StoragePlan]) -> frozenset[str]:
    """The names that regions and buffers of `plans` have."""
    regions = [plan.region for plan in plans]
    buffers = [buffer.name for region in regions for buffer in region.buffers]
    return frozenset([*buffers, *(region.name for region in regions)])


def plain_allocations(
    module: ModuleOp, taken: Iterable[str] = (), known: Iterable[Operation] = ()
) -> PlainAllocations:
    """The allocations of `module` but those in `known`, under names that are not in `taken`."""
    names, skipped = Names(taken), frozenset(known)
    plans: dict[Operation, StoragePlan] = {}
    unsized: list[Unsized] = []
    for op, aliases in _classes(module).items():
        if op in skipped:
            continue
        try:
            owner = _buffer(op, names.of(op.result, "allocation"))
            newcomers = [
                _cut(alias.result, names.of(alias.result, "alias"), source_of(alias))
                for alias in aliases
            ]
        except ValueError as error:
            unsized.append(Unsized(op, str(error)))
            continue
        plans[op] = plan_region(legacy_region(owner, *newcomers)).unwrap()
    return PlainAllocations(plans, tuple(unsized))


def _classes(module: ModuleOp) -> dict[AllocationOp, list[LocalAliasOp]]:
    """Allocations in module order, with their aliases that no lowering has made."""
    ops = list(walk(module))
    found: dict[AllocationOp, list[LocalAliasOp]] = {
        op: [] for op in ops if isinstance(op, AllocationOp)
    }
    for op in ops:
        if isinstance(op, LocalAliasOp) and PLACEMENT not in op.attributes:
            owner = root_of(op).owner
            if isinstance(owner, AllocationOp):
                found[owner].append(op)
    return found


def _buffer(op: AllocationOp, name: str) -> Buffer:
    """What `op` allocates. Raises ValueError where no size is known."""
    buffer = _cut(op.result, name, source_of(op))
    if not isinstance(op, LocalAllocOp):
        return buffer
    return replace(buffer, alignment=max(buffer.alignment, op.alignment_bytes))


def _cut(value: SSAValue, name: str, source: str) -> Buffer:
    """The buffers that `value` is cut into."""
    type = memdesc(value.type)
    if memory_of(type) is Memory.TMEM:
        return buffer_of(name, type, source)
    try:
        # Padding may keep buffers from being equally far apart; together they have a size.
        return buffer_of(name, type, source) if _is_array(value) else _tile(type, name, source)
    except ValueError:
        return _tile(type, name, source)


def _tile(type: MemDescType, name: str, source: str) -> Buffer:
    """A whole shared-memory allocation as one buffer."""
    size = span_bits(type) // _BYTE
    return Buffer(
        name,
        Memory.SMEM,
        count=1,
        unit=size,
        element_bytes=element_bytes(bits_of(type)),
        alignment=smem_alignment(size, smem_layout(type)),
        is_indexed=False,
        source=source,
    )


def _is_array(value: SSAValue) -> bool:
    """Whether the first dimension of an allocation counts buffers."""
    return memdesc(value.type).is_pipelined or any(indices_of(value))
