"""More blocks on a multiprocessor for kernels without MMAs whose registers leave it few threads.

    registers   blocks of 256 threads   threads of 2048
           68   3                       37 %              as the assembler likes it
           40   6                       75 %              __launch_bounds__(256, 6)

Such kernels mostly wait for memory, and threads are what hides that. The assembler uses registers
as if they cost nothing, and often does without: with a bound it orders the same loads differently.
Where it spills instead, half of the threads are the next aim, if that is more than there were.

A block whose threads wait for each other loads in phases, and other blocks load in between: threads
are what counts, even if each has fewer loads in flight. Without barriers threads load all the time,
and a bound is taken only if no fewer bytes are in flight (`loads_in_flight`).

Nothing is done for kernels with MMAs (`choose-occupancy`), with roles, which divide registers
themselves, or with a number that the user gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import SetMaxNRegOp, Tcgen05MmaOp, WgmmaOp
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.register_mma import RegisterMmaOp
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import walk
from tilewright.memory.multiprocessors import (
    MULTIPROCESSORS,
    PARTITIONS,
    REGISTER_STEP,
    REGISTERS,
)
from tilewright.passes.gpu.arch import arch_of
from tilewright.passes.gpu.choose_occupancy import blocks_without_registers
from tilewright.targets.metadata import KernelMetadata
from tilewright.targets.register_arrays import register_arrays

MORE_BLOCKS = "TW5009"
_AIMS = (75, 50)
"""Percentages of a multiprocessor's threads, the best first. More than the first gains little: the
registers that are left hold too few loads in flight."""


def resident_blocks(threads: int, registers: int) -> int:
    """Blocks of a multiprocessor whose threads have so many registers; each of its partitions
    holds whole warps."""
    of_warp = -(-registers // REGISTER_STEP) * REGISTER_STEP * NVIDIA_WARP
    warps = REGISTERS // PARTITIONS // of_warp * PARTITIONS
    return warps // -(-threads // NVIDIA_WARP)


def larger_occupancies(
    function: FuncOp, launches: Sequence[LaunchOp], metadata: KernelMetadata
) -> tuple[int, ...]:
    """Numbers of blocks to compile a kernel for instead, the best first; none if it has enough."""
    if not metadata.registers or metadata.spill_bytes or not _has_free_choice(function):
        return ()
    threads, processor = metadata.threads, MULTIPROCESSORS[arch_of(function)]
    limit = blocks_without_registers(function, launches)
    before = resident_blocks(threads, metadata.registers)
    # Fragments are not all live at once, but what does not even hold one of them would spill.
    minimum = max((size for _, size in register_arrays(function)), default=0)
    found: list[int] = []
    for percentage in _AIMS:
        aim = -(-processor.threads * percentage // (100 * threads))
        blocks = min(aim, limit)
        if blocks > before and minimum < REGISTERS // (blocks * threads):
            found.append(blocks)
    return tuple(dict.fromkeys(found))


def is_stream(function: FuncOp) -> bool:
    """Whether no thread of a kernel waits for others of its block."""
    return not any(isinstance(op, BarrierOp) for op in walk(function))


def _has_free_choice(function: FuncOp) -> bool:
    if simt_names.MIN_BLOCKS in function.attributes or arch_of(function) not in MULTIPROCESSORS:
        return False
    kinds = WgmmaOp | RegisterMmaOp | Tcgen05MmaOp | SetMaxNRegOp | WsOp
    return not any(isinstance(op, kinds) for op in walk(function))
