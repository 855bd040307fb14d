"""The ``simt`` dialect: what threads of every GPU do.

Moves between memory and registers, conversions of registers, reductions across threads, the launch
of a kernel; and the names of attributes that kernels carry. What one vendor's machine does alone is
in ``nv`` and ``amd``.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.simt.across import AllReduceOp, LaunchOp, StrideOp
from tilewright.dialects.simt.moves import ConvertOp, MoveOp

Simt = dialect_of("simt", globals())

__all__ = ["AllReduceOp", "ConvertOp", "LaunchOp", "MoveOp", "Simt", "StrideOp"]
