"""Which modules run as tasks: those that use what only a CTA has."""

from __future__ import annotations

from xdsl.ir import Operation

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
    "amdg.",
)
"""What only a run of tasks gives a meaning to, or a reason why it has none."""
_ANYWHERE = frozenset(("amdg.extract_slice", "amdg.in_thread_transpose"))


def needs_tasks(root: Operation) -> bool:
    """Whether a module or function uses shared or tensor memory, barriers or asynchronous units."""
    return any(op.name.startswith(_PREFIXES) and op.name not in _ANYWHERE for op in walk(root))
