"""Names of `T` that its package does not list: dtypes, functions in CUDA's spelling, refusals.

``T.float16x4`` and ``T.bf16`` are dtypes. What is of other hardware, or not part of the language
here, is refused with what to write instead. Python looks here for a submodule, too, before it is
imported: functions are imported only for one of their names.
"""

from __future__ import annotations

from typing import Any

from tilewright.language.T.dtypes import ALIASES, DTYPES, vector_dtype

_OTHER_HARDWARE = {
    "mma_gemm_blockscaled": (
        "the mma.sync of sm_120 that reads block scales",
        "use T.tcgen05_gemm_blockscaled on sm_100a, or scale the operands in a T.Parallel",
    ),
}
"""Functions by name: the hardware, and what to write instead."""
_INSTEAD = {
    "copy_cluster": (
        "shared memory of another block is not written; for a tile that several blocks read, "
        "T.tma_copy(..., cluster_mask=...) fetches it once"
    ),
    **dict.fromkeys(
        (
            *("WSID", "WSPipeline", "WSRole", "WSSchedule", "WSScope", "WSSync"),
            *("annotate_ws_schedule", "ws_op"),
        ),
        "the compiler assigns warps; use T.ws to assign them explicitly",
    ),
}
"""Names of TileLang that are not part of the language here, and what to write."""


def __getattr__(name: str) -> Any:
    """Dtypes by name, and an explanation for what is of other hardware or other times."""
    if name in DTYPES:
        return DTYPES[name]
    if name in ALIASES:
        return DTYPES[ALIASES[name]]
    if (vector := vector_dtype(name)) is not None:
        return vector
    if name.startswith("__") and not name.endswith("__"):
        from tilewright.language.T.less_exact import FAST

        if name in FAST:
            return FAST[name]
    if name in _OTHER_HARDWARE:
        from tilewright.language.T.sync import refused

        return refused(name, *_OTHER_HARDWARE[name])
    if name in _INSTEAD:
        raise AttributeError(f"T.{name} is not supported: {_INSTEAD[name]}")
    raise AttributeError(f"T has no attribute {name}", name=name)
