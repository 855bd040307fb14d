"""Buffers in use by an asynchronous unit stay allocated until the wait for it.

Triton reuses the bytes of a buffer after its last use. An MMA or a copy that has been issued uses
its buffers until the wait for it, and that wait does not mention them::

    %acc = warp_group_dot %a, %b                 last use of %a and %b
    %sum = tt.reduce %other                      its scratch memory may alias the bytes of %a
    %out = warp_group_dot_wait %acc {pendings = 0}

Where tensors are computed between the two, the buffer is retained to the end of the function by a
``ttg.local_dealloc`` there. Everywhere else its bytes stay free for reuse: an epilogue after the
last wait still takes those of the multi-buffered operands.

Buffers from outside that a loop uses live as long as the loop, those that several tasks use as long
as all tasks; what follows in the same body or task need not be considered. Where barriers signal
completion, the next wait for one is taken for the right one. On AMD GPUs, where groups of copies
are the only such unit and a wait for all of them is exact, a buffer is retained until that wait,
and one that is used after it needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation

from tilewright.dialects.tt import FuncOp, ReturnOp
from tilewright.dialects.ttg import LocalAllocOp
from tilewright.dialects.ttg.context import PARTITIONS_OP, threads_per_warp_at
from tilewright.dialects.ttg.memory import LocalDeallocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.memdesc_types import root_buffer

_LOOPS = ("scf.for", "scf.while")
_MMAS = ("ttng.warp_group_dot", "ttng.warp_group_dot_wait")
# Asynchronous uses of shared memory, by op, and the op that waits for all of them.
_WAITS = {
    "ttng.warp_group_dot": "ttng.warp_group_dot_wait",
    "ttng.async_tma_copy_local_to_global": "ttng.async_tma_store_wait",
    "ttng.async_tma_reduce": "ttng.async_tma_store_wait",
    "ttng.async_tma_scatter": "ttng.async_tma_store_wait",
    "ttng.async_tma_copy_global_to_local": "ttng.wait_barrier",
    "ttng.tc_gen5_mma": "ttng.wait_barrier",
    "ttng.tc_gen5_mma_scaled": "ttng.wait_barrier",
    "ttng.tmem_copy": "ttng.wait_barrier",
    "ttg.async_copy_global_to_local": "ttg.async_wait",
    "amdg.buffer_load_to_local": "ttg.async_wait",
}
_AMD_WAVE = 64
_COUNTS = ("pendings", "num")


def keep_buffers(module: ModuleOp) -> None:
    """Lengthen the lives of buffers in `module`, in place."""
    rewriter = Rewriter()
    retained: dict[LocalAllocOp, list[Operation | None]] = {}
    for op in walk(module):
        if op.name in _WAITS:
            for each in _buffers(op):
                is_open, wait = _is_open_when_tensors_follow(op, each)
                if is_open:
                    retained.setdefault(each, []).append(wait)
    for alloc, waits in retained.items():
        if any(isinstance(use.operation, LocalDeallocOp) for use in alloc.result.uses):
            continue
        last = _last_of(waits, alloc)
        if last is not None:
            rewriter.insert_after(last, LocalDeallocOp(alloc.result))
            continue
        for end in _ends(alloc):
            rewriter.insert_before(end, LocalDeallocOp(alloc.result))


def _last_of(waits: list[Operation | None], alloc: LocalAllocOp) -> Operation | None:
    """The last of the waits that end all asynchronous uses, where they are in `alloc`'s block.

    On AMD GPUs only, where a wait for all groups is exact.
    """
    if threads_per_warp_at(alloc) != _AMD_WAVE:
        return None
    found = [wait for wait in waits if wait is not None and wait.parent is alloc.parent]
    if len(found) < len(waits) or alloc.parent is None:
        return None
    order = {op: index for index, op in enumerate(alloc.parent.ops)}
    return max(found, key=lambda wait: order[wait])


def _buffers(op: Operation) -> Iterator[LocalAllocOp]:
    for operand in op.operands:
        if isinstance(operand.type, MemDescType):
            owner = root_buffer(operand).owner
            if isinstance(owner, LocalAllocOp):
                yield owner


def _is_open_when_tensors_follow(
    op: Operation, buffer: LocalAllocOp
) -> tuple[bool, Operation | None]:
    """Whether tensors are computed after the last use of `buffer` and before `op` completes.

    And the wait for that, if it is known.
    """
    wait = _WAITS[op.name]
    is_amd = threads_per_warp_at(op) == _AMD_WAVE
    keeper = next((each for each in reversed(_around(op)) if _keeps(each, buffer)), None)
    at, follow = op, False
    while True:
        after = at.next_op
        while after is not None:
            if after.name == wait and _waits_for_all(after):
                return follow and not (is_amd and _is_used_after(buffer, after)), after
            follow = follow or (keeper is None and _computes(after))
            after = after.next_op
        parent = at.parent_op()
        if parent is None or isinstance(parent, FuncOp):
            # Beyond the end of a block that is not the last one nothing is analysed.
            return follow or not isinstance(at.parent and at.parent.last_op, ReturnOp), None
        at, keeper = parent, None if parent is keeper else keeper


def _is_used_after(buffer: LocalAllocOp, wait: Operation) -> bool:
    """Whether a later op in the block of `wait` uses `buffer`: then it lives beyond the wait."""
    later = wait.next_op
    while later is not None:
        for op in walk(later):
            for operand in op.operands:
                if isinstance(operand.type, MemDescType) and root_buffer(operand) is buffer.result:
                    return True
        later = later.next_op
    return False


def _around(op: Operation) -> list[Operation]:
    """The ops that `op` is inside of, innermost first."""
    found: list[Operation] = []
    parent = op.parent_op()
    while parent is not None:
        found.append(parent)
        parent = parent.parent_op()
    return found


def _keeps(op: Operation, buffer: LocalAllocOp) -> bool:
    """Whether a buffer that is used inside of `op` lives to its end."""
    if op.name in _LOOPS:
        return not op.is_ancestor(buffer)
    if not isinstance(op, WarpSpecializeOp):
        return False
    captured = (
        value for inner in walk(op) if inner.name == PARTITIONS_OP for value in inner.operands
    )
    return any(root_buffer(value) is buffer.result for value in (*op.operands, *captured))


def _waits_for_all(op: Operation) -> bool:
    counts = [op.properties.get(name, op.attributes.get(name)) for name in _COUNTS]
    return all(count.value.data == 0 for count in counts if isinstance(count, IntegerAttr))


def _computes(op: Operation) -> bool:
    if op.name in _MMAS:
        return False
    values = (*op.operands, *op.results)
    return bool(op.regions) or any(is_tensor(value.type) for value in values)


def _ends(alloc: LocalAllocOp) -> list[Operation]:
    """The ops before which the life of a buffer ends."""
    block = alloc.parent
    assert isinstance(block, Block)
    function = block.parent_op()
    if isinstance(function, FuncOp):
        return [op for op in walk(function) if isinstance(op, ReturnOp)]
    assert block.last_op is not None
    return [block.last_op]
