"""The error for a kernel that exceeds the shared memory of a block.

The error gives the total, the size of each buffer, and the smallest change that fits: fewer stages
of the pipeline, if its multi-buffered tiles are too large; otherwise sizes of buffers that fit. A
change is suggested only if it is enough, with buffers overlapping where they can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.arch import arch_name
from tilewright.passes.gpu.shared_sizes import bytes_of, limit_of, versions_of

_MAX_NOTES = 4


@dataclass(frozen=True)
class SmallerTiles:
    """Sizes with which a kernel fits."""

    buffers: Mapping[str, tuple[int, int]]
    """Bytes of each buffer that changes, and what they have to be."""
    total: int

    def __str__(self) -> str:
        if len(self.buffers) == 1:
            ((name, (before, after)),) = self.buffers.items()
            if before == 2 * after:
                return f"halve '{name}' ({self.total} B)"
        sizes = [
            f"'{name}' with {after} B instead of {before} B"
            for name, (before, after) in self.buffers.items()
        ]
        return f"use smaller tiles: {', '.join(sizes)} ({self.total} B in all)"


def report_too_large(
    function: FuncOp,
    allocs: Sequence[AllocOp],
    needed: int,
    with_stages: Callable[[int], int],
    smaller: SmallerTiles | None,
    engine: DiagnosticEngine,
) -> None:
    """Report that `needed` bytes are more than there are, given what fewer stages or smaller tiles
    take.
    """
    limit = limit_of(function)
    diagnostic = engine.error(
        function,
        f"shared memory exceeded: {needed} B needed, {limit} B available per block on "
        f"{arch_name(function)}",
        SHARED_MEMORY_EXCEEDED,
    )
    large = [op for op in allocs if not op.space.is_barrier]
    for op in sorted(large, key=bytes_of, reverse=True)[:_MAX_NOTES]:
        diagnostic.note(op, f"'{op.buffer_name}' needs {_size(op, bytes_of(op))} B")
    diagnostic.note(None, f"help: {_suggest_fix(large, needed, limit, with_stages, smaller)}")


def _size(op: AllocOp, size: int) -> str:
    versions = versions_of(op)
    return f"{versions} x {size // versions} = {size}" if versions > 1 else str(size)


def _suggest_fix(
    allocs: Sequence[AllocOp],
    needed: int,
    limit: int,
    with_stages: Callable[[int], int],
    smaller: SmallerTiles | None,
) -> str:
    stages = max(map(versions_of, allocs), default=1)
    for fewer in range(stages - 1, 0, -1):
        total = with_stages(fewer)
        if total <= limit:
            return f"use num_stages={fewer} ({total} B)"
    if smaller is None:
        return f"use smaller tiles: {needed - limit} B must be saved"
    return str(smaller)
