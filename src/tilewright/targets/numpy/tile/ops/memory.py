"""Buffers: allocation, parts, views, and access to single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.simt.across import StrideOp
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.regions import RegionOp, ViewOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.tile.types import BufferType, space_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.interfaces import constant_value
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.arith.constant import scalar_constant
from tilewright.targets.numpy.ops.checks import require_defined
from tilewright.targets.numpy.tile.emitter import LANE, TileEmitter
from tilewright.targets.numpy.tile.patterns import PER_THREAD, base_of, is_reducer, varying_axes
from tilewright.targets.numpy.values import NO_QUOTIENT, Expr, Shadow, Tensor


def tile(emitter: Emitter) -> TileEmitter:
    """The emitter of tile-level rules."""
    assert isinstance(emitter, TileEmitter)
    return emitter


# Allocation.


def _alloc(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, AllocOp)
    if op.space.is_barrier:
        _barriers(emitter, op)
        return
    options = _options(emitter, op.dtype.data if op.dtype else None, op.safe_value, op.type)
    name, scalar = repr(op.buffer_name), emitter.element_type(op.type)
    extents = _extents(emitter, op.type, op.sizes)
    space = repr(op.space.value)
    emitter.hint = op.buffer_name
    tail = f"{scalar.name}, {space}, {emitter.site()}{options}"
    if op.offset_bytes is not None:
        _placed(emitter, op, name, extents, tail)
        return
    if op.space.is_per_thread and (emitter.lanes or emitter.threads) is not None:
        lanes = emitter.lanes or emitter.threads
        assert lanes is not None
        emitter.private.add(op.result)
        tail += f", lanes={lanes.text}"
        expr = emitter.statement(
            f"rt.alloc({name}, {emitter.listed(extents)}, {tail})",
            *extents,
            lanes,
            hint=emitter.hint,
        )
    else:
        make = "workspace" if op.space is Space.GLOBAL else "alloc"
        text = f"rt.{make}({name}, {emitter.listed(extents)}, {tail})"
        expr = emitter.statement(text, *extents, hint=emitter.hint)
    emitter.memory[op.result] = expr


def _options(
    emitter: TileEmitter, dtype: str | None, safe: Attribute | None, type: BufferType
) -> str:
    text = ", unsigned=True" if dtype is not None and dtype.startswith("uint") else ""
    if safe is not None:
        value = cast("IntegerAttr | FloatAttr", safe).value.data
        expr = scalar_constant(emitter, value, emitter.element_type(type), element_type_of(type))
        text += f", safe={expr.text}"
        assert expr.line is not None
        expr.line.is_effect = True
    return text


def _extents(emitter: TileEmitter, type: BufferType, sizes: Sequence[SSAValue]) -> list[Expr]:
    rest = iter(sizes)
    return [
        emitter.uniform(next(rest) if extent == DYNAMIC_INDEX else extent, "the size of a buffer")
        for extent in type.get_shape()
    ]


def _placed(
    emitter: TileEmitter, op: AllocOp, name: str, extents: Sequence[Expr], tail: str
) -> None:
    """A buffer at an offset of storage that others share."""
    arena = emitter.unit.arenas[op.alias]
    text = f"rt.place({arena!r}, {op.offset_bytes}, {name}, {emitter.listed(extents)}, {tail})"
    emitter.memory[op.result] = emitter.statement(text, *extents, hint=emitter.hint)


def _barriers(emitter: TileEmitter, op: AllocOp) -> None:
    counts = op.arrive_counts or ()
    is_explicit = op.result in emitter.unit.explicit
    text = (
        f"rt.barriers({op.buffer_name!r}, {list(counts)}, {emitter.site()}, "
        f"is_explicit={is_explicit})"
    )
    emitter.memory[op.result] = emitter.statement(text, hint=op.buffer_name)


def _nothing(base: Emitter, op: Operation) -> None:
    """An annotation without effect on a run."""


# Parts and views.


def _region(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, RegionOp)
    if _is_updated_apart(emitter, op):
        return
    if op.base in emitter.private:
        raise emitter.unsupported(
            "a region of an iteration-private buffer is not supported by the NumPy target",
            "access it element by element",
        )
    shape = cast("BufferType", op.base.type).get_shape()
    offsets = [emitter.uniform(offset, "the offset of a region") for offset in op.offsets]
    extents = [emitter.uniform(extent, "the extent of a region") for extent in op.extents]
    assert len(shape) == len(offsets)
    text = f"part({{0}}, {emitter.listed(offsets)}, {emitter.listed(extents)})"
    buffer = emitter.buffer(op.base)
    emitter.memory[op.result] = emitter.pure(
        text, buffer, *offsets, *extents, hint=f"{_name(op.base)}_part"
    )


def _is_updated_apart(emitter: TileEmitter, op: RegionOp) -> bool:
    """Whether iterations have regions of their own: atomics look at them element by element."""
    if not all(isinstance(use.operation, AtomicOp) for use in op.result.uses):
        return False
    return op.base in emitter.private or any(emitter.mixed(each).axes for each in op.offsets)


def _name(value: SSAValue) -> str:
    base = base_of(value)
    owner = base.owner
    if isinstance(owner, AllocOp):
        return owner.buffer_name
    return base.name_hint or "buffer"


def _view(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ViewOp)
    if op.source in emitter.private:
        raise emitter.unsupported(
            "a view of an iteration-private buffer is not supported by the NumPy target"
        )
    source = _viewed(emitter, op)
    type = cast("BufferType", op.result.type)
    extents = _extents(emitter, type, op.sizes)
    scalar = emitter.element_type(type)
    strides = _strides(emitter, type, op.strides)
    options = "" if strides is None else f", {emitter.listed(strides)}"
    if _has_strides(op.source.type):
        options += ", has_gaps=True"
    text = f"{{0}}.view({emitter.listed(extents)}, {scalar.name}{options})"
    hint = op.result.name_hint or f"{_name(op.source)}_view"
    emitter.memory[op.result] = emitter.pure(text, source, *extents, *(strides or ()), hint=hint)


def _viewed(emitter: TileEmitter, op: ViewOp) -> Expr:
    """The buffer, or the address of an element of one, that is viewed."""
    if isinstance(op.source.type, MemRefType):
        return emitter.buffer(op.source)
    if op.source not in emitter.memory:
        raise emitter.unsupported(
            "a tensor at a raw address is not supported by the NumPy target",
            "pass the tensor itself, or view it at the address of an element",
        )
    source = emitter.buffer(op.source)
    if source.axes:
        raise emitter.unsupported(
            "the address of a view differs between iterations",
            "access the tensor element by element inside T.Parallel",
        )
    return source


def _has_strides(type: Attribute) -> bool:
    return isinstance(type, MemRefType) and isinstance(type.layout, StridedLayoutAttr)


def _strides(
    emitter: TileEmitter, type: BufferType, given: Sequence[SSAValue]
) -> list[Expr] | None:
    """The strides that a view declares; None for contiguous rows."""
    layout = type.layout
    if not isinstance(layout, StridedLayoutAttr):
        return None
    rest = iter(given)
    return [
        emitter.uniform(next(rest) if stride is None else stride, "the stride of a view")
        for stride in layout.get_strides()
    ]


def _slot(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, SlotOp)
    index = emitter.uniform(op.index, "the version of a buffer")
    hint = f"{_name(op.ring)}_slot"
    emitter.memory[op.result] = emitter.pure(
        "{0}.slot({1})", emitter.buffer(op.ring), index, hint=hint
    )


def _dim(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    axis = emitter.expr(op.operands[1])
    expr = emitter.pure("{0}.dim({1})", emitter.buffer(op.operands[0]), axis)
    emitter.define(op.results[0], Tensor(expr))


def _stride(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, StrideOp)
    text = f"{{0}}.stride({op.axis.value.data})"
    emitter.define(op.result, Tensor(emitter.pure(text, emitter.buffer(op.tensor))))


# Elements.


def _indices(emitter: TileEmitter, indices: Sequence[SSAValue]) -> list[Expr]:
    return [emitter.expr(index) for index in indices]


def _load(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    memory = op.operands[0]
    index = _indices(emitter, op.operands[1:])
    shadows = emitter.shadows(*op.operands[1:])
    if space_of(memory.type) is not Space.GLOBAL:
        _require_quotients(emitter, op.operands[1:])
        shadows = ()
    buffer = emitter.buffer(memory)
    lanes = emitter.lanes or emitter.threads
    hint = emitter.hint if emitter.hint != "t" else _element_hint(memory)
    is_variable = space_of(memory.type) is Space.VAR  # one copy for the threads that share it
    is_same = not any(expr.axes for expr in index) and (not emitter.divergence or is_variable)
    if lanes is None or (
        is_same and memory not in emitter.private and not _watched(emitter, memory)
    ):
        text = "get({0}" + "".join(f", {{{n + 1}}}" for n in range(len(index))) + ")"
        expr = emitter.here(text, buffer, *index, axes=0, rank=0, hint=hint)
    elif memory in emitter.private:
        listed = "".join(f", {each.text}" for each in index)
        text = f"load_own({{0}}, {{1}}{listed})"
        expr = emitter.here(text, lanes, buffer, *index, axes=LANE, rank=0, hint=hint)
    elif base_of(memory) in emitter.unit.divided and space_of(memory.type) is not Space.GLOBAL:
        at = f", {emitter.site()}" if _watched(emitter, memory) else ""
        text = f"load_quotients({{0}}, {{1}}, {emitter.listed(index)}{at})"
        forms = [(LANE, 0), (LANE, 0)]
        expr, divisible = emitter.several(text, [lanes, buffer, *index], forms, is_pure=False)
        emitter.unit.hints[int(expr.text.strip("\0"))] = hint
        origin = emitter.unit.divided[base_of(memory)].location
        shadows = (Shadow(divisible, origin, NO_QUOTIENT),)
    else:
        at = f", {emitter.site()}" if _watched(emitter, memory) else ""
        text = f"load({{0}}, {{1}}, {emitter.listed(index)}{at})"
        expr = emitter.here(text, lanes, buffer, *index, axes=LANE, rank=0, hint=hint)
    emitter.define(op.results[0], Tensor(expr, shadows=shadows))


def _require_quotients(emitter: TileEmitter, indices: Sequence[SSAValue]) -> None:
    """An index that results from a division by zero is undefined."""
    for index in indices:
        require_defined(emitter, emitter.tensor(index), "an index", ())


def _element_hint(memory: SSAValue) -> str:
    return f"{_name(memory)}_element"


def _watched(emitter: TileEmitter, memory: SSAValue) -> bool:
    return emitter.properties is not None and base_of(memory) in emitter.properties.watched


def _store(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    value, memory = op.operands[0], op.operands[1]
    index = _indices(emitter, op.operands[2:])
    buffer = emitter.buffer(memory)
    lanes = emitter.lanes or emitter.threads
    if lanes is not None and is_reducer(base_of(memory)):
        _accumulate(emitter, op, index)
        return
    _require_quotients(emitter, op.operands[2:])
    new = emitter.expr(value)
    more, deps = emitter.quotients(value)
    varies = any(expr.axes for expr in (*index, new)) or emitter.divergence
    if lanes is None or (emitter.lanes is None and not varies and memory not in emitter.private):
        text = "put({0}, {1}" + "".join(f", {{{n + 2}}}" for n in range(len(index)))
        if space_of(memory.type) not in PER_THREAD:
            emitter.step()
        emitter.effect(f"{text}{more})", buffer, new, *index, *deps)
    elif memory in emitter.private:
        listed = "".join(f", {each.text}" for each in index)
        text = f"store_own({{0}}, {{1}}, {{2}}{listed}{more})"
        emitter.effect(text, lanes, buffer, new, *index, *deps)
    else:
        at = ""
        if _watched(emitter, memory):
            at = f", {emitter.site()}, varies={varying_axes(op)}"
        text = f"store({{0}}, {{1}}, {{2}}, {emitter.listed(index)}{at}{more})"
        emitter.effect(text, lanes, buffer, new, *index, *deps)


# Reducers.

_COMBINES = {
    "arith.addf": "sum",
    "arith.addi": "sum",
    "arith.andi": "and",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.maxsi": "max",
    "arith.maxui": "umax",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
    "arith.minsi": "min",
    "arith.minui": "umin",
    "arith.ori": "or",
    "arith.xori": "xor",
}


def _accumulate(emitter: TileEmitter, op: Operation, index: Sequence[Expr]) -> None:
    """Write `r[i] = op(r[i], x)` as one update, since many iterations may make it."""
    found = _update(op)
    if found is None:
        name = _name(op.operands[1])
        raise emitter.unsupported(
            f"{name} is a reducer and can only be updated: each thread holds a partial result",
            f"use {name}[i] += x, or {name}[i] = T.max({name}[i], x) and the like",
        )
    kind, new = found
    listed = "".join(f", {expr.text}" for expr in index)
    lanes = emitter.lanes or emitter.threads
    assert lanes is not None
    text = f"atomic({{0}}, {kind!r}, {{1}}, {{2}}{listed})"
    emitter.effect(text, lanes, emitter.buffer(op.operands[1]), emitter.expr(new), *index)


def _update(store: Operation) -> tuple[str, SSAValue] | None:
    """What an element is combined with, and how, if it is stored where it was loaded."""
    made = store.operands[0].owner
    if not isinstance(made, Operation) or made.name not in _COMBINES:
        return None
    for old, new in (tuple(made.operands), tuple(reversed(made.operands))):
        source = old.owner
        if (
            isinstance(source, Operation)
            and source.name == "memref.load"
            and source.operands[0] is store.operands[1]
            and _same_index(source.operands[1:], store.operands[2:])
        ):
            return _COMBINES[made.name], new
    return None


def _same_index(one: Sequence[SSAValue], other: Sequence[SSAValue]) -> bool:
    """Whether indices are the same values, or constants of the same size."""
    return all(
        a is b or ((found := constant_value(a)) is not None and found == constant_value(b))
        for a, b in zip(one, other, strict=True)
    )


RULES: dict[str, Rule] = {
    "tile.slot": _slot,
    "tile.alloc": _alloc,
    "tile.region": _region,
    "tile.view": _view,
    "tile.storage_alias_spec": _nothing,
    "tile.reuse_group": _nothing,
    "tile.set_buffer_overlap": _nothing,
    "memref.load": _load,
    "memref.store": _store,
    "memref.dim": _dim,
    "simt.stride": _stride,
}
