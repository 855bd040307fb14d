"""Which operands of an op are barriers that it signals, itself or when it completes.

A wait that lasts forever is explained by the ops that could have ended it: executions with data
and checks without look them up here. Liveness ends the accesses of an operation
where a barrier that it signals was waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

SIGNALS: Mapping[str, tuple[str, ...]] = {
    "amdg.arrive_barrier": ("alloc",),
    "amdg.async_tdm_copy_global_to_local": ("barrier",),
    "amdg.async_tdm_copy_local_to_global": ("barrier",),
    "amdg.async_tdm_fused_copy_global_to_local": ("barrier",),
    "ttg.async_copy_global_to_local": ("barrier",),
    "ttg.async_remote_shmem_copy": ("barrier",),
    "ttg.async_remote_shmem_store": ("barrier",),
    "ttng.arrive_barrier": ("alloc",),
    "ttng.async_bulk_copy_global_to_local": ("barrier",),
    "ttng.async_clc_try_cancel": ("mbar_alloc",),
    "ttng.async_copy_mbarrier_arrive": ("barrier",),
    "ttng.async_shared_store": ("mbarrier",),
    "ttng.async_tma_copy_global_to_local": ("barrier",),
    "ttng.async_tma_gather": ("barrier",),
    "ttng.barrier_expect": ("alloc",),
    "ttng.clc_try_cancel": ("mbarrier",),
    "ttng.tc_gen5_commit": ("barrier",),
    "ttng.tc_gen5_mma": ("barriers",),
    "ttng.tc_gen5_mma_scaled": ("barriers",),
    "ttng.tmem_copy": ("barrier",),
}
"""By op, the names of these operands."""


def signalled(op: Operation) -> Iterator[SSAValue]:
    """The barriers that an op signals."""
    for name in SIGNALS.get(op.name, ()):
        found: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        if isinstance(found, SSAValue):
            yield found
        elif found is not None:
            yield from found
