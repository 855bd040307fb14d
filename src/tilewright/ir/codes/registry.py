"""All codes, by subject and by code."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.ir.codes import (
    amd,
    barriers,
    internal,
    language,
    launch,
    layouts,
    lowering,
    memory,
    raising,
    run,
    run_ordering,
    storage_alias,
    synchronisation,
    targets,
    tensor_memory,
    tenstorrent,
    tenstorrent_run,
)
from tilewright.ir.codes.entry import CodeEntry

SECTIONS: Mapping[str, tuple[CodeEntry, ...]] = MappingProxyType(
    {
        "Kernel languages and IR": language.ENTRIES,
        "Layouts": layouts.ENTRIES,
        "Instructions, races and uninitialised reads of tile kernels": lowering.ENTRIES,
        "Pipelining, warp specialisation and barriers of tile kernels": barriers.ENTRIES,
        "Synchronisation of async tasks and threads": synchronisation.ENTRIES,
        "Shared memory and registers": memory.ENTRIES,
        "Storage aliasing": storage_alias.ENTRIES,
        "Tensor memory": tensor_memory.ENTRIES,
        "Targets, launches and host code": launch.ENTRIES,
        "Runs on the host": (*run.ENTRIES, *run_ordering.ENTRIES),
        "Compilation for GPUs": targets.ENTRIES,
        "Tenstorrent": (*tenstorrent.ENTRIES, *tenstorrent_run.ENTRIES),
        "AMD GPUs": amd.ENTRIES,
        "Raising kernels to tiles": raising.ENTRIES,
        "Internal compiler errors": internal.ENTRIES,
    }
)
"""The entries by subject; codes ascend from section to section."""

CODES: Mapping[str, CodeEntry] = MappingProxyType(
    {entry.code: entry for entries in SECTIONS.values() for entry in entries}
)
"""All entries by code, ascending."""
