"""Buffers and views of them."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import (
    MemDescDynamicSubsliceOp,
    MemDescIndexOp,
    MemDescSubsliceOp,
    MemDescSubviewOp,
    MemDescTransOp,
)
from tilewright.dialects.ttng.cluster import MapToRemoteBufferOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp, TMEMSubSliceOp
from tilewright.dialects.type_utils import shape_of
from tilewright.memory import Memory
from tilewright.memory.targets import TMEM_COLUMN_BYTES
from tilewright.passes.tlx.storage_alias.buffers import memory_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.names import hint_of
from tilewright.targets.numpy.ops.checks import require_defined, tuple_text
from tilewright.targets.numpy.tasks.unit import emitter_of
from tilewright.targets.numpy.values import Tensor

_UNNAMED = "t"


def name_of(op: Operation) -> str:
    """The source name of the first result of an op; empty if there is none."""
    hint = hint_of(op)
    return "" if hint == _UNNAMED else hint


def token(emitter: Emitter, value: SSAValue | None) -> None:
    """Tokens order what is in order anyway."""
    if value is not None:
        emitter.define(value, Tensor(emitter.constant("None", "token")))


def _alloc(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LocalAllocOp | TMEMAllocOp)
    tasks = emitter_of(emitter)
    index = tasks.tasks.placement.indices[op]
    view = emitter.statement(f"{{0}}.alloc({index})", emitter.runtime, hint=emitter.hint)
    emitter.define(op.results[0], Tensor(view))
    if isinstance(op, TMEMAllocOp):
        token(emitter, op.token)
    if op.src is not None:
        value = emitter.tensor(op.src)
        require_defined(emitter, value, "a stored value", ())
        source_id = tasks.current_source_id()
        emitter.effect(f"{{0}}.store({{1}}, {{2}}, {source_id})", emitter.runtime, view, value.expr)


def _view(emitter: Emitter, op: Operation, template: str, *operands: SSAValue) -> None:
    exprs = [emitter.expr(value) for value in operands]
    expr = emitter.pure(template, *exprs, axes=0, rank=0)
    emitter.define(op.results[0], Tensor(expr))


def _index(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MemDescIndexOp)
    _view(emitter, op, "{0}.index({1})", op.src, op.index)


def _subslice(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MemDescSubsliceOp)
    starts = tuple(op.offsets.get_values())
    _view(emitter, op, f"{{0}}.slice({starts}, {shape_of(op.result.type)})", op.src)


def _dynamic_subslice(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MemDescDynamicSubsliceOp | MemDescSubviewOp)
    starts = tuple_text(1, len(op.offsets))
    text = f"{{0}}.slice({starts}, {shape_of(op.result.type)})"
    _view(emitter, op, text, op.src, *op.offsets)


def _tmem_subslice(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TMEMSubSliceOp)
    shape = shape_of(op.result.type)
    starts = [0] * len(shape)
    starts[op.dim.value.data] = op.offset.value.data
    _view(emitter, op, f"{{0}}.slice({tuple(starts)}, {shape})", op.src)


def _trans(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MemDescTransOp)
    _view(emitter, op, f"{{0}}.transposed({tuple(op.order.get_values())})", op.src)


def _reshape(emitter: Emitter, op: Operation) -> None:
    shape = shape_of(op.results[0].type)
    _view(emitter, op, f"{{0}}.reshaped({shape})", op.operands[0])


def _reinterpret(emitter: Emitter, op: Operation) -> None:
    kind = emitter_of(emitter).kind(op.results[0])
    source = emitter.expr(op.operands[0])
    text = f"{{0}}.seen_as({{1}}, {kind}, {name_of(op)!r})"
    expr = emitter.pure(text, emitter.runtime, source, axes=0, rank=0)
    emitter.define(op.results[0], Tensor(expr))


def _placed(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PlacedAliasOp)
    type: Any = op.result.type
    assert isinstance(type, MemDescType)
    unit = TMEM_COLUMN_BYTES if memory_of(type) is Memory.TMEM else 1
    levels = tuple((radix, stride * unit) for radix, stride in op.levels)
    kind = emitter_of(emitter).kind(op.result)
    text = f"{{0}}.placed({{1}}, {kind}, {name_of(op)!r}, {op.start * unit}, {levels})"
    expr = emitter.pure(text, emitter.runtime, emitter.expr(op.src), axes=0, rank=0)
    emitter.define(op.result, Tensor(expr))


def _remote(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MapToRemoteBufferOp)
    _view(emitter, op, "{0}.at_rank({1})", op.src, op.cta_rank)


def same(emitter: Emitter, op: Operation) -> None:
    """An op about layouts, which values here do not have."""
    emitter.define(op.results[0], emitter.values[op.operands[0]])


def nothing(emitter: Emitter, op: Operation) -> None:
    """An op without a meaning here."""


RULES: dict[str, Rule] = {
    "ttg.local_alloc": _alloc,
    "ttng.tmem_alloc": _alloc,
    "ttg.local_dealloc": nothing,
    "ttg.memdesc_index": _index,
    "ttg.memdesc_subslice": _subslice,
    "ttg.memdesc_dynamic_subslice": _dynamic_subslice,
    "ttg.memdesc_subview": _dynamic_subslice,
    "ttg.memdesc_trans": _trans,
    "ttg.memdesc_reshape": _reshape,
    "ttg.memdesc_reinterpret": _reinterpret,
    "ttng.tmem_subslice": _tmem_subslice,
    "ttng.map_to_remote_buffer": _remote,
    "tlx.placed_alias": _placed,
    "tlx.require_layout": same,
    "tlx.release_layout": same,
    "ttg.convert_layout": same,
    "tlx.dump_layout": nothing,
    "tlx.assert_same_layout": nothing,
    "tlx.assert_same_layout_expected": nothing,
}
