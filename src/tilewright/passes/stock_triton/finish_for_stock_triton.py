"""The last step before stock Triton reads the module: only ops that its parser and lowering have.

TLX extends Triton; ops that a plain release lacks are replaced by equivalents here::

    ours                                  stock Triton
    barriers as <Nxi64>                   <Nx1xi64>, one row a barrier
    ttng.wait_barrier_named               inline assembly "bar.sync"
    ttng.arrive_barrier_named             inline assembly "bar.arrive"
    arrive_barrier {perThread}            all threads synchronise, one arrives for all of them
    tlx.*, triton.* of the module         gone
    marks on layouts                      the layouts

One arrival for a whole task is sound only after the last access of its slowest warp. Releases
from 3.8 synchronise the task's threads before every arrival; for older ones
(``sync-before-arrivals``) the barrier is explicit, once for consecutive arrivals.

An op that has no equivalent in stock Triton is an error that names the op. For AMD GPUs
(``vendor=amd``) that includes everything of NVIDIA's; nothing is written as assembly there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.stock_triton import NO_EQUIVALENT, REWRITES, report, why_unsupported
from tilewright.passes.stock_triton.amd import finish_for_amd
from tilewright.passes.stock_triton.barrier_arrays import barrier_rows
from tilewright.passes.stock_triton.barriers import (
    count_tasks,
    free_named_barriers,
    sync_before_arrivals,
)
from tilewright.passes.stock_triton.clusters import (
    drop_unused_views,
    is_remote,
    reaches_out,
    synchronise_clusters,
)
from tilewright.passes.stock_triton.pairs import pair_up
from tilewright.passes.stock_triton.placed_descriptors import build_descriptors
from tilewright.passes.stock_triton.scale_arrays import view_scale_arrays


@dataclass(frozen=True)
class FinishForStockTriton(Pass):
    """Replace what stock Triton lacks."""

    name = "finish-for-stock-triton"
    old_options = {"meet-before-arrivals": "sync-before-arrivals"}

    sync_before_arrivals: bool = False
    """Synchronise the threads of a task before one of them arrives: releases before 3.8."""

    addresses: bool = True
    """Inline assembly may have addresses of buffers: releases from 3.9."""

    vendor: str = "nvidia"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if self.vendor == "amd":
            finish_for_amd(module, engine)
        else:
            self._finish_for_nvidia(module, engine)

    def _finish_for_nvidia(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        drop_unused_views(module, rewriter)
        if reaches_out(module) and not self._reach_out(module, rewriter, engine):
            return
        for name in [name for name in module.attributes if name.startswith(("tlx.", "triton."))]:
            del module.attributes[name]
        barrier_rows(module, rewriter)
        free_named_barriers(module, rewriter, engine)
        count_tasks(module)
        view_scale_arrays(module, rewriter)
        build_descriptors(module, rewriter)
        for op in list(walk(module)):
            rewrite = REWRITES.get(op.name)
            if rewrite is not None:
                rewrite(op, rewriter, engine)
        if self.sync_before_arrivals:
            sync_before_arrivals(module, rewriter)
        for op in walk(module):
            reason = why_unsupported(op)
            if reason is not None:
                report(op, reason, engine)

    def _reach_out(self, module: ModuleOp, rewriter: Rewriter, engine: DiagnosticEngine) -> bool:
        """Lower accesses to other CTAs of the cluster; False if the release cannot express them."""
        if self.addresses:
            synchronise_clusters(module, rewriter)
            return pair_up(module, rewriter, engine)
        first = next(op for op in walk(module) if is_remote(op))
        engine.error(
            first,
            "access to another CTA of the cluster requires Triton 3.9 or later",
            NO_EQUIVALENT,
        ).note(None, "earlier releases cannot pass a buffer address to inline assembly")
        return False
