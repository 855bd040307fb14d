"""The last step before stock Triton compiles a module for an AMD GPU.

Attributes of TLX and of our own passes go. What AMD GPUs lack, or stock Triton has no op for,
is an error that names the op.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.stock_triton import NO_EQUIVALENT, UNKNOWN_OPS, why_unreadable

_OURS = ("tlx.", "tilewright.")
_NVIDIA = ("ttng.", "nvg.")
_MISSING: Mapping[str, str] = {
    "ttg.clock64": "stock Triton has no op for the clock; use tl.extra.hip",
    "ttg.memdesc_dynamic_subslice": UNKNOWN_OPS["ttg.memdesc_dynamic_subslice"],
    "ttg.remote_shmem_store": "AMD GPUs have no clusters",
    "ttg.async_remote_shmem_store": "AMD GPUs have no clusters",
    "ttg.async_remote_shmem_copy": "AMD GPUs have no clusters",
}


def finish_for_amd(module: ModuleOp, engine: DiagnosticEngine) -> None:
    """Make `module` readable for stock Triton, in place; what it cannot express is an error."""
    for op in walk(module):
        for name in [name for name in op.attributes if name.startswith(_OURS)]:
            del op.attributes[name]
        reason = _why_unsupported(op)
        if reason is not None:
            message = f"'{op.name}' has no equivalent in stock Triton for AMD GPUs"
            engine.error(op, message, NO_EQUIVALENT).note(None, reason)


def _why_unsupported(op: Operation) -> str | None:
    if op.name.startswith("tlx."):
        return "an earlier pass has to lower tlx ops"
    if op.name.startswith(_NVIDIA):
        return "it is an op of NVIDIA GPUs: AMD GPUs have no mbarriers, TMA, wgmma or tensor memory"
    return _MISSING.get(op.name) or why_unreadable(op)
