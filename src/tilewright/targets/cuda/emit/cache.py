"""Policies for the L2 cache, and accesses of single elements that have one."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp, L2PolicyOp
from tilewright.targets.cuda.cxx_syntax import literal
from tilewright.targets.cuda.emit.emitter import Emitter, Rule, Text
from tilewright.targets.cuda.emit.memory import address


def _policy(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, L2PolicyOp)
    text = emitter.call(f"l2_{op.priority.data}", [literal(op.fraction)])
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


RULES: Mapping[str, Rule] = {
    "nv.l2_policy": _policy,
    "nv.load": _load,
    "nv.store": _store,
}
