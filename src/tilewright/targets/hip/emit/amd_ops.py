"""Matrix cores, buffer accesses, copies to LDS, hints: what AMD's machine does alone."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.amd.ops import (
    BufferLoadOp,
    BufferStoreOp,
    IglpOp,
    InterleaveOp,
    LoadLdsOp,
    MatrixCoreOp,
    SchedBarrierOp,
    SchedGroupOp,
    SetPrioOp,
    WaitOp,
)
from tilewright.targets.cxx.emitter import MULTIPLY, OR, Emitter, Rule
from tilewright.targets.cxx.memory import address
from tilewright.targets.hip.header.matrix import matrix_function

_OUTSIDE = "int(0x80000000u)"
"""An offset that is outside of every tensor: those of buffer accesses are below 2 GiB."""
_NONTEMPORAL = 2
"""The bit of a buffer access that streams its data through the caches (``nt``, gfx9 ``slc``)."""


def _matrix(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MatrixCoreOp)
    for each in (op.a, op.b, op.c):
        emitter.element(each)
    name, text = matrix_function(op.instruction(), op.chip, op.unsigned)
    emitter.uses.generated[name] = text
    arguments = [
        address(emitter, op.c, op.c_index),
        address(emitter, op.a, op.a_index),
        address(emitter, op.b, op.b_index),
    ]
    emitter.statement(f"tw::{name}({', '.join(arguments)});")


def _descriptor(emitter: Emitter, tensor: SSAValue, elements: SSAValue | None) -> str:
    size = emitter.element(tensor).bytes
    count = "0x80000000u"
    if elements is not None:
        count = f"unsigned({emitter.operand(elements)}) * {size}u"
    return emitter.call("rsrc", [emitter.operand(tensor), count])


def _offset(emitter: Emitter, buffer: SSAValue, index: SSAValue, predicate: SSAValue | None) -> str:
    """In bytes; outside where the predicate is false."""
    size = emitter.element(buffer).bytes
    offset = f"int({emitter.operand(index, MULTIPLY)} * {size})"
    if predicate is None:
        return offset
    return f"{emitter.operand(predicate, OR)} ? {offset} : {_OUTSIDE}"


def _template(function: str, bytes: int, *, nontemporal: bool) -> str:
    return f"tw::{function}<{bytes}{f', {_NONTEMPORAL}' if nontemporal else ''}>"


def _buffer_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BufferLoadOp)
    emitter.uses.functions.setdefault("buffer_load")
    (source,), (target,) = op.src_indices, op.dst_indices
    arguments = [
        address(emitter, op.dst, target),
        _descriptor(emitter, op.src, op.elements),
        _offset(emitter, op.src, source, op.predicate),
    ]
    function = _template("buffer_load", op.bytes, nontemporal=op.nontemporal is not None)
    emitter.statement(f"{function}({', '.join(arguments)});")


def _buffer_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BufferStoreOp)
    emitter.uses.functions.setdefault("buffer_store")
    (source,), (target,) = op.src_indices, op.dst_indices
    arguments = [
        _descriptor(emitter, op.dst, op.elements),
        _offset(emitter, op.dst, target, op.predicate),
        address(emitter, op.src, source),
    ]
    function = _template("buffer_store", op.bytes, nontemporal=op.nontemporal is not None)
    emitter.statement(f"{function}({', '.join(arguments)});")


def _load_lds(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LoadLdsOp)
    emitter.uses.functions.setdefault("load_lds")
    (source,), (target,) = op.src_indices, op.dst_indices
    arguments = [
        address(emitter, op.dst, target),
        _descriptor(emitter, op.src, op.elements),
        _offset(emitter, op.src, source, op.predicate),
    ]
    emitter.statement(f"tw::load_lds<{op.bytes}>({', '.join(arguments)});")


def _interleave(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, InterleaveOp)
    emitter.uses.functions.setdefault("interleave")
    (source,), (target,) = op.src_indices, op.dst_indices
    arguments = [address(emitter, op.dst, target), address(emitter, op.src, source)]
    emitter.statement(f"tw::interleave<{op.width}>({', '.join(arguments)});")


def _hint(emitter: Emitter, function: str, *arguments: int) -> None:
    emitter.uses.functions.setdefault(function)
    emitter.statement(f"tw::{function}<{', '.join(map(str, arguments))}>();")


def _wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WaitOp)
    _hint(emitter, "wait_loads", op.loads.value.data)


def _sched_group(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SchedGroupOp)
    sync = op.sync.value.data
    _hint(emitter, "sched_group", op.mask, op.count.value.data, *([sync] if sync else []))


def _sched_barrier(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SchedBarrierOp)
    _hint(emitter, "sched_barrier", op.mask.value.data)


def _set_priority(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SetPrioOp)
    _hint(emitter, "prio", op.priority.value.data)


def _iglp(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, IglpOp)
    _hint(emitter, "iglp", op.pattern.value.data)


RULES: Mapping[str, Rule] = {
    "amd.mfma": _matrix,
    "amd.wmma": _matrix,
    "amd.buffer_load": _buffer_load,
    "amd.buffer_store": _buffer_store,
    "amd.load_lds": _load_lds,
    "amd.interleave": _interleave,
    "amd.wait": _wait,
    "amd.sched_group": _sched_group,
    "amd.sched_barrier": _sched_barrier,
    "amd.setprio": _set_priority,
    "amd.iglp": _iglp,
}
