"""`double-threads`: twice as many threads for a block, where the kernel never names one.

    tile.kernel ... threads(128) { ... }      ->      tile.kernel ... threads(256) { ... }

Tile ops and parallel loops mean the same for every number of threads, and with twice as many each
owns half of the elements. A kernel that uses thread indices, roles, arrive counts or per-thread
updates, pins a fragment layout, or sets the number of blocks per SM, stays as it is.

Not part of a pipeline: `targets.cuda.compile` tries it when registers spill.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.tile import AllocOp, KernelOp, ParallelOp, ReduceOp, Space
from tilewright.dialects.tile import names as tile_names
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

_MAX_THREADS = 1024

_FOR_ALL = frozenset(
    f"tile.{name}"
    for name in (
        "alloc",
        "assume",
        "copy",
        "fill",
        "gemm",
        "im2col",
        "parallel",
        "persistent",
        "pipeline",
        "reduce",
        "region",
        "scan",
        "transpose",
        "view",
        "yield",
    )
)
"""Tile ops that do the same with any number of threads."""
_DIALECTS = frozenset(("arith", "math", "memref", "scf"))
"""Dialects whose ops do not depend on threads."""


@dataclass(frozen=True)
class DoubleThreads(Pass):
    """Double the threads of every kernel that never names a thread."""

    name = "double-threads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, KernelOp) and _may_double(op):
                assert op.thread_extents is not None  # it has a number of threads
                first, *others = op.thread_extents
                op.set_threads((2 * first, *others))


def _may_double(kernel: KernelOp) -> bool:
    threads = kernel.num_threads
    return threads is not None and 2 * threads <= _MAX_THREADS and never_names_a_thread(kernel)


def never_names_a_thread(kernel: KernelOp) -> bool:
    """Whether a kernel means the same for every number of threads."""
    if kernel.min_blocks_per_sm is not None:
        return False
    return all(_is_for_all(op) for op in walk(kernel) if op is not kernel)


def _is_for_all(op: Operation) -> bool:
    if tile_names.THREAD_BINDING in op.attributes:
        return False
    if isinstance(op, AllocOp):
        is_pinned = op.space is Space.FRAGMENT and op.layout is not None
        return not op.space.is_barrier and not is_pinned
    if isinstance(op, ParallelOp) and op.layout is not None:
        return False
    if isinstance(op, ReduceOp) and op.scope.data == "threads":
        return False
    return op.name in _FOR_ALL or op.name.split(".")[0] in _DIALECTS
