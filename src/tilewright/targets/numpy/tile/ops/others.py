"""Reducers, checks, output, and single instructions."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.nv.machine import CpAsyncOp, Dp4aOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.extern import ExternOp
from tilewright.dialects.tile.hints import AssertOp, AssumeOp, PrintOp
from tilewright.dialects.tile.names import INJECTED
from tilewright.dialects.tile.reducers import ReducerAllocOp, ReducerFinalizeOp
from tilewright.dialects.tile.regions import PtrAtOp, PtrOfOp
from tilewright.dialects.tile.types import is_buffer_or_region
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.elementwise import elementwise
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.tile.ops.tiles import whole
from tilewright.targets.numpy.values import Expr


def _reducer(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ReducerAllocOp)
    shape = op.type.get_shape()
    scalar = emitter.element_type(op.type)
    text = f"rt.alloc({op.buffer_name!r}, {shape}, {scalar.name}, 'fragment', {emitter.site()})"
    emitter.memory[op.result] = emitter.statement(text, hint=op.buffer_name)


def _finalize(base: Emitter, op: Operation) -> None:
    """There is one of each element here, so nothing is left to combine."""
    emitter = tile(base)
    assert isinstance(op, ReducerFinalizeOp)
    if op.dst is not None:
        emitter.call("copy({0}, {1})", whole(emitter, op.reducer), whole(emitter, op.dst))


def _assert(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, AssertOp)
    lanes = emitter.lanes or emitter.threads
    message = op.message.data.replace("{", "{{").replace("}", "}}")
    text = f"rt.check({{0}}, {message!r}"
    if lanes is None:
        emitter.effect(f"{text})", emitter.expr(op.condition))
    else:
        emitter.effect(f"{text}, {{1}})", emitter.expr(op.condition), lanes)


def _assume(base: Emitter, op: Operation) -> None:
    """An assumption that compiled code relies on unchecked; a checked run verifies it."""
    emitter = tile(base)
    assert isinstance(op, AssumeOp)
    if INJECTED in op.attributes:
        return
    lanes = emitter.lanes or emitter.threads
    given = _given(op.condition)
    exprs = [emitter.expr(op.condition), *map(emitter.expr, given)]
    names = tuple(_name(each) for each in given)
    message = op.message.data if op.message is not None else ""
    listed = "".join(f"{{{index}}}, " for index in range(1, len(exprs)))
    options = "" if lanes is None else f", {{{len(exprs)}}}"
    text = f"rt.assumed({{0}}, {_literal(message)}, {_literal(names)}, ({listed}){options})"
    emitter.effect(text, *exprs, *([] if lanes is None else [lanes]))


def _literal(value: object) -> str:
    return repr(value).replace("{", "{{").replace("}", "}}")


def _given(condition: SSAValue) -> list[SSAValue]:
    """The values that a condition is computed from, by their source names."""
    found: dict[SSAValue, None] = {}
    work = [condition]
    while work:
        value = work.pop()
        owner = value.owner
        if isinstance(owner, ConstantOp):
            continue
        is_computed = isinstance(owner, Operation) and owner.name.startswith("arith.")
        if (
            isinstance(owner, Operation)
            and is_computed
            and (value is condition or value.name_hint is None)
        ):
            work += reversed(owner.operands)
        else:
            found[value] = None
    return list(found)


def _name(value: SSAValue) -> str:
    owner = value.owner
    if value.name_hint is None and isinstance(owner, LoadOp):
        return f"an element of {base_of(owner.memref).name_hint or 'a buffer'}"
    return value.name_hint or "a value in it"


def _print(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, PrintOp)
    lanes = emitter.lanes or emitter.threads
    exprs = [
        emitter.buffer(value) if is_buffer_or_region(value.type) else emitter.expr(value)
        for value in op.values
    ]
    message = op.message.data.replace("{", "{{").replace("}", "}}")
    listed = "".join(f", {expr.text}" for expr in exprs)
    varies = lanes is not None and (emitter.divergence or any(expr.axes for expr in exprs))
    options = f", lanes={lanes.text}" if lanes is not None and varies else ""
    emitter.effect(f"rt.print({message!r}{listed}{options})", *exprs, *([lanes] if lanes else []))


def _nothing(base: Emitter, op: Operation) -> None:
    """An annotation without effect on a run."""


def _extern(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ExternOp)
    raise emitter.unsupported(
        f"'{op.callee.data}' is CUDA source, which the NumPy target cannot run",
        "express it with T operations",
    )


def _pointer(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, PtrOfOp)
    if op.base in emitter.private:
        raise emitter.unsupported(
            "the address of thread-private memory is not supported by the NumPy target"
        )
    index = [emitter.expr(each) for each in op.indices]
    listed = "".join(f", {expr.text}" for expr in index)
    text = f"pointer({{0}}{listed})"
    emitter.memory[op.result] = emitter.pure(text, emitter.buffer(op.base), *index, hint="pointer")


def _address(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, PtrAtOp)
    scalar = emitter.element_type(op.pointee)
    address = emitter.uniform(op.address, "the address of a tensor")
    text = f"rt.pointer_at({{0}}, {scalar.name}, {op.divisor})"
    emitter.memory[op.result] = emitter.pure(text, address, hint="pointer")


def _cp_async(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, CpAsyncOp)
    lanes = emitter.lanes or emitter.threads or Expr("None", 0, 0, 0)
    operands = [lanes, emitter.buffer(op.dst), emitter.buffer(op.src)]
    text = f"rt.cp_async({{0}}, {{1}}, {{2}}, {op.bytes.value.data}, {emitter.site()}"
    if op.predicate is not None:
        operands.append(emitter.expr(op.predicate))
        text += ", {3}"
    emitter.call(f"{text})", *operands)


def _dp4a(base: Emitter, op: Operation) -> None:
    assert isinstance(op, Dp4aOp)
    elementwise(base, op, "dp4a({0}, {1}, {2})")


def _convertf(base: Emitter, op: Operation) -> None:
    """Another format of the same width: through one that holds both."""
    target = base.scalar_type(op.results[0])
    elementwise(base, op, f"narrow(to_single({{0}}), {target.name})")


RULES: dict[str, Rule] = {
    "arith.convertf": _convertf,
    "tile.reducer.alloc": _reducer,
    "tile.reducer.finalize": _finalize,
    "tile.assert": _assert,
    "tile.assume": _assume,
    "tile.print": _print,
    "tile.source": _nothing,
    "tile.ptr_at": _address,
    "tile.ptr_of": _pointer,
    "nv.cp_async": _cp_async,
    "tile.extern": _extern,
    "nv.dp4a": _dp4a,
}
