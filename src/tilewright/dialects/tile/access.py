"""Which part of which buffer an op accesses.

An ``AccessedRegion`` names an allocation or a kernel argument and, for each dimension, where the
part begins and how far it goes. Offsets and extents are numbers, values, or None for "not known:
anywhere". Views and regions are looked through, so two ops that access one buffer under different
names are seen to do so.

Tile ops declare their accesses by naming operands::

    class CopyOp(TileOp):
        READS = ("src",)
        WRITES = ("dst",)

From that follow the region interface (``reads``, ``writes``, ``is_async``) and the effects that
generic passes look at. ``interfaces`` extends the question to ops of any dialect.
"""

# pyright: reportIncompatibleMethodOverride=false
# xDSL declares `get_effects` of a trait as a class method.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal, TypeAlias

from typing_extensions import override
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Resource

from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.names import ALIASED
from tilewright.dialects.tile.types import PtrType, space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.effects import EffectsInOrder
from tilewright.ir.text.assembly import AsmOp

Unit: TypeAlias = Literal["threads", "thread", "tma", "tensor_core"]
"""What accesses memory: all threads of the block, a single one, or an asynchronous unit."""

Bound: TypeAlias = Mixed | None
"""A number, a value, or not known."""


class LooksThrough(ABC):
    """An op whose result is another name for (a part of) the memory of an operand."""

    @abstractmethod
    def viewed(self) -> SSAValue:
        """The operand whose memory it is."""

    @abstractmethod
    def part(self, unit: Unit) -> AccessedRegion:
        """What of that operand's allocation the result stands for."""

    def box(self, offsets: Sequence[Bound], extents: Sequence[Bound], unit: Unit) -> AccessedRegion:
        """What of that operand's allocation a part of the result stands for."""
        return somewhere(base_of(self.viewed()), unit)


@dataclass(frozen=True)
class AccessedRegion:
    """A box in an allocation."""

    base: SSAValue
    """The allocation or argument; never a view."""
    offsets: tuple[Bound, ...]
    extents: tuple[Bound, ...]
    unit: Unit = "threads"

    @property
    def space(self) -> Space | None:
        return space_of(self.base.type)

    @property
    def is_whole(self) -> bool:
        """Whether every element of the allocation belongs to the region, for all that is known."""
        if not self.offsets:
            return False  # a raw pointer: its range is unknown
        return all(
            offset == 0 and extent is not None and extent == size
            for offset, extent, size in zip(
                self.offsets, self.extents, shape_of(self.base.type), strict=True
            )
        )

    def may_overlap(self, other: AccessedRegion) -> bool:
        """Whether both may access the same byte; false only if that is impossible."""
        if self.base is not other.base:
            return may_share_bytes(self.base, other.base)
        own_spans = zip(self.offsets, self.extents, strict=True)
        other_spans = zip(other.offsets, other.extents, strict=True)
        return not any(map(_apart, own_spans, other_spans))

    def contains(self, other: AccessedRegion) -> bool:
        """Whether every element of `other` certainly belongs to this region."""
        if self.base is not other.base or not self.offsets:
            return False
        if self.is_whole:
            return True
        own_spans = zip(self.offsets, self.extents, strict=True)
        other_spans = zip(other.offsets, other.extents, strict=True)
        return all(map(_covers, own_spans, other_spans))

    def __str__(self) -> str:
        name = self.base.name_hint or "buffer"
        spans = zip(self.offsets, self.extents, strict=True)
        shown = (f"{_bound_text(offset)} +{_bound_text(extent)}" for offset, extent in spans)
        return f"%{name}[{', '.join(shown)}]"


Span: TypeAlias = tuple[Bound, Bound]


def _apart(own: Span, other: Span) -> bool:
    """Whether two intervals have nothing in common, as far as numbers show."""
    (start, length), (other_start, other_length) = own, other
    if isinstance(start, int) and isinstance(other_start, int):
        first, second = sorted(
            ((start, length), (other_start, other_length)), key=lambda span: span[0]
        )
        return isinstance(first[1], int) and first[0] + first[1] <= second[0]
    return False


