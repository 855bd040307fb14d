"""Atomic updates of one element: an instruction where there is one, else a loop that swaps.

What comes before a release, and after an acquire, is held there by a fence for the threads of the
scope. An update that is atomic for the GPU is so for a block; one for other devices and the host
has functions of its own.
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
from tilewright.targets.cxx.syntax import bracketed, unsigned

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
_FENCES: Mapping[str, str] = {
    "cta": "__threadfence_block();",
    "gpu": "__threadfence();",
    "sys": "__threadfence_system();",
}
_SYSTEM = "_system"
"""The end of the names of functions that are atomic for all devices and the host."""
_SWAPPABLE = ("int", "unsigned", "unsigned long long", "unsigned short")
"""What `atomicCAS` takes."""


@dataclass(frozen=True)
class _Update:
    """The C++ of an update: the function, and the type it takes the element as."""

    function: str
    type: str
    swapped_type: str | None = None
    """The integer that is swapped, if there is no instruction."""


def _update(kind: str, type: CType, *, is_system: bool = False) -> _Update | None:
    known = _KNOWN[kind]
    if is_system:  # 16-bit floats have no such functions
        known = tuple(each for each in known if not each.startswith("__"))
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


def _swap(emitter: Emitter, op: AtomicOp, type: CType) -> str:
    """A compare-and-swap, of the bits of an element."""
    assert op.value is not None and op.compare is not None
    pointer = address(emitter, op.dst, op.indices[0])
    compare, value = emitter.operand(op.compare), emitter.operand(op.value)
    if type.bits < _MIN_BITS:
        raise _too_narrow(emitter, "cas", type)
    function = "atomicCAS"
    if op.memory_scope == "sys":
        swapped = type.name if type.name in _SWAPPABLE else unsigned(type.bits)
        function = f"tw::cas_system<{swapped}>"
        emitter.uses.functions.setdefault("cas_system")
    if type.name in _SWAPPABLE:
        return f"{function}({pointer}, {compare}, {value})"
    name = unsigned(type.bits)
    emitter.uses.functions.setdefault("bits_as")
    element = bracketed(type.name)
    given = [f"tw::bits_as<{name}>({element}({each}))" for each in (compare, value)]
    text = f"{function}(reinterpret_cast<{name}*>({pointer}), {', '.join(given)})"
    return f"tw::bits_as<{type.name}>({text})"


def _suffix(op: AtomicOp) -> str:
    return _SYSTEM if op.memory_scope == "sys" else ""


def _too_narrow(emitter: Emitter, kind: str, type: CType) -> Exception:
    return emitter.refusal(
        f"atomic {kind} on {type.bits}-bit elements is not supported: the hardware "
        "updates 16, 32 or 64 bits",
        "help: declare the tensor with 32-bit elements",
        NO_SUCH_INSTRUCTION,
    )


def _call(emitter: Emitter, op: AtomicOp, type: CType) -> str:
    kind = op.kind.data
    if kind == "cas":
        return _swap(emitter, op, type)
    pointer = address(emitter, op.dst, op.indices[0])
    assert op.value is not None
    value = emitter.operand(op.value)
    update = _update(kind, type, is_system=op.memory_scope == "sys")
    if update is None:
        raise _too_narrow(emitter, kind, type)
    if update.type != type.name:
        pointer, value = f"reinterpret_cast<{update.type}*>({pointer})", f"({update.type})({value})"
    if update.swapped_type is None:
        return f"{update.function}{_suffix(op)}({pointer}, {value})"
    function = f"{update.function}{_suffix(op)}"
    emitter.uses.functions.setdefault(function)
    return f"tw::{function}<{update.swapped_type}>({pointer}, {value})"


def _atomic(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicOp)
    kind, type = op.kind.data, emitter.element(op.dst)
    order, fence = op.order, _FENCES[op.memory_scope]
    if order in _RELEASES and kind != "load":
        emitter.statement(fence)
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
        converted = text if _as_is(op, type) else f"({type.name})({text})"
        emitter.constant(op.previous, Text(converted))
    if order in _ACQUIRES and kind != "store":
        emitter.statement(fence)


def _as_is(op: AtomicOp, type: CType) -> bool:
    """Whether the update returns the type of the element."""
    if op.kind.data == "cas":
        return True
    update = _update(op.kind.data, type, is_system=op.memory_scope == "sys")
    return update is not None and update.type == type.name


def _red_add(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, RedAddOp)
    (source,), (destination,) = op.src_indices, op.dst_indices
    function = f"red_add_{_REDUCED[emitter.element(op.dst).name]}"
    emitter.uses.functions.setdefault(function)
    arguments = f"{address(emitter, op.dst, destination)}, {address(emitter, op.src, source)}"
    emitter.statement(f"tw::{function}<{op.bytes}>({arguments});")


RULES: Mapping[str, Rule] = {"tile.atomic": _atomic, "nv.red_add": _red_add}
