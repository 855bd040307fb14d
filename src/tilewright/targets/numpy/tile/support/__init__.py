"""Functions that generated code of the tile level calls, and the names it may use."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.numpy.support import HELPERS as SCALAR_HELPERS

_PACKAGE = "tilewright.targets.numpy.tile.support"
_BY_MODULE = {
    "atomics": "atomic atomic_region",
    "block": "persistent",
    "combiners": "reduce_by reduce_each scan_by scan_each",
    "compute": "gemm reduce scaled_gemm scan",
    "elements": "get load load_quotients put store",
    "movement": "copy fill im2col transpose",
    "own_memory": "load_own private settle store_own",
    "pointers": "pointer",
    "regions": "part",
    "roles": "give_back own",
    "tensor_core": "Scales",
    "threads": ("active_threads dp4a elected reduce_threads shuffle thread_index vote warp_reduce"),
}

HELPERS: Mapping[str, str] = {
    **{name: module for name, module in SCALAR_HELPERS.items() if name != "arange"},
    **{
        name: f"{_PACKAGE}.{module}"
        for module, names in _BY_MODULE.items()
        for name in names.split()
    },
}
