"""Synchronisation of kernels at the thread level, proved without data.

A block is run with the numbers of its threads: index arithmetic is done for all of them at once,
loops and branches are followed, and everything that orders memory is modelled; elements of tensors
are not known and hardly matter. Every two accesses of the same bytes, one of them a write, must be
ordered by a chain of barriers, arrivals and waits; that they happened to come in the right order is
not enough.

    values      integers, one for all threads or one for each
    origins     which indices grow with numbers that a run makes up
    program     what of a kernel matters, as Python functions
    control     loops, branches and roles
    turns       how the middle of long loops is left out
    threads     accesses of threads
    engines     the copy engine and the tensor cores
    sync        barriers
    groups      groups of copies and products, and fences
    barriers    phases, and what a wait is sure of
    registers   sums of products that are under way
    clocks      what each warp knows of the others
    arena       shared memory, cut into slabs
    deeds       accesses of threads, collected
    shadow      who touched each granule of a slab last
    holders     whose data lies in each granule of a slab
    state       the threads that run in step, and their block
    teams       who runs in step with whom
    run         one block, from its beginning to its end
    launches    which blocks, and with which numbers

It has no logic in common with the passes that put the synchronisation there.
"""

from __future__ import annotations

from tilewright.analysis.thread_sync.check import KernelResult, check
from tilewright.analysis.thread_sync.faults import FaultKind, NotAnalysedError, SyncFault

__all__ = ["FaultKind", "KernelResult", "NotAnalysedError", "SyncFault", "check"]
