"""The ops of the ``amd`` dialect; what threads do on every GPU is in ``simt``."""

from __future__ import annotations

from xdsl.ir import Dialect

from tilewright.dialects.amd.exchange import InterleaveOp
from tilewright.dialects.amd.matrix import MatrixCoreOp, MfmaOp, WmmaOp, matrix_core
from tilewright.dialects.amd.moves import (
    BufferLoadOp,
    BufferStoreOp,
    GuardedMoveOp,
    LoadLdsOp,
    WaitOp,
)
from tilewright.dialects.amd.schedule import IglpOp, SchedBarrierOp, SchedGroupOp, SetPrioOp

Amd = Dialect(
    "amd",
    [
        BufferLoadOp,
        BufferStoreOp,
        IglpOp,
        InterleaveOp,
        LoadLdsOp,
        MfmaOp,
        SchedBarrierOp,
        SchedGroupOp,
        SetPrioOp,
        WaitOp,
        WmmaOp,
    ],
)

__all__ = [
    "Amd",
    "BufferLoadOp",
    "BufferStoreOp",
    "GuardedMoveOp",
    "IglpOp",
    "InterleaveOp",
    "LoadLdsOp",
    "MatrixCoreOp",
    "MfmaOp",
    "SchedBarrierOp",
    "SchedGroupOp",
    "SetPrioOp",
    "WaitOp",
    "WmmaOp",
    "matrix_core",
]
