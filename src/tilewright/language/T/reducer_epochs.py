"""Epochs of a reducer: ``T.reducer_init``, ``T.reducer_update``, ``T.finalize_reducer``.

acc = T.alloc_reducer((M,), "float32", op="sum")
T.reducer_init(acc)                          partial results become the identity
for i, k in T.Parallel(M, K):
    T.reducer_update(acc[i], x[i, k])        each iteration contributes once
T.finalize_reducer(acc, result)              partial results are combined into `result`

A starting value is no partial result: it is combined once with each element of the result, whatever
number of threads reduced. It is the value that it had where the epoch began.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.tile import FillOp, ParallelOp, ReducerAllocOp, ReducerFinalizeOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.ir.diagnostics import SourcePosition
from tilewright.ir.diagnostics.diagnostic import locate
from tilewright.language.T import arithmetic, scalars
from tilewright.language.T.buffers import Buffer, Element
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import (
    Expr,
    as_expr,
    constant,
    convert,
    describe,
    is_python_scalar,
)
from tilewright.language.T.loop_forms import BAD_ARGUMENT, Parallel, as_sequence
from tilewright.language.T.session import effect
from tilewright.language.T.session import kernel as open_kernel
from tilewright.language.T.stock import LoadOp
from tilewright.language.T.tile_ops import region

_OPERATORS = {"sum": "+", "bitand": "&", "bitor": "|", "bitxor": "^"}


@dataclass
class _Epoch:
    """What is known of a reducer between its beginning and its end."""

    name: str
    block: Block
    """Where it began."""
    start: Expr | None
    uses: set[Operation]
    """The ops that may use the reducer."""
    is_open: bool = True
    is_in_place: bool = False


_epochs: WeakKeyDictionary[SSAValue, _Epoch] = WeakKeyDictionary()


def _combined(kind: str, one: Any, other: Any) -> Any:
    if kind in _OPERATORS:
        return arithmetic.binary(_OPERATORS[kind], one, other)
    return (scalars.max if kind == "max" else scalars.min)(one, other)


def _identity(kind: str, dtype: Dtype) -> Expr:
    """What changes nothing where it is combined."""
    if kind in _OPERATORS:
        return constant(-1 if kind == "bitand" else 0, dtype)
    if dtype.is_float and dtype.bits >= 16:
        infinite = scalars.infinity(dtype)
        return -infinite if kind == "max" else infinite
    return scalars.min_value(dtype) if kind == "max" else scalars.max_value(dtype)


def _kind(op_name: str, reducer: Any) -> tuple[Buffer, str]:
    owner = reducer.handle.owner if isinstance(reducer, Buffer) else None
    if not isinstance(reducer, Buffer) or not isinstance(owner, ReducerAllocOp):
        raise FrontendError(
            f"T.{op_name} takes a buffer of T.alloc_reducer, got {describe(reducer)}",
            code=BAD_ARGUMENT,
        )
    return reducer, owner.op.data


def reducer_init(reducer: Any, init: Any = None) -> None:
    """Begin an epoch, with a starting value that counts once."""
    open_kernel("T.reducer_init")
    buffer, kind = _kind("reducer_init", reducer)
    known = _epochs.get(buffer.handle)
    if known is not None and known.is_open:
        raise FrontendError(
            f"double T.reducer_init: the epoch of {buffer.name} is open already: end it with "
            "T.finalize_reducer first",
            code=BAD_ARGUMENT,
        )
    start = None
    if init is not None:
        given = init if is_python_scalar(init) else as_expr(init)
        if isinstance(given, Expr) and given.dtype != buffer.dtype:
            raise FrontendError(
                f"T.reducer_init: the starting value has dtype {given.dtype}, which does not match "
                f"reducer {buffer.name}, {buffer.dtype}: convert it with T.cast",
                code=BAD_ARGUMENT,
            )
        found = convert(given, buffer.dtype)
        start = Expr(found.handle, buffer.dtype)
    fill = effect(FillOp(buffer.handle, _identity(kind, buffer.dtype).handle))
    uses = set[Operation]() if known is None else known.uses
    _epochs[buffer.handle] = _Epoch(buffer.name, current().block, start, {*uses, fill})


def reducer_update(target: Any, value: Any) -> None:
    """Contribute to one element of a reducer, once for each iteration of the loop."""
    open_kernel("T.reducer_update")
    if not isinstance(target, Element):
        raise ValueError(
            f"T.reducer_update takes an element of a reducer, acc[i], got {describe(target)}"
        )
    buffer, kind = _kind("reducer_update", target.buffer)
    epoch = _epochs.get(buffer.handle)
    if epoch is None or not epoch.is_open:
        raise FrontendError(
            f"T.reducer_update of {buffer.name} before T.reducer_init: begin an epoch first",
            code=BAD_ARGUMENT,
        )
    if not _is_inside_parallel():
        raise FrontendError(
            f"T.reducer_update of {buffer.name} outside any T.Parallel: each iteration of one "
            "contributes once, and outside of it every thread would",
            code=BAD_ARGUMENT,
        )
    contribution = convert(value, buffer.dtype)
    before = target.value()
    target.write(_combined(kind, before, contribution))
    store = current().block.last_op
    epoch.uses |= {each for each in (before.handle.owner, store) if isinstance(each, Operation)}


def _is_inside_parallel() -> bool:
    """Whether a parallel loop is being traced; its op is made when it ends."""
    from tilewright.language.T.session import trace

    return trace().parallel_depth > 0


def check_epochs(body: Block) -> None:
    """At the end of a kernel: every epoch has ended, and nothing else used its reducer."""
    for op in body.ops:
        epoch = _epochs.get(op.result) if isinstance(op, ReducerAllocOp) else None
        if epoch is None:
            continue
        assert isinstance(op, ReducerAllocOp)
        name = epoch.name
        if epoch.is_open:
            raise FrontendError(
                f"{name} is never finalized: end its epoch with T.finalize_reducer({name}, dst)",
                _position(op),
                code=BAD_ARGUMENT,
            )
        users = [use.operation for use in op.result.uses]
        for other in () if epoch.is_in_place else users:
            is_read = isinstance(other, LoadOp)
            if other in epoch.uses or (is_read and not other.results[0].first_use):
                continue
            what = "read of" if is_read else "store to"
            raise FrontendError(
                f"illegal {what} reducer {name}: only T.reducer_update may use it, and its result "
                "is in the destination of T.finalize_reducer",
                _position(other),
                code=BAD_ARGUMENT,
            )


def _position(op: Operation) -> SourcePosition | None:
    found = locate(op)
    return found if isinstance(found, SourcePosition) else None


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1) -> None:
    """Combine what the threads have reduced: in place, or into `dst`."""
    open_kernel("T.finalize_reducer")
    if batch < 1:
        raise ValueError(f"T.finalize_reducer: batch must be >= 1, got {batch}")
    buffer, kind = _kind("finalize_reducer", reducer)
    total = prod(buffer.shape)
    if batch > total:
        raise ValueError(
            f"T.finalize_reducer: batch {batch} exceeds total output elements, {total}"
        )
    if total % batch:
        raise ValueError(
            f"T.finalize_reducer: batch {batch} must evenly divide the {total} elements"
        )
    into = None if dst is None else region("finalize_reducer", "dst", dst)
    epoch = _epochs.get(buffer.handle)
    if epoch is not None:
        if epoch.block is not current().block:
            raise FrontendError(
                f"T.finalize_reducer of {buffer.name} is not in the scope of its T.reducer_init: "
                "put both into the same loop or branch",
                code=BAD_ARGUMENT,
            )
        epoch.is_open = False
        epoch.is_in_place = epoch.is_in_place or into is None
    end = effect(ReducerFinalizeOp(buffer.handle, None if into is None else into.operand()))
    if epoch is not None:
        epoch.uses.add(end)
    if epoch is None or epoch.start is None:
        return
    result = buffer.whole() if into is None else into
    target, offsets, sizes = result.buffer, result.offsets, result.extents
    loop = Parallel(sizes, {})
    block, variables = loop.enter([""] * len(sizes))
    points = as_sequence(variables)
    with current().at(block):
        index = tuple(
            point if is_python_scalar(offset) and offset == 0 else point + offset
            for point, offset in zip(points, offsets, strict=True)
        )
        target[index] = _combined(kind, target[index], epoch.start)
    op = loop.close(block)
    assert isinstance(op, ParallelOp)
    effect(op)
