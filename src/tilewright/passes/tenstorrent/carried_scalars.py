"""Loop-carried floats in tiles of one element.

    m = -inf                                    T.fill(m, -inf)
    for k in range(n):                    ->    for k in range(n):
        m = max(m, now)                             m[0] = max(m[0], now)

All of them are read at the beginning of an iteration and written at its end, so that they may
change places.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IndexType
from xdsl.ir import SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tensix.formats import format_of
from tilewright.dialects.tile import AllocOp, FillOp, KernelOp, ParallelOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tile.index_builder import IndexBuilder


def carry_in_tiles(loop: ForOp, kernel: KernelOp) -> None:
    """Replace the floats that a loop carries by buffers of one element."""
    carried = [n for n, each in enumerate(loop.results) if _is_held(each)]
    if not carried:
        return
    block = loop.body.block
    end = block.last_op
    assert isinstance(end, ScfYieldOp)
    buffers = [_started(loop, n, kernel) for n in carried]
    first = block.first_op
    assert first is not None
    for n, buffer in zip(carried, buffers, strict=True):
        _replace(block.args[1 + n], _loaded(IndexBuilder(first), buffer))
    write = ParallelOp((1,))
    Rewriter().insert_before(end, write, end)
    code = IndexBuilder(end).inside(write.body.block)
    for n, buffer in zip(carried, buffers, strict=True):
        code.add(StoreOp(end.operands[n], buffer, write.arguments))
    _drop(loop, end, carried, buffers)


def _is_held(value: SSAValue) -> bool:
    return isinstance(value.type, AnyFloat) and format_of(value.type) is not None


def _started(loop: ForOp, position: int, kernel: KernelOp) -> SSAValue:
    """A buffer that holds what a value is before the loop."""
    start = loop.init_args[position]
    name = loop.body.block.args[1 + position].name_hint or "carried"
    alloc = AllocOp(buffer_type(start.type, (1,), Space.FRAGMENT), name=name)
    first = kernel.body_block.first_op
    assert first is not None
    Rewriter().insert_before(first, alloc, loop)
    Rewriter().insert_before(loop, FillOp(alloc.result, start), loop)
    return alloc.result


def _loaded(code: IndexBuilder, buffer: SSAValue) -> SSAValue:
    zero = code.add(ConstantOp.of(0, IndexType())).results[0]
    return code.add(LoadOp(buffer, [zero])).results[0]


def _replace(value: SSAValue, by: SSAValue) -> None:
    by.name_hint = value.name_hint
    value.replace_all_uses_with(by)


def _drop(loop: ForOp, end: ScfYieldOp, carried: list[int], buffers: list[SSAValue]) -> None:
    """The loop without values that it no longer carries."""
    rest = [n for n in range(len(loop.results)) if n not in carried]
    block = loop.body.block
    for n in reversed(carried):
        block.erase_arg(block.args[1 + n])
    Rewriter().replace_op(end, ScfYieldOp([end.operands[n] for n in rest]), ())
    loop.body.detach_block(block)
    body = type(loop.body)(block)
    bounds = (loop.lower_bound, loop.upper_bound, loop.step)
    starts = [loop.init_args[n] for n in rest]
    made = ForOp(*bounds, starts, body, unsigned=loop.unsigned is not None)
    made.attributes.update(loop.attributes)
    Rewriter().insert_before(loop, made, loop)
    following = IndexBuilder(loop)
    results: list[SSAValue] = list(loop.results)
    for n, buffer in zip(carried, buffers, strict=True):
        results[n] = _loaded(following, buffer)
    for n, each in zip(rest, made.results, strict=True):
        results[n] = each
    Rewriter().replace_op(loop, [], results)
