"""Replace aliases of buffers by reinterpretations of one allocation.

Aliases form classes: an allocation, its aliases, and aliases of those. A class gets one allocation
that is large enough for all, and every alias becomes a ``ttg.memdesc_reinterpret`` of it::

    %a = ttg.local_alloc : () -> A          %n = ttg.local_alloc : () -> B      B is the larger one
    %b = tlx.local_alias %a : A -> B    →   %a = ttg.memdesc_reinterpret %n : B -> A
                                            %b = ttg.memdesc_reinterpret %n : B -> B

The type with the largest span wins; among equals the allocation's own. In tensor memory rows count
as well as columns: where the widest view leaves rows free that another needs, plain columns of
full height are allocated. A row of bytes that is no power of two becomes several rows that are.
Allocations without aliases are left alone, whatever their extents.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import LocalAliasOp, PlacedAliasOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.interfaces import MemDescEncoding
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.memory import Memory, UnitError, finding
from tilewright.memory.targets import SMEM_BASE_ALIGNMENT, TMEM_COLUMN_BITS
from tilewright.passes.tlx.storage_alias.buffers import demand_of, memory_of, rows_of, span_bits
from tilewright.passes.tlx.storage_alias.carriers import reachable, views_of
from tilewright.passes.tlx.storage_alias.legacy import root_of
from tilewright.passes.tlx.storage_alias.materialise import reinterpreted, tensor_memory_type
from tilewright.passes.tlx.storage_alias.messages import GENERAL_CODE, code_of

_Allocation = LocalAllocOp | TMEMAllocOp


@dataclass
class _Class:
    """An allocation and everything that is a view of it."""

    allocation: _Allocation
    aliases: list[LocalAliasOp] = field(default_factory=list[LocalAliasOp])

    @property
    def demand(self) -> int:
        """What the views demand of the start: their own layouts, and those they are seen in."""
        seen = reachable(self.allocation.results[0], views_of)
        return max(demand_of(memdesc(value.type)) for value in seen)

    @property
    def types(self) -> list[MemDescType]:
        """All types, the allocation's first."""
        return [memdesc(op.results[0].type) for op in (self.allocation, *self.aliases)]


@dataclass(frozen=True)
class RewriteLocalAlias(Pass):
    """Leave one allocation and reinterpretations of it."""

    name = "tlx-rewrite-local-alias"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        placed = next((op for op in walk(module) if isinstance(op, PlacedAliasOp)), None)
        if placed is not None:
            diagnostic = engine.remark(placed, finding("R5").message, code_of("R5"))
            diagnostic.note(None, "for Triton, lower with placement=reindex")
        classes = _classes(module, engine)
        if classes is None:
            return
        rewriter = Rewriter()
        for each in classes:
            try:
                _rewrite(each, rewriter, engine)
            except UnitError as error:
                engine.error(each.allocation, str(error), GENERAL_CODE)


def _classes(module: ModuleOp, engine: DiagnosticEngine) -> list[_Class] | None:
    """All classes with aliases, or None where an alias belongs to no allocation."""
    found: dict[Operation, _Class] = {}
    failed = False
    for op in walk(module):
        if not isinstance(op, LocalAliasOp):
            continue
        owner = root_of(op).owner
        if isinstance(owner, _Allocation):
            found.setdefault(owner, _Class(owner)).aliases.append(op)
            continue
        failed = True
        diagnostic = engine.error(op, finding("E14").message, code_of("E14"))
        if isinstance(owner, Operation):
            diagnostic.note(owner, "the alias refers to this op")
        else:
            diagnostic.note(
                None, "the alias refers to a block argument; create it outside the region"
            )
    return None if failed else list(found.values())


def _rewrite(each: _Class, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    old = each.allocation
    source = old.results[0]
    required = _winner(each)
    if required != memdesc(source.type):
        if old.src is not None or len(old.results) > 1:
            _too_small(each, required, engine)
            return
        source = _allocate(each, required, rewriter)
    elif isinstance(old, LocalAllocOp) and old.alignment_bytes <= SMEM_BASE_ALIGNMENT:
        # An allocation with a pattern of its own keeps its alignment: upstream's tests pin that.
        _align(old, each.demand)
    # An alias of an alias is replaced first, so that nothing refers to what is gone.
    for alias in reversed(each.aliases):
        rewriter.replace_op(alias, reinterpreted(source, memdesc(alias.result.type)))
    if source is not old.results[0]:
        _retire(old, source, rewriter)


def _winner(each: _Class) -> MemDescType:
    """The type of the one allocation."""
    own, *views = each.types
    best = own
    for type in views:
        if span_bits(type) > span_bits(best):
            best = type
    if memory_of(own) is Memory.SMEM:
        return _representable(best)
    rows = max(rows_of(type) for type in each.types)
    if rows_of(best) == rows:
        return best
    layout = best.encoding
    bits = len(layout.cga) if isinstance(layout, MemDescEncoding) else 0
    return tensor_memory_type(rows, span_bits(best) // TMEM_COLUMN_BITS, bits)


def _representable(type: MemDescType) -> MemDescType:
    """`type`, or where it is a row of bytes of any length, rows of a length that types may have.

    Newer releases of Triton require powers of two in all dimensions that a layout describes.
    """
    extent = type.shape[0]
    width = extent & -extent
    if type.rank != 1 or type.layout_rank != 1 or width == extent:
        return type
    return type.with_shape((extent // width, width))


def _too_small(each: _Class, required: MemDescType, engine: DiagnosticEngine) -> None:
    """An allocation with contents, or a token, cannot be made anew."""
    own, *views = each.types
    needs = required
    if required not in views:
        # The type was made up: from the rows of one alias and the columns of another, or because
        # the bytes of an alias are no power of two.
        size = span_bits if memory_of(own) is Memory.SMEM else rows_of
        needs = max(views, key=size)
    held = span_bits(own)
    found = finding("E15", allocation=held, alias=span_bits(needs))
    alias = each.aliases[views.index(needs)]
    diagnostic = engine.error(alias, found.message, code_of("E15"))
    if memory_of(own) is Memory.TMEM and rows_of(needs) > rows_of(own):
        diagnostic.note(None, f"{rows_of(needs)} rows required, {rows_of(own)} allocated")
    diagnostic.note(each.allocation, "this allocation is initialised, so its type cannot change")


def _allocate(each: _Class, required: MemDescType, rewriter: Rewriter) -> SSAValue:
    """Allocate the widest type before the old allocation."""
    old = each.allocation
    if isinstance(old, LocalAllocOp):
        new: _Allocation = LocalAllocOp(required)
        _align(new, max(old.alignment_bytes, each.demand))
    else:
        new = TMEMAllocOp(required)
    new.attributes.update(old.attributes)
    rewriter.insert_before(old, new)
    return new.result


def _retire(old: _Allocation, source: SSAValue, rewriter: Rewriter) -> None:
    """Remaining uses of the old allocation get a view of the new one."""
    value = old.results[0]
    if value.first_use is None:
        source.name_hint = value.name_hint
        rewriter.erase(old)
        return
    rewriter.replace_op(old, reinterpreted(source, memdesc(value.type)))


def _align(op: LocalAllocOp, required: int) -> None:
    """Require `required` where the layout alone would not."""
    if op.alignment_bytes < required:
        op.properties["alignment"] = IntegerAttr(required, i32)
