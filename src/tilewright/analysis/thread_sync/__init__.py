"""Synchronisation of kernels at the thread level, proved without data.

A block is run with its thread indices: index arithmetic is evaluated for all threads as arrays,
loops and branches are followed, and everything that orders memory is modelled; elements of tensors
are unknown and hardly matter. Every two accesses of the same bytes, one of them a write, must be
ordered by a chain of barriers, arrivals and waits; that one run executed them in the right order
proves nothing.

    values           integers, one for all threads or one for each
    origins          which indices grow with values that a run assumes
    program          the relevant ops of a kernel, as Python functions
    control          loops, branches and roles
    loop_sampling    how the middle of long loops is left out
    threads          accesses of threads
    async_units      TMA and the tensor cores
    sync             barriers
    groups           groups of copies and MMAs, and fences
    barriers         phases, and which of them a wait guarantees to be complete
    registers        accumulators and operands of MMAs in flight
    clocks           vector clocks of warps and asynchronous units
    arena            shared memory, divided into shadow regions
    thread_accesses  accesses of threads, batched
    shadow           the last accesses of each shadow cell
    byte_owners      the buffer whose data each shadow cell holds
    state            convergent threads, and their block
    convergence      which threads are convergent
    run              one block, from its beginning to its end
    launches         which blocks, and with which arguments

It shares no logic with the passes that insert the synchronisation.
"""

from __future__ import annotations

from tilewright.analysis.thread_sync.check import KernelResult, check
from tilewright.analysis.thread_sync.faults import FaultKind, NotAnalysedError, SyncFault

__all__ = ["FaultKind", "KernelResult", "NotAnalysedError", "SyncFault", "check"]
