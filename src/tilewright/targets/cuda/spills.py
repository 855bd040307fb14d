"""Register spills: what the assembler reports, where it comes from, what would fit.

    gemm.py:19: warning[TW5012]: gemm_kernel: 96 B per thread spill to local memory: about 271
    registers needed, 255 available

What a kernel needs is what a thread can have and what its stack holds beside. With more threads,
each holds less of the same tiles, and can have fewer registers.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import SetMaxNRegOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.check_fragment_sizes import REGISTER_FILE, REGISTERS
from tilewright.targets.metadata import KernelMetadata
from tilewright.targets.register_arrays import warn

_REGISTER_BYTES = 4
_MAX_THREADS = 1024
_STEP = 8
"""Allocation granularity of registers."""
_PRODUCER = 40
"""Registers that a thread that only copies keeps at most."""


def warn_of_spills(function: FuncOp, metadata: KernelMetadata, engine: DiagnosticEngine) -> None:
    """Warn about register spills and suggest a fix."""
    if not metadata.spill_bytes:
        return
    threads = _computing(function, metadata.threads)
    others = metadata.threads - threads
    requested = function.attributes.get(simt_names.MIN_BLOCKS)
    blocks = requested.value.data if isinstance(requested, IntegerAttr) else 1
    given = [op.count.value.data for op in walk(function) if isinstance(op, SetMaxNRegOp)]
    limit = max(given, default=metadata.registers)  # all that it could have are in use
    need = limit + -(-metadata.stack_bytes // _REGISTER_BYTES)
    warn(
        function,
        f"{metadata.name}: {metadata.spill_bytes} B per thread spill to local memory: "
        f"about {need} registers needed, {limit} available",
        threads,
        lambda largest: _suggest_fix(need, threads, others, blocks, largest),
        engine,
    )


def _computing(function: FuncOp, threads: int) -> int:
    """The threads that do not only copy."""
    for op in walk(function):
        if isinstance(op, WsOp):
            return threads - sum(
                role.num_threads for role in op.roles if role.name.startswith("producer")
            )
    return threads


def _registers(threads: int, others: int, blocks: int) -> int:
    """Those that each of so many threads can have, beside others that copy, in so many blocks."""
    each = (REGISTER_FILE // blocks - others * _PRODUCER) // threads
    return min(REGISTERS, each // _STEP * _STEP)


def _suggest_fix(need: int, threads: int, others: int, blocks: int, largest: str) -> str:
    """Fewer blocks at a time, the smallest number of threads among which the tiles fit, or the
    largest tile that fits; `largest` is the name of the largest array."""
    for fewer in range(blocks - 1, 0, -1):
        if need <= _registers(threads, others, fewer):
            return f"use T.annotate_min_blocks_per_sm({fewer})"
    count = threads * 2
    while count + others <= _MAX_THREADS:
        each = -(-need * threads // count)
        if each <= _registers(count, others, blocks):
            return f"use threads={count} (about {each} registers per thread) or a smaller tile"
        count *= 2
    tiles = f"the tiles, '{largest}' first," if largest else "the tiles"
    own, more = (
        _fitting_part(need, threads, count, others, blocks) for count in (threads, threads * 2)
    )
    if own is None:
        return "use a smaller tile"
    text = f"reduce {tiles} to 1/{own} of their size"
    if more is not None and more < own:
        text += f", or to 1/{more} with threads={threads * 2}"
    return text


def _fitting_part(need: int, threads: int, count: int, others: int, blocks: int) -> int | None:
    """The largest part of the tiles, as 1/n, that fits in the registers of `count` threads."""
    available = _registers(count, others, blocks)
    if count + others > _MAX_THREADS or available <= 0:
        return None
    part = 1
    while -(-need * threads // (count * part)) > available:
        part *= 2
    return part
