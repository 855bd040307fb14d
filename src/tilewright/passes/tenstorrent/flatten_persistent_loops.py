"""Persistent loops of the user as a grid of tiles.

    with T.Kernel(6) as block:                              with T.Kernel(n, m) as (by, bx):
        for bx, by in T.Persistent([m, n], 6, block):  ->       ...
            ...

Every core processes several blocks anyway (`make-persistent`), and the assignment of blocks to
cores follows from the schedule of the target. The loop has to be all that the kernel does, and its
workers the blocks of the grid, so that each tile is visited once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.tile import AllocOp, AssumeOp, KernelOp, PersistentOp, YieldOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions

MAX_DIMS = 3


@dataclass(frozen=True)
class FlattenPersistentLoops(Pass):
    """Replace a persistent loop over tiles by a launch grid of the tiles."""

    name = "flatten-persistent-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                if any(isinstance(op, PersistentOp) for op in kernel.body_block.ops):
                    _drop_assumptions(kernel)
                loop = _loop_of(kernel)
                if loop is not None:
                    _flatten(kernel, loop)


def _drop_assumptions(kernel: KernelOp) -> None:
    """Erase what is assumed of the index of a worker, with the comparisons for it."""
    rewriter = Rewriter()
    for op in reversed(list(kernel.body_block.ops)):
        is_unused = is_removable(op) and not any(result.uses for result in op.results)
        if isinstance(op, AssumeOp) or (is_unused and not isinstance(op, AllocOp)):
            rewriter.erase(op)


def _loop_of(kernel: KernelOp) -> PersistentOp | None:
    """The persistent loop that is all a kernel does."""
    loops = [op for op in kernel.body_block.ops if isinstance(op, PersistentOp)]
    others = [
        op
        for op in kernel.body_block.ops
        if not (isinstance(op, (PersistentOp, AllocOp, YieldOp)) or is_removable(op))
    ]
    if len(loops) != 1 or others or len(kernel.grid) != 1:
        return None
    (loop,), (worker,) = loops, kernel.body_block.args
    is_whole = loop.index is worker and loop.wave_size == kernel.grid[0]
    users = {use.operation for use in worker.uses}
    is_known = all(_is_outside(each, kernel) for each in loop.domain)
    fits = len(loop.domain) <= MAX_DIMS
    return loop if is_whole and users == {loop} and is_known and fits else None


def _is_outside(extent: Mixed, kernel: KernelOp) -> bool:
    return isinstance(extent, int) or not kernel.is_ancestor(extent.owner)


def _flatten(kernel: KernelOp, loop: PersistentOp) -> None:
    rewriter = Rewriter()
    domain = loop.domain[::-1]
    made = KernelOp(domain, kernel.thread_extents, attributes=kernel.attributes)
    rewriter.insert_before(kernel, made)
    end = made.body_block.last_op
    assert end is not None
    body = loop.regions[0].block
    for op in list(kernel.body_block.ops):
        if isinstance(op, YieldOp) or op is loop:
            continue
        op.detach()
        made.body_block.insert_op_before(op, end)
    indices: list[SSAValue] = [*reversed(made.body_block.args)]
    for argument, index in zip(body.args, indices, strict=True):
        index.name_hint = argument.name_hint
        rewriter.replace_all_uses(argument, index)
    for op in list(body.ops):
        if op is not body.last_op:
            op.detach()
            made.body_block.insert_op_before(op, end)
    rewriter.erase(kernel)
