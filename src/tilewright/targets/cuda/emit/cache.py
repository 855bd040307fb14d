"""Policies for the L2 cache, and accesses that have one; copies to shared memory in flight."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.async_moves import AsyncMoveOp
from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp, L2PolicyOp
from tilewright.dialects.simt.moves import MoveOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.targets.cxx.emitter import MULTIPLY, Emitter, Rule, Text
from tilewright.targets.cxx.memory import address, move
from tilewright.targets.cxx.syntax import literal


def _policy(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, L2PolicyOp)
    text = emitter.call(f"l2_{op.priority.data}", [literal(op.fraction, emitter.flavour)])
    emitter.constant(op.result, Text(text))


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, HintedLoadOp)
    (index,) = op.indices
    pointer = address(emitter, op.buffer, index)
    text = emitter.call("load_hinted", [pointer, emitter.operand(op.policy)])
    emitter.constant(op.result, Text(text))


def _store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, HintedStoreOp)
    (index,) = op.indices
    pointer, type = address(emitter, op.buffer, index), emitter.element(op.buffer)
    emitter.uses.functions.setdefault("store_hinted")
    value, policy = emitter.operand(op.value), emitter.operand(op.policy)
    emitter.statement(f"tw::store_hinted<{type.name}>({pointer}, {value}, {policy});")


def _move(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MoveOp)
    (source,), (destination,) = op.src_indices, op.dst_indices
    if op.is_unaligned:  # a policy is a hint, and these have none
        to, origin = address(emitter, op.dst, destination), address(emitter, op.src, source)
        emitter.uses.functions.setdefault("load_unaligned")
        emitter.statement(f"tw::load_unaligned({to}, {origin});")
        return
    if op.policy is None:
        move(emitter, op)
        return
    pointers = address(emitter, op.dst, destination), address(emitter, op.src, source)
    function = "load_hinted" if space_of(op.src.type) is Space.GLOBAL else "store_hinted"
    emitter.uses.functions.setdefault(function)
    arguments = ", ".join([*pointers, emitter.operand(op.policy)])
    emitter.statement(f"tw::{function}<{op.bytes}>({arguments});")


def _async_move(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncMoveOp)
    (source,), (destination,) = op.src_indices, op.dst_indices
    arguments = [_shared_target(emitter, op, destination), _source(emitter, op, source)]
    function = "cp_async" if op.policy is None else "cp_async_hinted"
    if op.valid is not None:
        size = emitter.element(op.src).bytes
        arguments.append(f"{emitter.operand(op.valid, MULTIPLY)} * {size}")
    if op.policy is not None:
        valid = [] if op.valid is not None else [str(op.bytes)]
        arguments += [*valid, emitter.operand(op.policy)]
    emitter.uses.functions.setdefault(function)
    emitter.statement(f"tw::{function}<{op.bytes}>({', '.join(arguments)});")


def _shared_target(emitter: Emitter, op: AsyncMoveOp, index: SSAValue) -> str:
    """The address that a copy writes, of 32 bits."""
    start = emitter.call("shared_address", [emitter.operand(op.dst)])
    offset = emitter.operand(index)
    size = emitter.element(op.dst).bytes
    if offset == "0":
        return start
    scaled = f"unsigned({offset})" if size == 1 else f"unsigned({offset}) * {size}u"
    return f"{start} + {scaled}"


def _source(emitter: Emitter, op: AsyncMoveOp, index: SSAValue) -> str:
    """The address that a copy reads: its last addend is one of the pointer where it is split."""
    owner = index.owner
    if nv_names.SPLIT not in op.attributes or not isinstance(owner, AddiOp):
        return address(emitter, op.src, index)
    base, step = owner.operands
    return f"{address(emitter, op.src, base)} + {emitter.operand(step, MULTIPLY)}"


RULES: Mapping[str, Rule] = {
    "simt.move": _move,
    "nv.async_move": _async_move,
    "nv.l2_policy": _policy,
    "nv.load": _load,
    "nv.store": _store,
}
