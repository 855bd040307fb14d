"""Which modules run as tasks: those that use what only a CTA has."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.traversal import walk

_PREFIXES = (
    "ttg.async_",
    "ttg.local_",
    "ttg.memdesc_",
    "ttg.remote_",
    "ttg.warp_specialize",
    "ttg.global_scratch",
    "ttng.",
    "nvg.",
    "tlx.",
)
"""What only a run of tasks gives a meaning to."""


def needs_tasks(module: ModuleOp) -> bool:
    """Whether a module uses on-chip memory, barriers or asynchronous engines."""
    return any(op.name.startswith(_PREFIXES) for op in walk(module))
