"""Processes of this machine for items that may end them.

A process that ends takes the one item with it that it was busy with; `ProcessPoolExecutor` would
give up all of them instead. They may be started by the daemons that workers of Dask are, and find
the modules that this process finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.targets.worker_pool import WorkerFailed, WorkerPool

if TYPE_CHECKING:
    from tilewright.runtime.executors.work import Status

_NICENESS = 5
"""The driver goes first."""


def processes(count: int | None = None, *, patience_s: float | None = None) -> WorkerPool:
    """Up to `count` processes with one call each; one that takes longer than that is ended."""
    if count is not None and count < 1:
        raise ValueError(f"the number of processes must be at least 1, got {count}")
    return WorkerPool(
        count,
        timeout_seconds=patience_s,
        niceness=_NICENESS,
        shares_path=True,
        is_last=_is_spoiled,
    )


def status_of(failed: WorkerFailed) -> Status:
    """How the process of an item ended."""
    return "hung" if failed.is_hung else "died"


def _is_spoiled(value: Any) -> bool:
    """Whether the process must not be used after it returned this (`worker.Reply`)."""
    return getattr(value, "is_spoiled", False)
