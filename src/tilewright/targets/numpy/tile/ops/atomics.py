"""Atomic updates: of an element by each iteration, of a tile by the block.

    for i in T.Parallel(32):
        T.atomic_addx2(O[2 * i], A[2 * i])      # two consecutive elements, by each iteration

A tile is updated once. Where it differs between iterations, or between threads, each of them
updates its own elements sequentially.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp, ConstantOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.regions import RegionOp
from tilewright.dialects.tile.types import is_buffer_or_region
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.checks import require_defined
from tilewright.targets.numpy.tile.emitter import LANE, TileEmitter
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.tile.ops.tiles import whole
from tilewright.targets.numpy.values import Expr, Tensor


def _atomic(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, AtomicOp)
    if op.is_element:
        _element(emitter, op)
    elif _is_own(emitter, op):
        _each(emitter, op)
    else:
        _tile(emitter, op)


def _tile(emitter: TileEmitter, op: AtomicOp) -> None:
    assert op.value is not None
    source = whole(emitter, op.value) if _is_memory(op.value) else emitter.expr(op.value)
    text = f"atomic_region({op.kind.data!r}, {{0}}, {{1}})"
    emitter.call(text, source, whole(emitter, op.dst))


def _is_memory(value: SSAValue) -> bool:
    return is_buffer_or_region(value.type)


def _element(emitter: TileEmitter, op: AtomicOp) -> None:
    lanes = emitter.lanes or emitter.threads
    lanes_or_none = Expr("None", 0, 0, 0) if lanes is None else lanes
    new = Expr("None", 0, 0, 0) if op.value is None else emitter.expr(op.value)
    if op.value is not None:
        require_defined(emitter, emitter.tensor(op.value), "the value of an atomic", ())
    for each in op.indices:
        require_defined(emitter, emitter.tensor(each), "an index", ())
    index = [emitter.expr(each) for each in op.indices]
    listed = "".join(f", {expr.text}" for expr in index)
    returns = op.previous is not None
    options = ", returns=True" if returns else ""
    # Within a block, execution is in order: only wider scopes order accesses of blocks.
    if op.order != "relaxed" and op.memory_scope != "cta":
        options += f", order={op.order!r}"
    if op.compare is not None:
        require_defined(emitter, emitter.tensor(op.compare), "the value of an atomic", ())
        options += f", compare={emitter.expr(op.compare).text}"
    compare = [] if op.compare is None else [emitter.expr(op.compare)]
    text = f"atomic({{0}}, {op.kind.data!r}, {{1}}, {{2}}{listed}{options})"
    operands = (lanes_or_none, emitter.buffer(op.dst), new, *index, *compare)
    if emitter.lanes is None:
        emitter.step()
    if op.previous is None:
        emitter.effect(text, *operands)
        return
    axes = 0 if lanes is None else LANE
    hint = "previous" if emitter.hint == "t" else emitter.hint
    expr = emitter.here(text, *operands, axes=axes, rank=0, hint=hint)
    assert expr.line is not None
    expr.line.is_effect = True
    emitter.define(op.previous, Tensor(expr))


# Tiles of an iteration's own.


def _is_own(emitter: TileEmitter, op: AtomicOp) -> bool:
    """Whether iterations, or threads, have tiles of their own."""
    assert op.value is not None
    if emitter.lanes is not None:
        return True
    if not _is_memory(op.value) and emitter.expr(op.value).axes:
        return True
    parts = [each for each in (op.dst, op.value) if _is_memory(each)]
    return any(each in emitter.private or each not in emitter.memory for each in parts)


def _each(emitter: TileEmitter, op: AtomicOp) -> None:
    """Updates of single elements, emitted at the position of `op`."""
    assert op.value is not None
    buffer, offsets, extents = _part(op.dst)
    sizes = [extent for extent in extents if isinstance(extent, int)]
    if len(sizes) < len(extents):
        raise emitter.unsupported(
            "the extent of an atomic update is a run-time value", "use a constant extent"
        )
    made = _Made(emitter, op)
    for point in product(*map(range, sizes)):
        value = op.value
        if _is_memory(value):
            source, begin, lengths = _part(value)
            inner = iter(at for at, size in zip(point, sizes, strict=True) if size != 1)
            inner_point = [0 if length == 1 else next(inner) for length in lengths]
            value = made.add(LoadOp(source, made.indices(begin, inner_point)))
        index = made.indices(offsets, point)
        made.write(op.of_element(buffer, index, value))
    made.forget()


class _Made:
    """Ops that are run where another one stands, and are in no block."""

    def __init__(self, emitter: TileEmitter, origin: Operation) -> None:
        self.emitter = emitter
        self.location = origin.location
        self.ops: list[Operation] = []

    def write(self, op: Operation) -> None:
        op.location = self.location
        self.ops.append(op)
        self.emitter.op(op)

    def forget(self) -> None:
        """Values of the module are not used by them any more."""
        for op in reversed(self.ops):
            op.drop_all_references()

    def add(self, op: Operation) -> SSAValue:
        self.write(op)
        return op.results[0]

    def indices(self, offsets: Sequence[Mixed], point: Sequence[int]) -> list[SSAValue]:
        return [self._index(at, more) for at, more in zip(offsets, point, strict=True)]

    def _index(self, offset: Mixed, more: int) -> SSAValue:
        if isinstance(offset, int):
            return self._constant(offset + more)
        return self.add(AddiOp(offset, self._constant(more))) if more else offset

    def _constant(self, value: int) -> SSAValue:
        return self.add(ConstantOp(IntegerAttr(value, IndexType())))


def _part(value: SSAValue) -> tuple[SSAValue, Sequence[Mixed], Sequence[Mixed]]:
    """The buffer of a region, where it begins and how far it goes."""
    region = value.owner
    if isinstance(region, RegionOp):
        return region.base, region.offsets, region.extents
    assert isinstance(value.type, MemRefType)
    shape = value.type.get_shape()
    return value, (0,) * len(shape), shape


RULES: dict[str, Rule] = {"tile.atomic": _atomic}