def _covers(own: Span, other: Span) -> bool:
    (start, length), (other_start, other_length) = own, other
    if start is None or length is None or other_start is None or other_length is None:
        return False
    if not isinstance(length, int) or not isinstance(other_length, int):
        return start == other_start and length == other_length
    if isinstance(start, int) and isinstance(other_start, int):
        return start <= other_start and other_start + other_length <= start + length
    return start == other_start and other_length <= length


def _bound_text(bound: Bound) -> str:
    if bound is None:
        return "?"
    return str(bound) if isinstance(bound, int) else f"%{bound.name_hint or '_'}"


def may_share_bytes(one: SSAValue, other: SSAValue) -> bool:
    """Whether two allocations or arguments may overlap.

    Tensors that are arguments of a kernel are taken to be distinct, unless they are marked as
    `tile.aliased`; a raw pointer may point into any of them. Allocations are distinct, unless both
    are placed in the storage of one specification.
    """
    if one is other:
        return True
    if isinstance(one.type, PtrType) or isinstance(other.type, PtrType):
        return space_of(one.type) is space_of(other.type)
    if is_aliased(one) and is_aliased(other):
        return True
    first, second = storage_of(one), storage_of(other)
    return first is not None and first is second


def is_aliased(value: SSAValue) -> bool:
    """Whether a value is an argument that shares bytes with others."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    attributes = None if function is None else function.properties.get("arg_attrs")
    listed = attributes.data if isinstance(attributes, ArrayAttr) else ()
    described = listed[value.index] if value.index < len(listed) else None
    return isinstance(described, DictionaryAttr) and ALIASED in described.data


class Placeable(ABC):
    """An allocation that may share storage with others."""

    @abstractmethod
    def storage(self) -> SSAValue | None:
        """The specification of that storage, if there is one."""


def storage_of(value: SSAValue) -> SSAValue | None:
    """The storage specification of an allocation."""
    owner = value.owner
    return owner.storage() if isinstance(owner, Placeable) else None


_STOCK_VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "cast",
        "collapse_shape",
        "expand_shape",
        "memory_space_cast",
        "reinterpret_cast",
        "subview",
        "view",
    )
)
"""Ops of ``memref`` whose result is the memory of their first operand."""


def base_of(value: SSAValue) -> SSAValue:
    """The allocation or argument that `value` is derived from, through views and regions."""
    while (viewed := _viewed(value)) is not None:
        value = viewed
    return value


def _viewed(value: SSAValue) -> SSAValue | None:
    if not isinstance(value, OpResult):
        return None
    owner = value.op
    if _looks_through(type(owner)):
        assert isinstance(owner, LooksThrough)
        return owner.viewed()
    return owner.operands[0] if owner.name in _STOCK_VIEWS else None


@cache
def _looks_through(cls: type[Operation]) -> bool:
    return issubclass(cls, LooksThrough)


def whole(value: SSAValue, unit: Unit = "threads") -> AccessedRegion:
    """All of an allocation; a dynamic extent is not known."""
    shape = shape_of(value.type)
    extents = tuple(None if extent == DYNAMIC_INDEX else extent for extent in shape)
    return AccessedRegion(value, (0,) * len(shape), extents, unit)


def somewhere(value: SSAValue, unit: Unit = "threads") -> AccessedRegion:
    """Part of an allocation, not known which."""
    rank = len(shape_of(value.type))
    return AccessedRegion(value, (None,) * rank, (None,) * rank, unit)


def region_of(value: SSAValue, unit: Unit = "threads") -> AccessedRegion:
    """What `value`, a buffer, a region or a pointer, stands for."""
    if isinstance(value.owner, LooksThrough):
        return value.owner.part(unit)
    base = base_of(value)
    return whole(value, unit) if base is value else somewhere(base, unit)


def box_of(
    buffer: SSAValue, offsets: Sequence[Bound], extents: Sequence[Bound], unit: Unit = "threads"
) -> AccessedRegion:
    """A part of a buffer; through a view it is not known which."""
    if isinstance(buffer.owner, LooksThrough):
        return buffer.owner.box(offsets, extents, unit)
    base = base_of(buffer)
    if base is not buffer:
        return somewhere(base, unit)
    return AccessedRegion(buffer, tuple(offsets), tuple(extents), unit)


def element_of(
    buffer: SSAValue, indices: Sequence[Bound], unit: Unit = "threads"
) -> AccessedRegion:
    """One element of a buffer; through a view it is an unknown one."""
    return box_of(buffer, indices, (1,) * len(indices), unit)


def with_unit(region: AccessedRegion, unit: Unit) -> AccessedRegion:
    return replace(region, unit=unit)


# -- ops and effects ---------------------------------------------------------------------------


class RegionAccess(ABC):
    """The region interface: what an op accesses by itself, nested ops excluded."""

    @abstractmethod
    def reads(self) -> Sequence[AccessedRegion]:
        """The regions it reads."""

    @abstractmethod
    def writes(self) -> Sequence[AccessedRegion]:
        """The regions it writes."""

    def has_writes(self) -> bool:
        """Whether it writes any region; an op that always does need not work out which."""
        return bool(self.writes())

    @abstractmethod
    def is_async(self) -> bool:
        """Whether it may still be at work when the next op starts."""


class TileOp(AsmOp, RegionAccess):
    """Base of ops that access the buffers and regions that some operands name."""

    READS: ClassVar[tuple[str, ...]] = ()
    WRITES: ClassVar[tuple[str, ...]] = ()

    def unit(self) -> Unit:
        """What does the work."""
        return "threads"

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [region_of(value, self.unit()) for value in self._named(self.READS)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [region_of(value, self.unit()) for value in self._named(self.WRITES)]

    @override
    def is_async(self) -> bool:
        return False

    def _named(self, names: Sequence[str]) -> Iterator[SSAValue]:
        for name in names:
            value: object = getattr(self, name)
            if isinstance(value, SSAValue) and space_of(value.type) is not None:
                yield value


@dataclass(frozen=True)
class SpaceMemory(Resource):
    """The memory of one space."""

    space: Space | None

    @override
    def name(self) -> str:
        return f"<{self.space.value if self.space is not None else 'memory'}>"


class RegionEffects(EffectsInOrder):
    """Effects on the allocations of the regions that the op reads and writes."""

    @override
    def has_writes(self, op: Operation) -> bool:
        assert isinstance(op, RegionAccess)
        return op.has_writes()

    @override
    def iter_effects(self, op: Operation) -> Iterator[EffectInstance]:
        assert isinstance(op, RegionAccess)
        for region in op.writes():
            yield _effect(MemoryEffectKind.WRITE, region)
        for region in op.reads():
            yield _effect(MemoryEffectKind.READ, region)


def _effect(kind: MemoryEffectKind, region: AccessedRegion) -> EffectInstance:
    return EffectInstance(kind, region.base, SpaceMemory(region.space))


class Orders(EffectsInOrder):
    """Neither moves nor disappears: barriers, waits, output, code from outside."""

    @property
    @override
    def certain(self) -> frozenset[MemoryEffectKind]:
        return frozenset((MemoryEffectKind.READ, MemoryEffectKind.WRITE))

    @override
    def iter_effects(self, op: Operation) -> Iterator[EffectInstance]:
        yield EffectInstance(MemoryEffectKind.WRITE)
        yield EffectInstance(MemoryEffectKind.READ)


@dataclass(frozen=True)
class Assumptions(Resource):
    """Assumptions about values; no memory of a program."""

    @override
    def name(self) -> str:
        return "<assumptions>"


class States(EffectsInOrder):
    """Stays where it is, and accesses no memory: an assumption, a setting."""

    @property
    @override
    def certain(self) -> frozenset[MemoryEffectKind]:
        return frozenset((MemoryEffectKind.WRITE,))

    @override
    def iter_effects(self, op: Operation) -> Iterator[EffectInstance]:
        yield EffectInstance(MemoryEffectKind.WRITE, None, Assumptions())


class Allocates(MemoryEffect):
    """The result is memory of its own: dropped when unused, never merged with another."""

    @override
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance]:
        memory = SpaceMemory(space_of(op.results[0].type))
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0], memory)}
