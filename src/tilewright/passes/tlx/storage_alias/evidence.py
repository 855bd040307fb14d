"""A lowered module as input of ``memory.checker``.

Nothing of the planner is used here. The guarantees come from the records on the views; addresses
come from the records *and* from the ops of the module, and the two have to agree:

* a view steps by the size of its own tile, so its recorded offset and strides must be multiples of
  it, and its first dimension must reach exactly to the last buffer;
* every index of such a view must be the arithmetic that the record requires;
* a view by address (``tlx.placed_alias``) has its addresses itself, and its first dimension is
  the number of buffers;
* wherever the array travels its type stays the same.

What remains is enumerated buffer by buffer and given to the checker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import LocalAliasOp, PlacedAliasOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.traversal import walk
from tilewright.memory import Buffer, IndexMap, Level, Memory, ReuseKind
from tilewright.memory.checker import Backing, Case, Claim, Guarantee, Pair, Span, Window, check
from tilewright.memory.targets import (
    TMEM_ALLOCATION_GRANULE,
    TMEM_COLUMN_BITS,
    Target,
)
from tilewright.passes.tlx.storage_alias.buffers import memory_of, rows_of, span_bits
from tilewright.passes.tlx.storage_alias.carriers import Route, array_of, follow
from tilewright.passes.tlx.storage_alias.indices import IndexResult, judge
from tilewright.passes.tlx.storage_alias.materialise import residue_of
from tilewright.passes.tlx.storage_alias.record import (
    Record,
    RecordError,
    guarantee_of,
    read_record,
)

ViewOp = LocalAliasOp | PlacedAliasOp

_BYTE = 8
_GUARANTEES = {ReuseKind.DISTINCT: Guarantee.DISTINCT, ReuseKind.SHARED: Guarantee.SHARED}


@dataclass(frozen=True)
class LoweringFinding:
    """A violated guarantee in a lowered module; `other` is the second op involved."""

    op: Operation
    message: str
    other: Operation | None = None


@dataclass(frozen=True)
class Verification:
    """What a look at a lowered module came to."""

    faults: tuple[LoweringFinding, ...]
    regions: int
    views: int
    unknown: tuple[Operation, ...] = ()
    """Index ops whose arithmetic is no longer in the form it was written in."""


@dataclass(frozen=True)
class _View:
    op: ViewOp
    record: Record
    buffer: Buffer
    """The buffer of the view's type, with the requirements of views of it."""

    @property
    def unit(self) -> int:
        return self.buffer.unit

    @property
    def addresses(self) -> tuple[object, ...]:
        return (self.record.offset, self.record.levels)

    @property
    def index_map(self) -> IndexMap:
        """The record in slots. Raises RecordError where it is not expressible in slots."""
        record, unit = self.record, self.unit
        # Of a single buffer only the offset matters.
        levels = record.levels if record.count > 1 else ()
        for distance in (record.offset, *(stride for _, stride in levels)):
            if distance % unit:
                raise RecordError(
                    f"offset or stride {distance} of '{record.buffer}' is not a multiple of {unit}"
                )
        digits = tuple(Level(radix, stride // unit) for radix, stride in levels)
        return IndexMap(record.offset // unit, digits)


def verify_module(module: ModuleOp, target: Target | None = None) -> Verification:
    """Check every recorded view of `module`."""
    look = _Look()
    for op in walk(module):
        if isinstance(op, ViewOp):
            look.read(op)
    look.follow()
    look.miss_records()
    for backing, views in look.regions.items():
        look.faults += _check_region(backing, views, target)
    count = sum(map(len, look.regions.values()))
    return Verification(tuple(look.faults), len(look.regions), count, tuple(look.unknown))


class _Look:
    """Goes over the views of a module and compares each with its record."""

    def __init__(self) -> None:
        self.faults: list[LoweringFinding] = []
        self.unknown: list[Operation] = []
        self.bare: list[ViewOp] = []
        self.regions: dict[SSAValue, list[_View]] = {}
        self.moved: dict[Route, _View] = {}
        self.starts: dict[SSAValue, Route] = {}

    def read(self, op: ViewOp) -> None:
        """Take note of a view; one whose numbers make no sense is a fault and left out."""
        try:
            record = read_record(op)
            if record is None:
                self.bare.append(op)
                return
            view = _View(op, record, array_of(record.buffer, op.result))
            where = view.addresses if isinstance(op, PlacedAliasOp) else view.index_map
        except ValueError as error:
            self.faults.append(LoweringFinding(op, str(error)))
            return
        extent, required = view.buffer.count, record.count
        if isinstance(where, IndexMap):
            required = where(record.count - 1) + 1
        if extent != required:
            # Not looked at any further: a count that is made up may be too large to go through.
            text = f"'{record.buffer}' has {extent} slots, its placement requires {required}"
            self.faults.append(LoweringFinding(op, text))
            return
        self.regions.setdefault(op.src, []).append(view)
        if not isinstance(where, IndexMap) or not where.is_identity:
            route = Route(op.src, where, view.unit, extent)
            self.starts[op.result] = route
            self.moved.setdefault(route, view)

    def follow(self) -> None:
        """Look at every value that carries a moved array, and at every index of one."""
        journey = follow(self.starts)
        self.faults += [LoweringFinding(op, found.message) for op, found in journey.problems]
        for value, route in journey.routes.items():
            extent, view = memdesc(value.type).shape[0], self.moved[route]
            if isinstance(route.placement, IndexMap) and extent != route.count:
                text = f"'{view.record.buffer}' has {route.count} slots, but {extent} here"
                self.faults.append(LoweringFinding(_op_of(value), text, view.op))
        for op, route in journey.indices.items():
            if isinstance(route.placement, IndexMap):
                self._judge(op, route.placement, self.moved[route])

    def miss_records(self) -> None:
        """A view among recorded ones that has no record itself may have any address."""
        for op in self.bare:
            if op.src in self.regions:
                other = self.regions[op.src][0].op
                text = "view without a placement record, unlike others of its allocation"
                self.faults.append(LoweringFinding(op, text, other))

    def _judge(self, op: MemDescIndexOp, map: IndexMap, view: _View) -> None:
        verdict = judge(op, map, view.record.count)
        if verdict is IndexResult.UNKNOWN:
            self.unknown.append(op)
        elif verdict is IndexResult.WRONG:
            text = f"index of '{view.record.buffer}' is not {map}, as its placement requires"
            self.faults.append(LoweringFinding(op, text, view.op))


def _op_of(value: SSAValue) -> Operation:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    parent = owner.parent_op()
    assert parent is not None, "a block in a module is in an op"
    return parent


# -- one region ----------------------------------------------------------------------------------


def _check_region(
    backing: SSAValue, views: list[_View], target: Target | None
) -> Iterator[LoweringFinding]:
    storage = _storage(backing, views, target)
    if storage is None:
        yield LoweringFinding(views[0].op, "a placed view must be of an allocation")
        return
    names = {view.record.buffer: view for view in views}
    if len(names) != len(views):
        yield LoweringFinding(views[0].op, "two views of one allocation have the same buffer name")
        return
    try:
        pairs = tuple(_pairs(views))
    except RecordError as error:
        yield LoweringFinding(views[0].op, str(error))
        return
    yield from _uneven_windows(views)
    yield from _missing_rows(backing, views)
    case = Case(storage, tuple(_claim(view) for view in views), pairs)
    for violation in check(case):
        first, second = names.get(violation.first), names.get(violation.second or "")
        op = _op_of(backing) if first is None else first.op
        yield LoweringFinding(op, str(violation), None if second is None else second.op)


def _storage(backing: SSAValue, views: list[_View], target: Target | None) -> Backing | None:
    op = backing.owner
    type = memdesc(backing.type)
    memory = memory_of(type)
    unit_bits = TMEM_COLUMN_BITS if memory is Memory.TMEM else _BYTE
    bits = span_bits(type)
    if not any(view.record.ways for view in views):
        # Without a tree the size follows from shapes; rewriting aliases allocates the rest.
        bits = max(bits, *(span_bits(memdesc(view.op.result.type)) for view in views))
    extent = bits // unit_bits
    capacity = None if target is None else target.capacity(memory)
    if isinstance(op, TMEMAllocOp):
        granule = TMEM_ALLOCATION_GRANULE
        return Backing("tensor memory", extent, memory.unit_name, granule, 0, capacity)
    if not isinstance(op, LocalAllocOp):
        return None
    alignment, residue = op.alignment_bytes, residue_of(op)
    return Backing("shared memory", extent, memory.unit_name, alignment, residue, capacity)


def _claim(view: _View) -> Claim:
    record, buffer = view.record, view.buffer
    spans = tuple(Span(index, record.address(index), buffer.unit) for index in range(record.count))
    if not record.ways:
        return Claim(record.buffer, spans, buffer.packed_alignment)
    window = Window(record.window, record.per_window)
    return Claim(record.buffer, spans, buffer.alignment, window=window)


def _pairs(views: list[_View]) -> Iterator[Pair]:
    for one, two in combinations([view.record for view in views], 2):
        common = [
            each for a in one.ways for b in two.ways if (each := guarantee_of(a, b)) is not None
        ]
        for each in common:
            guarantee = _GUARANTEES[each.kind]
            yield Pair(one.buffer, two.buffer, guarantee, each.first_per, each.second_per)
        if not common:
            # Outside of trees the user is responsible; phases are disjoint in time.
            yield Pair(one.buffer, two.buffer, Guarantee.FREE)


def _missing_rows(backing: SSAValue, views: list[_View]) -> Iterator[LoweringFinding]:
    """Rows of tensor memory, for views by address; of others, rewriting aliases sees to them."""
    type = memdesc(backing.type)
    if memory_of(type) is not Memory.TMEM:
        return
    rows = rows_of(type)
    for view in views:
        needed = rows_of(memdesc(view.op.result.type))
        if isinstance(view.op, PlacedAliasOp) and needed > rows:
            text = f"'{view.record.buffer}' needs {needed} rows, its allocation has {rows}"
            yield LoweringFinding(view.op, text, _op_of(backing))


def _uneven_windows(views: list[_View]) -> Iterator[LoweringFinding]:
    """All buffers of a tree repeat with it; a buffer of several trees keeps to its first."""
    windows: dict[str, _View] = {}
    for view in views:
        if len(view.record.ways) != 1:
            continue
        first = windows.setdefault(view.record.ways[0].phase, view)
        if first.record.window != view.record.window:
            text = (
                f"'{view.record.buffer}' repeats every {view.record.window}, "
                f"'{first.record.buffer}' of the same tree every {first.record.window}"
            )
            yield LoweringFinding(view.op, text, first.op)
