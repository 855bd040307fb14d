"""Atomic updates of one element, by functions of ours for every type.

What comes before a release, and after an acquire, is held there by a fence for the threads of the
scope. An update that is atomic for the GPU is so for a work-group.
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


_FENCES: Mapping[str, str] = {"cta": "fence_block", "gpu": "fence", "sys": "fence_system"}


def _fence(emitter: Emitter, op: AtomicOp) -> None:
    emitter.statement(f"{emitter.call(_FENCES[op.memory_scope], [])};")


def _function(op: AtomicOp, kind: str) -> str:
    return f"atomic_{kind}{'_system' if op.memory_scope == 'sys' else ''}"


def _update(emitter: Emitter, op: AtomicOp, type: CType) -> str:
    """The call; an update of numbers without a sign reads the element so."""
    kind = op.kind.data
    assert op.value is not None
    pointer, value = address(emitter, op.dst, op.indices[0]), emitter.operand(op.value)
    if not kind.startswith("u"):
        # The type is that of the element: the value may be a literal of a wider one.
        function = _function(op, kind)
        emitter.uses.functions.setdefault(function)
        compare = "" if op.compare is None else f"{emitter.operand(op.compare)}, "
        return f"tw::{function}<{type.name}>({pointer}, {compare}{value})"
    name = unsigned(type.bits)
    arguments = [f"reinterpret_cast<{name}*>({pointer})", f"({name})({value})"]
    return f"{bracketed(type.name)}({emitter.call(_function(op, kind[1:]), arguments)})"


def _atomic(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicOp)
    kind, type = op.kind.data, emitter.element(op.dst)
    if op.order in _RELEASES and kind != "load":
        _fence(emitter, op)
    pointer = address(emitter, op.dst, op.indices[0])
    if kind == "load":
        assert op.previous is not None
        text = emitter.call(_function(op, "load"), [pointer])
        emitter.constant(op.previous, Text(text))
    elif kind == "store":
        assert op.value is not None
        function = _function(op, "store")
        emitter.uses.functions.setdefault(function)
        value = emitter.operand(op.value)
        emitter.statement(f"tw::{function}<{type.name}>({pointer}, {value});")
    elif op.previous is None:
        emitter.statement(f"{_update(emitter, op, type)};")
    else:
        emitter.constant(op.previous, Text(_update(emitter, op, type)))
    if op.order in _ACQUIRES and kind != "store":
        _fence(emitter, op)


RULES: Mapping[str, Rule] = {"tile.atomic": _atomic}
