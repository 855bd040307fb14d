"""What a kernel is compiled for where neither its user nor a GPU of this machine decides."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tile import AllocOp, Space
from tilewright.ir.traversal import walk
from tilewright.targets.cuda.settings import DEFAULT_ARCH

BLACKWELL = "sm_100a"


def default_arch(module: ModuleOp) -> str:
    """Hopper; Blackwell for kernels that keep accumulators in tensor memory."""
    uses = any(isinstance(op, AllocOp) and op.space is Space.TMEM for op in walk(module))
    return BLACKWELL if uses else DEFAULT_ARCH
