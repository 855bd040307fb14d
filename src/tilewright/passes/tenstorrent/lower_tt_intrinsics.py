"""Lower ops on blocks to calls on tiles: circular buffers, DST sections, math, packs.

    tensix.elementwise tiles(1, 1) ins(a, b) outs(c)   ->   cb_wait a, 1 ; cb_wait b, 1
                                                            dst_acquire
                                                            binary add a[0], b[0] -> 0
                                                            dst_commit ; dst_wait
                                                            cb_reserve c, 1 ; pack 0 -> c
                                                            cb_push c, 1 ; dst_release
                                                            cb_pop a, 1 ; cb_pop b, 1

Space in the output is reserved after the commit: math does not hold DST while the packer waits for
the writer. Inputs are popped by the op that reads them last. Inits and formats are inserted at
the end, where the configuration changes (`configure_compute`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, ReleaseOp, ShardTileOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, GemmOp, ReduceOp, TransposeOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.compute_blocks import ComputeCode
from tilewright.passes.tenstorrent.configure_compute import configure
from tilewright.passes.tenstorrent.k_loop_code import lower_k_loop
from tilewright.passes.tenstorrent.k_loops import epilogue_of
from tilewright.passes.tenstorrent.reports import reporting


@dataclass(frozen=True)
class LowerTtIntrinsics(Pass):
    """Lower the compute kernel to calls on tiles."""

    name = "lower-tt-intrinsics"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in module.ops:
            if isinstance(kernel, KernelOp) and kernel.role is Role.COMPUTE:
                before = engine.error_count
                with reporting(engine):
                    _lower(kernel)
                if engine.error_count == before:
                    configure(kernel)


def _lower(kernel: KernelOp) -> None:
    rewriter = Rewriter()
    code = ComputeCode(kernel)
    code.begin()
    fused = {epilogue_of(op): op for op in walk(kernel) if isinstance(op, MatmulKLoopOp)}
    for op in list(walk(kernel)):
        if op.parent is None:
            continue
        if isinstance(op, MatmulKLoopOp) or isinstance(op.parent_op(), MatmulKLoopOp):
            continue  # with its epilogue, before which loads of the epilogue are waited for
        code.at(op)
        if isinstance(op, ElementwiseOp):
            loop = fused.get(op)
            if loop is None:
                code.elementwise(op)
            else:
                lower_k_loop(code, loop, op)
                rewriter.erase(loop)
        elif isinstance(op, GemmOp):
            code.gemm(op)
        elif isinstance(op, ReduceOp):
            code.reduction(op)
        elif isinstance(op, TransposeOp):
            code.transposition(op)
        elif isinstance(op, ReleaseOp):
            code.release(op.buffer)
        elif isinstance(op, ShardTileOp):
            code.shard_tiles[op.buffer] = op.index
        else:
            continue
        rewriter.erase(op)
    code.finish()
    for op in [op for op in walk(kernel) if isinstance(op, AllocOp)]:
        if not op.result.uses:
            rewriter.erase(op)
    _drop_empty(kernel.body_block)


def _drop_empty(block: Block) -> None:
    """Erase loops and branches in which nothing is left."""
    for op in list(block.ops):
        if isinstance(op, (ForOp, IfOp)) and not op.results:
            for region in op.regions:
                for inner in region.blocks:
                    _drop_empty(inner)
            if all(_is_empty(inner) for region in op.regions for inner in region.blocks):
                Rewriter().erase(op)


def _is_empty(block: Block) -> bool:
    return block.first_op is block.last_op
