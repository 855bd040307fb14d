"""What kernels do with a circular buffer that is a shard of a tensor.

    input    reader   reserve n ; push n            before the first block
             compute  wait n ; ... ; pop n          around all blocks
    output   compute  reserve n ; ... ; push n      around all blocks
             writer   wait n ; pop n                after the last block

n is the pages of the shard. In between, the compute kernel indexes tiles: tile (r, c) of a block is
page ``(row mod high + r) * wide + column mod wide + c`` of a shard of high x wide tiles.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tensix.buffers import (
    CBCountOp,
    CBPopOp,
    CBPushOp,
    CBReserveOp,
    CBWaitOp,
)
from tilewright.dialects.tensix.shards import ShardPlan
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.buffer_uses import buffers_written
from tilewright.passes.tenstorrent.circular_buffers import plan_of
from tilewright.passes.tenstorrent.kernel_code import KernelCode
from tilewright.passes.tenstorrent.move_pages import Translate
from tilewright.passes.tenstorrent.tensor_layouts import NONE, TensorLayout

_Calls = tuple[type[CBCountOp], ...]
_BEFORE: dict[tuple[Role, bool], _Calls] = {
    (Role.READER, True): (CBReserveOp, CBPushOp),
    (Role.COMPUTE, True): (CBWaitOp,),
    (Role.COMPUTE, False): (CBReserveOp,),
}
_AFTER: dict[tuple[Role, bool], _Calls] = {
    (Role.COMPUTE, True): (CBPopOp,),
    (Role.COMPUTE, False): (CBPushOp,),
    (Role.WRITER, False): (CBWaitOp, CBPopOp),
}


def before_blocks(code: KernelCode, owner: Operation, role: Role) -> None:
    """Claim the pages of the shards of a program or kernel, before the first block."""
    _calls(code, owner, role, _BEFORE)


def after_blocks(code: KernelCode, owner: Operation, role: Role) -> None:
    """Give the pages of the shards back, after the last block."""
    _calls(code, owner, role, _AFTER)


def _calls(
    code: KernelCode, owner: Operation, role: Role, calls: dict[tuple[Role, bool], _Calls]
) -> None:
    for op in walk(owner):
        plan = plan_of(op.result) if isinstance(op, AllocOp) else None
        if isinstance(op, AllocOp) and plan is not None and plan.is_in_place:
            for call in calls.get((role, plan.producer == Role.READER.value), ()):
                code.add(call(code.cb(op.result), code.constant(plan.pages)))


def outputs_in_place(op: Operation) -> list[SSAValue]:
    """The buffers that an op computes in a shard."""
    found: list[SSAValue] = []
    for buffer in buffers_written(op):
        plan = plan_of(buffer)
        if plan is not None and plan.is_in_place:
            found.append(buffer)
    return found


def first_tile(
    code: KernelCode,
    layout: TensorLayout,
    shards: ShardPlan,
    offsets: tuple[Mixed, ...],
    translate: Translate,
) -> SSAValue:
    """The page of the shard that holds the first tile of a box."""
    *extents, rows, _ = layout.tiles
    row = code.constant(0)
    for dim, extent in zip(layout.leading, extents, strict=True):
        row = code.plus(code.times(row, extent), translate(offsets[dim]))
    tiles = [code.times(row, rows), code.constant(0)]
    for axis, dim in enumerate((layout.row_dim, layout.column_dim)):
        if dim != NONE:
            block = code.quotient(translate(offsets[dim]), layout.granules[axis])
            more = code.times(block, layout.granule_tiles[axis])
            tiles[axis] = code.plus(tiles[axis], more)
    local = [
        tile if size >= whole else code.remainder(tile, size)
        for tile, size, whole in zip(tiles, shards.shape, shards.tensor, strict=True)
    ]
    return code.plus(code.times(local[0], shards.shape[1]), local[1])
