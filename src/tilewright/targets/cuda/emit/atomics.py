"""Atomic updates of one element: an instruction where there is one, else a loop that swaps.

What comes before a release, and after an acquire, is held there by a fence for the whole GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.dialects.nv.updates import RedAddOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.ir.codes.shared import NO_SUCH_INSTRUCTION
from tilewright.targets.cxx.emitter import Emitter, Rule, Text
from tilewright.targets.cxx.flavour import CType
from tilewright.targets.cxx.memory import address
from tilewright.targets.cxx.syntax import unsigned

_INSTRUCTIONS: Mapping[str, str] = {
    "add": "atomicAdd",
    "max": "atomicMax",
    "min": "atomicMin",
    "umax": "atomicMax",
    "umin": "atomicMin",
    "and": "atomicAnd",
    "or": "atomicOr",
    "xor": "atomicXor",
    "exch": "atomicExch",
}
_SIGNED, _UNSIGNED = ("int", "long long"), ("unsigned", "unsigned long long")
_FLOATS = ("float", "double", "__half", "__nv_bfloat16")
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "add": ("int", "unsigned long long", *_FLOATS),
    "max": _SIGNED,
    "min": _SIGNED,
    "umax": _UNSIGNED,
    "umin": _UNSIGNED,
    "and": ("int", "unsigned long long"),
    "or": ("int", "unsigned long long"),
    "xor": ("int", "unsigned long long"),
    "exch": ("int", "unsigned long long", "float"),
}
"""The types for which CUDA has an instruction."""
_SWAPPED: Mapping[str, str] = {
    "add": "atomic_add",
    "max": "atomic_max",
    "min": "atomic_min",
    "umax": "atomic_max",
    "umin": "atomic_min",
}
_REDUCED: Mapping[str, str] = {"float": "f32", "__half": "f16x2", "__nv_bfloat16": "bf16x2"}
"""How ``red`` names what 32 bits of a vector hold."""
_MIN_BITS = 16
"""`atomicCAS` supports nothing smaller."""
_RELEASES = ("release", "acq_rel", "seq_cst")
_ACQUIRES = ("consume", "acquire", "acq_rel", "seq_cst")
_FENCE = "__threadfence();"


@dataclass(frozen=True)
class _Update:
    """The C++ of an update: the function, and the type it takes the element as."""

    function: str
    type: str
    swapped_type: str | None = None
    """The integer that is swapped, if there is no instruction."""


def _update(kind: str, type: CType) -> _Update | None:
    known = _KNOWN[kind]
    if type.name in known:
        return _Update(_INSTRUCTIONS[kind], type.name)
    if type.is_float:
        name = type.name
    else:  # the same bits, as the numbers that the op or the instruction wants
        name = unsigned(type.bits)
        if name in known:
            return _Update(_INSTRUCTIONS[kind], name)
        name = name if kind.startswith("u") else type.name
    if kind not in _SWAPPED or type.bits < _MIN_BITS:
        return None
    return _Update(_SWAPPED[kind], name, unsigned(type.bits))


def _call(emitter: Emitter, op: AtomicOp, type: CType) -> str:
    kind = op.kind.data
    pointer = address(emitter, op.dst, op.indices[0])
    assert op.value is not None
    value = emitter.operand(op.value)
    update = _update(kind, type)
    if update is None:
        raise emitter.refusal(
            f"atomic {kind} on {type.bits}-bit elements is not supported: the hardware "
            "updates 16, 32 or 64 bits",
            "help: declare the tensor with 32-bit elements",
            NO_SUCH_INSTRUCTION,
        )
    if update.type != type.name:
        pointer, value = f"reinterpret_cast<{update.type}*>({pointer})", f"({update.type})({value})"
    if update.swapped_type is None:
        return f"{update.function}({pointer}, {value})"
    emitter.uses.functions.setdefault(update.function)
    return f"tw::{update.function}<{update.swapped_type}>({pointer}, {value})"


def _atomic(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicOp)
    kind, type = op.kind.data, emitter.element(op.dst)
    order = None if op.memory_order is None else op.memory_order.data
    if order in _RELEASES and kind != "load":
        emitter.statement(_FENCE)
    if kind == "load":
        assert op.previous is not None
        pointer = address(emitter, op.dst, op.indices[0])
        text = f"*reinterpret_cast<volatile const {type.name}*>({pointer})"
        emitter.constant(op.previous, Text(text))
    elif kind == "store":
        assert op.value is not None
        pointer = address(emitter, op.dst, op.indices[0])
        value = emitter.operand(op.value)
        emitter.statement(f"*reinterpret_cast<volatile {type.name}*>({pointer}) = {value};")
    elif op.previous is None:
        emitter.statement(f"{_call(emitter, op, type)};")
    else:
        text = _call(emitter, op, type)
        converted = text if _as_is(kind, type) else f"({type.name})({text})"
        emitter.constant(op.previous, Text(converted))
    if order in _ACQUIRES and kind != "store":
        emitter.statement(_FENCE)


def _as_is(kind: str, type: CType) -> bool:
    """Whether the update returns the type of the element."""
    update = _update(kind, type)
    return update is not None and update.type == type.name


def _red_add(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, RedAddOp)
    (source,), (destination,) = op.src_indices, op.dst_indices
    function = f"red_add_{_REDUCED[emitter.element(op.dst).name]}"
    emitter.uses.functions.setdefault(function)
    arguments = f"{address(emitter, op.dst, destination)}, {address(emitter, op.src, source)}"
    emitter.statement(f"tw::{function}<{op.bytes}>({arguments});")


RULES: Mapping[str, Rule] = {"tile.atomic": _atomic, "nv.red_add": _red_add}
