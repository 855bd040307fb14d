"""Checks of tensors that are sharded in L1, and of circular buffers that are shards.

shards     a shape that is not empty; one core a shard, all different and inside the grid
buffers    a circular buffer on a tensor has the pages, format and page size of its shard, and
           every core that has blocks holds a shard
traffic    pages of such a buffer are pushed once: a second push would be of other pages; no
           transfer from or to the tensor remains
accessors  marked as sharded if and only if the tensor is
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.dialects.tensix.buffers import CBPopOp, CBPushOp, cb_index
from tilewright.dialects.tensix.noc import AccessorOp
from tilewright.dialects.tensix.plan import CircularBufferPlan, Plan, TensorPlan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.shards import ShardPlan
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.verify_kernels import Problem

BAD_SHARDS = "TW7121"


def shard_problems(plan: Plan) -> Iterator[str]:
    """What is wrong with the shards of a plan."""
    for tensor in plan.tensors:
        if tensor.shards is not None:
            yield from _shape_problems(tensor, tensor.shards, plan.cores.grid)
    for cb in plan.cbs:
        if cb.tensor is not None:
            yield from _buffer_problems(plan, cb, cb.tensor)


def _shape_problems(tensor: TensorPlan, shards: ShardPlan, grid: tuple[int, int]) -> Iterator[str]:
    rows, columns = shards.tensor
    if min(shards.shape) < 1:
        yield f"tensor '{tensor.name}': shards of {shards.shape[0]} x {shards.shape[1]} tiles"
        return
    if rows * columns != tensor.pages or columns != tensor.tiles[-1]:
        yield (
            f"tensor '{tensor.name}' has {tensor.pages} tiles in rows of {tensor.tiles[-1]}, its "
            f"shards are cut from {rows} x {columns}"
        )
    down, across = shards.grid
    if down * across != len(shards.cores) or len(set(shards.cores)) != len(shards.cores):
        yield (
            f"tensor '{tensor.name}': {down} x {across} shards on {len(set(shards.cores))} "
            f"different cores of {len(shards.cores)}: every shard is on a core of its own"
        )
    for x, y in shards.cores:
        if not (0 <= x < grid[0] and 0 <= y < grid[1]):
            yield (
                f"tensor '{tensor.name}': a shard is on core ({x}, {y}), outside the core grid of "
                f"{grid[0]} x {grid[1]}"
            )


def _buffer_problems(plan: Plan, cb: CircularBufferPlan, name: str) -> Iterator[str]:
    tensor = next((each for each in plan.tensors if each.name == name), None)
    if tensor is None or tensor.shards is None:
        yield f"circular buffer {cb.index} is set on '{name}', which is no sharded tensor"
        return
    expected = (tensor.shards.core_pages, tensor.page_bytes, tensor.format)
    found = (cb.pages, cb.page_bytes, cb.format)
    if found != expected:
        yield (
            f"circular buffer {cb.index} has {found[0]} pages of {found[1]} B in {found[2]}, the "
            f"shards of '{name}' have {expected[0]} pages of {expected[1]} B in {expected[2]}"
        )
    without = [each for each in plan.cores.active if (each.x, each.y) not in tensor.shards.cores]
    if without:
        yield (
            f"core ({without[0].x}, {without[0].y}) has blocks and no shard of '{name}', on which "
            f"circular buffer {cb.index} is set"
        )


def shard_op_problems(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    """Calls of kernels that do not suit the shards of the plan."""
    on_shards = {cb.index: cb for cb in plan.cbs if cb.tensor is not None}
    in_place = {cb.tensor for cb in on_shards.values()}
    sharded = {each.name for each in plan.tensors if each.shards is not None}
    for kernel in kernels:
        for op in walk(kernel):
            if isinstance(op, AccessorOp) and op.label is not None:
                yield from _accessor_problems(op, op.label.data, sharded, in_place)
            elif isinstance(op, (CBPushOp, CBPopOp)):
                index = cb_index(op.cb)
                if index in on_shards:
                    yield from _call_problems(op, on_shards[index], kernel)


def _accessor_problems(
    op: AccessorOp, name: str, sharded: set[str], in_place: set[str | None]
) -> Iterator[Problem]:
    if (op.sharded is not None) != (name in sharded):
        what = "sharded" if name in sharded else "not sharded"
        yield Problem(
            op, f"the accessor of '{name}' states another layout: the tensor is {what}", BAD_SHARDS
        )
    if name in in_place:
        yield Problem(
            op,
            f"'{name}' is used in place, through a circular buffer on its shards, and has an "
            "accessor too",
            BAD_SHARDS,
        )


def _call_problems(
    op: CBPushOp | CBPopOp, cb: CircularBufferPlan, kernel: KernelOp
) -> Iterator[Problem]:
    if op.parent is not kernel.body_block or constant_integer(op.pages) != cb.pages:
        yield Problem(
            op,
            f"'{op.name}' on circular buffer {cb.index}: the shard of '{cb.tensor}' is pushed and "
            f"popped once, as a whole, {cb.pages} pages",
            BAD_SHARDS,
        )
