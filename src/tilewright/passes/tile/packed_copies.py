"""Copies of elements of 4 bits: from bytes with two of them to bytes with one, and the other way.

    tile.copy %A[...] -> %S            tile.copy %A'[...] -> %packed     (bytes)
                              ->       tile.parallel (%i, %p) {
                                         %S'[%i, 2 * %p] = the lower half of %packed[%i, %p]
                                         %S'[%i, 2 * %p + 1] = the upper one }

A part of a tensor that is copied begins and ends with a whole byte, or the copy is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import MemRefType, NoneAttr, UnitAttr, i8
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    KernelOp,
    ParallelOp,
    RegionOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tile import narrow_values as narrow
from tilewright.passes.tile.element_pairs import halved, parity
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.naming import buffer_name
from tilewright.passes.tile.narrow_values import Kind
from tilewright.passes.tile.tile_regions import TileRegion, part_of

UNSUPPORTED = "TW6017"


@dataclass
class PackedCopies:
    """The buffers of a function that have elements of 4 bits, whose types have bytes already."""

    function: FuncOp
    engine: DiagnosticEngine
    kinds: dict[SSAValue, Kind] = field(default_factory=dict[SSAValue, Kind])
    """Of buffers with elements of 4 bits."""

    def _kind(self, buffer: SSAValue) -> Kind | None:
        """Of the elements of a buffer or a region."""
        if not isinstance(buffer.type, MemRefType) and not isinstance(buffer.owner, RegionOp):
            return None
        return self.kinds.get(base_of(buffer))

    def _is_packed(self, buffer: SSAValue) -> bool:
        return self._kind(buffer) is not None and space_of(buffer.type) is Space.GLOBAL

    def _half(
        self, code: IndexBuilder, byte: SSAValue, index: Mixed, known: int | None
    ) -> SSAValue:
        """The element of a byte that an index names, in its lower half."""
        if known == 0:
            return byte
        upper = code.add(arith.ShruiOp(byte, narrow.constant(code, narrow.BITS, i8))).results[0]
        if known == 1:
            return upper
        return code.add(arith.SelectOp(self._is_even(code, index), byte, upper)).results[0]

    def _is_even(self, code: IndexBuilder, index: Mixed) -> SSAValue:
        rest = code.index(combined(code, "mod", index, 2))
        return code.add(arith.CmpiOp("eq", rest, code.index(0))).results[0]

    def _joined(self, code: IndexBuilder, lower: SSAValue, upper: SSAValue) -> SSAValue:
        first, second = narrow.low(code, lower), narrow.shifted(code, upper)
        return code.add(arith.OriOp(first, second)).results[0]

    def _expand(self, op: AsyncCopyOp, code: IndexBuilder) -> None:
        """Bulk copies move bytes; to elements of 8 bits they expand them."""
        packed = [self._is_packed(each) for each in (op.src, op.dst)]
        if not op.is_bulk or not packed[0] or self._kind(op.dst) is not None:
            self._refuse(
                op,
                "an asynchronous copy moves them to elements of float4_e2m1_unpacked only",
                "use T.copy",
            )
            return
        region = self._bytes_of(op, op.src, code)
        if region is not None:
            op.operands[0] = region
            op.expands = UnitAttr()

    def _copy(self, op: CopyOp, code: IndexBuilder) -> None:
        source, target = self._kind(op.src), self._kind(op.dst)
        if self._is_packed(op.src) and self._is_packed(op.dst) and source is target:
            here, there = self._bytes_of(op, op.src, code), self._bytes_of(op, op.dst, code)
            if here is not None and there is not None:
                self._move(op, here, there, code)
                Rewriter().erase(op)
        elif self._is_packed(op.src):
            self._unpack(op, code)
        elif self._is_packed(op.dst):
            self._pack(op, code)
        elif source is not target and (target is not None or source is Kind.FLOAT):
            self._convert(op, code)

    def _move(self, op: CopyOp, source: SSAValue, target: SSAValue, code: IndexBuilder) -> None:
        """The copy, of bytes."""
        fill = None if op.fill is None else self._joined(code, op.fill, op.fill)
        made = CopyOp(source, target, fill=fill, attributes=op.attributes)
        for name in ("disable_tma", "eviction_policy", "prefer_instruction"):
            if name in op.properties:
                made.properties[name] = op.properties[name]
        code.add(made)

    def _unpack(self, op: CopyOp, code: IndexBuilder) -> None:
        """Bytes of a tensor become elements of a buffer."""
        region = self._bytes_of(op, op.src, code)
        if region is None:
            return
        space = space_of(op.dst.type)
        is_stored = space is Space.GLOBAL
        target = op.dst
        element = i8 if self._kind(target) is not None else element_type_of(target.type)
        if is_stored:
            if self._is_packed(target):
                self._refuse(op, "the two sides have different types")
                return
            shape = [e for e in part_of(target).extents if isinstance(e, int)]
            target = self._buffer(code, element, shape, Space.FRAGMENT, "converted", None)
        staged = self._stage(code, region, Space.SHARED if _is_shared(space) else Space.FRAGMENT)
        self._move(op, region, staged, code)
        into = part_of(target)
        loop = ParallelOp(list(shape_of(staged.type)))
        code.add(loop)
        inside = code.inside(loop.body.block)
        position = list(loop.body.block.args)
        kind = self._kind(op.src)
        assert kind is not None
        byte = inside.add(LoadOp(staged, position)).results[0]
        for half in (0, 1):
            value = self._half(inside, byte, 0, half)
            value = self._as_element(inside, value, kind, target, element)
            indices = into.element(inside, _elements(inside, position, half), _axes(into))
            inside.add(StoreOp(value, into.buffer, indices))
        if is_stored:
            code.add(CopyOp(target, op.dst))
        Rewriter().erase(op)

    def _as_element(
        self, code: IndexBuilder, value: SSAValue, kind: Kind, target: SSAValue, element: Attribute
    ) -> SSAValue:
        """A number of 4 bits as what a buffer holds."""
        other = self._kind(target)
        if other is kind:
            return narrow.normalised(code, value, kind)
        if other is None:
            return narrow.widened(code, value, kind, element)
        wide = narrow.widened(code, value, kind, narrow.F32)
        return narrow.normalised(code, narrow.narrowed(code, wide, other), other)

    def _pack(self, op: CopyOp, code: IndexBuilder) -> None:
        """Elements of a buffer become bytes of a tensor."""
        region = self._bytes_of(op, op.dst, code)
        kind, source = self._kind(op.dst), op.src
        if region is None:
            return
        assert kind is not None
        if space_of(source.type) is Space.GLOBAL:
            shape = [e for e in part_of(source).extents if isinstance(e, int)]
            element = element_type_of(source.type)
            given = self._buffer(code, element, shape, Space.FRAGMENT, "read", source)
            code.add(CopyOp(source, given, fill=op.fill))
            source = given
        staged = self._stage(code, region, Space.FRAGMENT)
        from_ = part_of(source)
        loop = ParallelOp(list(shape_of(staged.type)))
        code.add(loop)
        inside = code.inside(loop.body.block)
        position = list(loop.body.block.args)
        halves: list[SSAValue] = []
        for half in (0, 1):
            indices = from_.element(inside, _elements(inside, position, half), _axes(from_))
            value = inside.add(LoadOp(from_.buffer, indices)).results[0]
            halves.append(self._as_narrow(inside, value, kind, source))
        byte = self._joined(inside, *halves)
        inside.add(StoreOp(byte, staged, position))
        self._move(op, staged, region, code)
        Rewriter().erase(op)

    def _as_narrow(
        self, code: IndexBuilder, value: SSAValue, kind: Kind, source: SSAValue
    ) -> SSAValue:
        """An element of a buffer as a number of 4 bits."""
        other = self._kind(source)
        if other is kind:
            return value
        if other is not None:
            value = narrow.widened(code, value, other, narrow.F32)
        return narrow.narrowed(code, value, kind, is_unsigned=is_unsigned(source))

    def _convert(self, op: CopyOp, code: IndexBuilder) -> None:
        """Elements of one buffer become those of another, none of them a tensor of halves."""
        here, there = part_of(op.src), part_of(op.dst)
        extents = [e for e in here.extents if e != 1] or [1]
        loop = ParallelOp(extents)
        code.add(loop)
        inside = code.inside(loop.body.block)
        position = list(loop.body.block.args)
        loaded = LoadOp(here.buffer, here.element(inside, position, _axes(here, len(extents))))
        value = inside.add(loaded).results[0]
        source, target = self._kind(op.src), self._kind(op.dst)
        if target is not None:
            value = narrow.normalised(
                inside, self._as_narrow(inside, value, target, op.src), target
            )
        else:
            assert source is not None
            value = narrow.widened(inside, value, source, element_type_of(op.dst.type))
        indices = there.element(inside, position, _axes(there, len(extents)))
        inside.add(StoreOp(value, there.buffer, indices))
        Rewriter().erase(op)

    def _bytes_of(self, op: Operation, side: SSAValue, code: IndexBuilder) -> SSAValue | None:
        """The bytes of a part of a tensor; None if they are not whole."""
        part = part_of(side) if isinstance(side.owner, RegionOp) else _whole(side)
        extent = part.extents[-1]
        if parity(part.offsets[-1]) != 0 or parity(extent) != 0:
            self._refuse(
                op,
                "the first column of the copy and the count of its columns are not known to be "
                "even",
                "copy an even count of columns, from a multiple of an even integer on",
            )
            return None
        offsets = [*part.offsets[:-1], halved(code, part.offsets[-1]).byte]
        extents = [*part.extents[:-1], halved(code, extent).byte]
        return code.add(RegionOp(part.buffer, offsets, extents)).results[0]

    def _stage(self, code: IndexBuilder, region: SSAValue, space: Space) -> SSAValue:
        """A buffer for the bytes of a region."""
        extents = part_of(region).extents
        shape = [e for e in extents[:-1] if isinstance(e, int) and e != 1]
        last = extents[-1]
        assert isinstance(last, int), "tile ops have extents that are known"
        return self._buffer(code, i8, [*shape, last], space, "packed", None)

    def _buffer(
        self,
        code: IndexBuilder,
        element: Attribute,
        shape: Sequence[int],
        space: Space,
        name: str,
        like: SSAValue | None,
    ) -> SSAValue:
        """A buffer that lives as long as the kernel."""
        type = MemRefType(element, list(shape), NoneAttr(), SpaceAttr(space))
        dtype = "uint8" if element == i8 and (like is None or is_unsigned(like)) else None
        if space.is_shared:
            code = IndexBuilder(_first_of_kernel(code.origin))
        return code.add(AllocOp(type, name=name, dtype=dtype)).results[0]

    def _refuse(self, where: Operation | SSAValue, why: str, help: str | None = None) -> None:
        op = where if isinstance(where, Operation) else self.function
        named = [
            where
            if isinstance(where, SSAValue)
            else next((each for each in where.operands if self._kind(each) is not None), None)
        ]
        of = "" if named[0] is None else f" of {buffer_name(base_of(named[0]))}"
        diagnostic = self.engine.error(op, f"elements of 4 bits{of}: {why}", UNSUPPORTED)
        if help is not None:
            diagnostic.note(None, f"help: {help}")


def _first_of_kernel(op: Operation) -> Operation:
    current: Operation | None = op
    while current is not None and not isinstance(current, KernelOp):
        current = current.parent_op()
    assert current is not None, "shared memory is allocated in a kernel"
    first = current.body.block.first_op
    assert first is not None
    return first


def _is_shared(space: Space | None) -> bool:
    return space is not None and space.is_shared


def _whole(buffer: SSAValue) -> TileRegion:
    """All of a tensor whose type counts bytes, in elements."""
    *outer, last = shape_of(buffer.type)
    return TileRegion(buffer, (0,) * (len(outer) + 1), (*outer, last * 2))


def _axes(part: TileRegion, rank: int | None = None) -> list[int]:
    """The dimensions along which a part is copied: the last one, and those with many elements."""
    last = len(part.extents) - 1
    found = [axis for axis, extent in enumerate(part.extents) if extent != 1 or axis == last]
    return found if rank is None else (part.axes or [last])[-rank:]


def _elements(code: IndexBuilder, position: Sequence[SSAValue], half: int) -> list[SSAValue]:
    """Where the element with half of a byte is in a buffer with a byte for each."""
    *outer, last = position
    return [*outer, code.index(combined(code, "+", combined(code, "*", last, 2), half))]
