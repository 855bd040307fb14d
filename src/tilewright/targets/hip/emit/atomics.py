"""Atomic updates of one element, by functions of ours for every type.

What comes before a release, and after an acquire, is held there by a fence for the whole GPU.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.targets.cxx.emitter import Emitter, Rule, Text
from tilewright.targets.cxx.flavour import CType
from tilewright.targets.cxx.memory import address
from tilewright.targets.cxx.syntax import bracketed, unsigned

_RELEASES = ("release", "acq_rel", "seq_cst")
_ACQUIRES = ("consume", "acquire", "acq_rel", "seq_cst")


def _fence(emitter: Emitter) -> None:
    emitter.statement(f"{emitter.call('fence', [])};")


def _update(emitter: Emitter, op: AtomicOp, type: CType) -> str:
    """The call; an update of numbers without a sign reads the element so."""
    kind = op.kind.data
    assert op.value is not None
    pointer, value = address(emitter, op.dst, op.indices[0]), emitter.operand(op.value)
    if not kind.startswith("u"):
        # The type is that of the element: the value may be a literal of a wider one.
        emitter.uses.functions.setdefault(f"atomic_{kind}")
        return f"tw::atomic_{kind}<{type.name}>({pointer}, {value})"
    name = unsigned(type.bits)
    arguments = [f"reinterpret_cast<{name}*>({pointer})", f"({name})({value})"]
    return f"{bracketed(type.name)}({emitter.call(f'atomic_{kind[1:]}', arguments)})"


def _atomic(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicOp)
    kind, type = op.kind.data, emitter.element(op.dst)
    order = None if op.memory_order is None else op.memory_order.data
    if order in _RELEASES and kind != "load":
        _fence(emitter)
    pointer = address(emitter, op.dst, op.indices[0])
    if kind == "load":
        assert op.previous is not None
        emitter.constant(op.previous, Text(emitter.call("atomic_load", [pointer])))
    elif kind == "store":
        assert op.value is not None
        emitter.uses.functions.setdefault("atomic_store")
        value = emitter.operand(op.value)
        emitter.statement(f"tw::atomic_store<{type.name}>({pointer}, {value});")
    elif op.previous is None:
        emitter.statement(f"{_update(emitter, op, type)};")
    else:
        emitter.constant(op.previous, Text(_update(emitter, op, type)))
    if order in _ACQUIRES and kind != "store":
        _fence(emitter)


RULES: Mapping[str, Rule] = {"tile.atomic": _atomic}
