"""Step 3: one allocation for each region, and a view of it for each buffer.

::

    %s = tlx.storage_alias_spec storage = smem             %m = ttg.local_alloc : () -> 65536xi8
    %a = tlx.storage_alias_local_alloc %s -> 2x64x64xf32   %a = tlx.local_alias %m -> 3x64x64xf32
    %b = ttg.memdesc_index %a[%i]                          %b = ttg.memdesc_index %a[2 * %i]

Everything is checked before anything is changed: where arrays travel (``carriers``) and what may
not be done to them is determined before the first op is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i8, i32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import (
    LocalAliasOp,
    PlacedAliasOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
)
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.interfaces import MemDescEncoding
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.shared import PaddedSharedEncoding, SwizzledSharedEncoding
from tilewright.dialects.ttg.struct import Bases
from tilewright.dialects.ttg.types import SHARED_MEMORY, MemDescType
from tilewright.dialects.ttg.views import STORAGE_ALIAS_VIEW, MemDescReinterpretOp
from tilewright.dialects.ttng.attributes import TENSOR_MEMORY, TensorMemoryEncoding, unwrapped
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.memory import (
    Finding,
    IndexMap,
    Memory,
    Mode,
    Placement,
    StoragePlan,
    finding,
)
from tilewright.passes.tlx.storage_alias.carriers import Journey, Route, follow
from tilewright.passes.tlx.storage_alias.collect import Spec, SpecError
from tilewright.passes.tlx.storage_alias.indices import rewrite_index
from tilewright.passes.tlx.storage_alias.planning import Planned
from tilewright.passes.tlx.storage_alias.record import record_of, write_record

RESIDUE = "tlx.residue"
"""Where the base of an allocation sits modulo its alignment, if not at 0."""

_WRONG_RANK = "{kind} storage_alias_spec must have {expected}D shape, got {rank}D"


@dataclass(frozen=True)
class Lowering:
    """One region about to be made real."""

    spec: Spec
    plan: StoragePlan

    @property
    def placements(self) -> Iterator[tuple[StorageAliasLocalAllocOp, Placement]]:
        for placement in self.plan.placements:
            yield self.spec.allocations[placement.buffer.name], placement

    @property
    def outside(self) -> frozenset[str]:
        return frozenset(buffer.name for buffer in self.plan.outside)


def is_moved(lowering: Lowering, placement: Placement) -> bool:
    """Whether indices of this buffer no longer mean what the kernel wrote.

    With explicit placement buffers that no definition names are placed as well, over each other:
    as plain views of the region two of one type would be the same value, and a run that checks
    overwritten data could not distinguish them.
    """
    if lowering.plan.mode is Mode.EXPLICIT:
        return placement.buffer.name not in lowering.outside or len(lowering.spec.allocations) > 1
    return not placement.index_map.is_identity


def routes_of(lowerings: Sequence[Lowering]) -> dict[SSAValue, Route]:
    """The arrays that have to be followed, and what must agree where they join."""
    routes: dict[SSAValue, Route] = {}
    for lowering in lowerings:
        for allocation, placement in lowering.placements:
            if is_moved(lowering, placement):
                buffer = placement.buffer
                where = _where(lowering, placement)
                routes[allocation.result] = Route(
                    lowering.spec.op, where, buffer.unit, buffer.count
                )
    return routes


def _where(lowering: Lowering, placement: Placement) -> IndexMap | tuple[object, ...]:
    if lowering.plan.mode is Mode.REINDEX:
        return placement.index_map
    return (placement.offset, placement.radices, placement.strides)


def shape_problems(planned: Iterable[Planned]) -> Iterator[SpecError]:
    """Specs whose size is missing after step 1, or in another form."""
    for each in planned:
        op = each.spec.op
        if op.buffer_shape is None:
            yield SpecError(op, finding("E5").message, 3, "E5")
            continue
        shape, expected = integers(op.buffer_shape), 1 if op.storage_kind == "smem" else 2
        if len(shape) != expected:
            kind = op.storage_kind.upper()
            yield SpecError(
                op, _WRONG_RANK.format(kind=kind, expected=expected, rank=len(shape)), 3
            )
        elif each.plan is not None and shape != each.plan.backing.shape:
            needed = " x ".join(map(str, each.plan.backing.shape))
            found = " x ".join(map(str, shape))
            yield SpecError(op, f"buffer_shape is {found}, but the buffers need {needed}", 3)


def materialise(
    module: ModuleOp, lowerings: Sequence[Lowering], rewriter: Rewriter
) -> list[tuple[Operation, Finding]]:
    """Materialise all regions. Returns the obstacles."""
    journey = follow(routes_of(lowerings))
    if journey.problems:
        return journey.problems
    drop_overlaps(module, rewriter)
    backings = [_allocate(lowering, rewriter) for lowering in lowerings]
    for lowering, backing in zip(lowerings, backings, strict=True):
        for allocation, placement in lowering.placements:
            view = _view(lowering, placement, backing, memdesc(allocation.result.type))
            write_record(view, record_of(lowering.plan, placement))
            rewriter.replace_op(allocation, view)
    _apply(journey, rewriter)
    return drop_specs([lowering.spec for lowering in lowerings], rewriter)


def drop_overlaps(module: ModuleOp, rewriter: Rewriter) -> None:
    """Erase all overlap definitions, and the groups that are no longer used."""
    ops = list(walk(module))
    for op in ops:
        if isinstance(op, SetBufferOverlapOp):
            rewriter.erase(op)
    pending = [op for op in ops if isinstance(op, ReuseGroupOp)]
    while unused := [op for op in pending if not _is_used(op)]:
        for op in unused:
            rewriter.erase(op)
        pending = [op for op in pending if op not in unused]


def _is_used(op: ReuseGroupOp | StorageAliasSpecOp) -> bool:
    return op.result.first_use is not None


def drop_specs(specs: Sequence[Spec], rewriter: Rewriter) -> list[tuple[Operation, Finding]]:
    """Erase specs that are done with; one that something still uses is a finding."""
    findings: list[tuple[Operation, Finding]] = []
    for spec in specs:
        if _is_used(spec.op):
            findings.append((spec.op, finding("E8", spec.region.name)))
        else:
            rewriter.erase(spec.op)
    return findings


def _allocate(lowering: Lowering, rewriter: Rewriter) -> SSAValue:
    spec = lowering.spec.op
    shape = spec.buffer_shape
    assert shape is not None, "checked by shape_problems"
    cga = _cluster_bits(lowering)
    if lowering.plan.region.memory is Memory.SMEM:
        op = _shared_allocation(lowering, integers(shape)[0], cga)
    else:
        rows, columns = integers(shape)
        if lowering.plan.mode is Mode.EXPLICIT:
            # Rewriting aliases finds the rows that views need; views by address it leaves alone.
            rows = max(rows, lowering.plan.backing.rows_needed)
        op = TMEMAllocOp(tensor_memory_type(rows, columns, cga))
    op.result.name_hint = spec.result.name_hint
    rewriter.insert_before(spec, op)
    return op.result


def _cluster_bits(lowering: Lowering) -> int:
    """How many bits number the CTAs that hold the buffers, one region each."""
    bits = 0
    for allocation, _ in lowering.placements:
        layout = memdesc(allocation.result.type).encoding
        if isinstance(layout, MemDescEncoding):
            bits = max(bits, len(layout.cga))
    return bits


def _shared_allocation(lowering: Lowering, size: int, cluster_bits: int) -> LocalAllocOp:
    op = LocalAllocOp(shared_memory_type(size, cluster_bits))
    backing = lowering.plan.backing
    if backing.alignment_attribute is not None:
        op.properties["alignment"] = IntegerAttr(backing.alignment_attribute, i32)
    if backing.residue:
        op.attributes[RESIDUE] = IntegerAttr(backing.residue, i32)
    return op


def residue_of(op: LocalAllocOp) -> int:
    """Where the base of an allocation sits modulo its alignment."""
    residue = op.attributes.get(RESIDUE)
    return residue.value.data if isinstance(residue, IntegerAttr) else 0


def shared_memory_type(size: int, cluster_bits: int = 0) -> MemDescType:
    """`size` plain bytes."""
    layout = SwizzledSharedEncoding(
        vec=1, per_phase=1, max_phase=1, order=(0,), cga_layout=_copies(1, cluster_bits)
    )
    return MemDescType((size,), i8, layout, SHARED_MEMORY, mutable=True)


def tensor_memory_type(rows: int, columns: int, cluster_bits: int = 0) -> MemDescType:
    """`columns` whole columns; a width that no type may have becomes several tiles."""
    width = columns & -columns
    cga = _copies(2, cluster_bits)
    layout = TensorMemoryEncoding(block_m=rows, block_n=width, col_stride=1, cga_layout=cga)
    tile = (rows, width)
    shape = tile if width == columns else (columns // width, *tile)
    return MemDescType(shape, i32, layout, TENSOR_MEMORY, mutable=True)


def _copies(rank: int, bits: int) -> Bases:
    """Every CTA has all of it."""
    return ((0,) * rank,) * bits


def _view(
    lowering: Lowering, placement: Placement, backing: SSAValue, type: MemDescType
) -> Operation:
    if not is_moved(lowering, placement):
        return LocalAliasOp(backing, type)
    if lowering.plan.mode is Mode.EXPLICIT:
        where = (placement.offset, placement.radices, placement.strides)
        return PlacedAliasOp(backing, type, *where)
    return LocalAliasOp(backing, expanded(type, placement.slot_count))


def reinterpreted(source: SSAValue, type: MemDescType) -> MemDescReinterpretOp:
    """The same bytes as `type`."""
    view = MemDescReinterpretOp(source, type)
    layouts = (memdesc(source.type).encoding, type.encoding)
    if any(isinstance(unwrapped(layout), PaddedSharedEncoding) for layout in layouts):
        view.attributes[STORAGE_ALIAS_VIEW] = UnitAttr()
    return view


def expanded(type: MemDescType, count: int) -> MemDescType:
    """An array of `count` buffers of the same kind."""
    return type.with_shape((count, *type.shape[1:]))


def _apply(journey: Journey, rewriter: Rewriter) -> None:
    """New types along the way, new indices at its ends."""
    for value, route in list(journey.routes.items()):
        if not isinstance(route.placement, IndexMap) and isinstance(value.owner, LocalAliasOp):
            # An alias starts at the start of its allocation; this is a view of what was placed.
            alias = value.owner
            rewriter.replace_op(alias, reinterpreted(alias.src, memdesc(value.type)))
        # The allocations themselves are gone; indices of placed buffers stay as they are.
        if isinstance(route.placement, IndexMap) and not _is_gone(value):
            count = route.placement(route.count - 1) + 1
            rewriter.retype(value, expanded(memdesc(value.type), count))
    for op, route in journey.indices.items():
        if isinstance(route.placement, IndexMap):
            rewriter.insert_before(op, rewrite_index(op, route.placement))
            rewriter.modified(op)


def _is_gone(value: SSAValue) -> bool:
    return isinstance(value.owner, StorageAliasLocalAllocOp)
