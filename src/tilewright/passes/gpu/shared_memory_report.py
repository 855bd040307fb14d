"""The error for a kernel that exceeds the shared memory of a block.

The error gives the total, the size of each buffer, and the smallest change that fits: fewer stages
of the pipeline, if its multi-buffered tiles are too large; otherwise by how much the largest buffer
has to shrink. A change is suggested only if it is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.arch import arch_name
from tilewright.passes.gpu.shared_sizes import bytes_of, limit_of, versions_of

_MAX_NOTES = 4


def report_too_large(
    function: FuncOp,
    allocs: Sequence[AllocOp],
    needed: int,
    with_stages: Callable[[int], int],
    engine: DiagnosticEngine,
) -> None:
    """Report that `needed` bytes are more than there are, given how many fewer stages take."""
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
    diagnostic.note(None, f"help: {_suggest_fix(large, needed, limit, with_stages)}")


def _size(op: AllocOp, size: int) -> str:
    versions = versions_of(op)
    return f"{versions} x {size // versions} = {size}" if versions > 1 else str(size)


def _suggest_fix(
    allocs: Sequence[AllocOp], needed: int, limit: int, with_stages: Callable[[int], int]
) -> str:
    stages = max(map(versions_of, allocs), default=1)
    for fewer in range(stages - 1, 0, -1):
        total = with_stages(fewer)
        if total <= limit:
            return f"use num_stages={fewer} ({total} B)"
    excess = needed - limit
    largest = max(allocs, key=bytes_of)
    size = bytes_of(largest)
    if size // 2 >= excess:
        return f"halve '{largest.buffer_name}' ({needed - size // 2} B)"
    return f"use smaller tiles: {excess} B must be saved"
