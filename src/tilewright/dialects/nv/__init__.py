"""The ``nv`` dialect: what only NVIDIA's machine does.

The part that tile kernels use: barriers in shared memory with their phases, groups of asynchronous
copies and MMAs, fences, register budgets, named barriers, clusters.
The part of thread level: asynchronous moves, cache policies, tensor cores, TMA. What threads do on
every GPU is in ``simt``.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.nv.async_moves import AsyncMoveOp
from tilewright.dialects.nv.barriers import (
    CpAsyncCommitOp,
    CpAsyncMBarrierArriveOp,
    CpAsyncWaitOp,
    FenceBarrierInitOp,
    FenceProxyAsyncOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierInitOp,
    MBarrierWaitOp,
    TmaStoreCommitOp,
    TmaStoreWaitOp,
    WgmmaCommitOp,
    WgmmaWaitOp,
)
from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp, L2PolicyOp
from tilewright.dialects.nv.launch_control import ClcQueryOp, ClcTryCancelOp
from tilewright.dialects.nv.machine import (
    BarOp,
    ClusterArriveOp,
    ClusterRankOp,
    ClusterWaitOp,
    CpAsyncOp,
    Dp4aOp,
    ElectOp,
    GridTriggerOp,
    GridWaitOp,
    SetMaxNRegOp,
)
from tilewright.dialects.nv.matrix import (
    LdMatrixOp,
    MatrixDescriptorOp,
    MatrixOp,
    MmaOp,
    StMatrixOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
)
from tilewright.dialects.nv.opaque import OpaqueOp
from tilewright.dialects.nv.tcgen05 import (
    Tcgen05CommitOp,
    Tcgen05FenceOp,
    Tcgen05MatrixOp,
    Tcgen05MmaOp,
)
from tilewright.dialects.nv.tensor_memory import (
    Tcgen05AllocOp,
    Tcgen05CpOp,
    Tcgen05DeallocOp,
    Tcgen05LdOp,
    Tcgen05MoveOp,
    Tcgen05RelinquishOp,
    Tcgen05StOp,
    Tcgen05WaitLdOp,
    Tcgen05WaitStOp,
)
from tilewright.dialects.nv.tma import (
    TENSORMAP,
    BulkLoadOp,
    BulkStoreOp,
    PrefetchMapOp,
    TensorMapOp,
    TensorMapType,
    TmaLoadOp,
    TmaReduceOp,
    TmaStoreBase,
    TmaStoreOp,
)
from tilewright.dialects.nv.updates import RedAddOp
from tilewright.dialects.tile.mbarrier import MBARRIER, MBarrierType

Nv = dialect_of("nv", globals())

__all__ = [
    "MBARRIER",
    "TENSORMAP",
    "AsyncMoveOp",
    "BarOp",
    "BulkLoadOp",
    "BulkStoreOp",
    "ClcQueryOp",
    "ClcTryCancelOp",
    "ClusterArriveOp",
    "ClusterRankOp",
    "ClusterWaitOp",
    "CpAsyncCommitOp",
    "CpAsyncMBarrierArriveOp",
    "CpAsyncOp",
    "CpAsyncWaitOp",
    "Dp4aOp",
    "ElectOp",
    "FenceBarrierInitOp",
    "FenceProxyAsyncOp",
    "GridTriggerOp",
    "GridWaitOp",
    "HintedLoadOp",
    "HintedStoreOp",
    "L2PolicyOp",
    "LdMatrixOp",
    "MBarrierArriveExpectTxOp",
    "MBarrierArriveOp",
    "MBarrierExpectTxOp",
    "MBarrierInitOp",
    "MBarrierType",
    "MBarrierWaitOp",
    "MatrixDescriptorOp",
    "MatrixOp",
    "MmaOp",
    "Nv",
    "OpaqueOp",
    "PrefetchMapOp",
    "RedAddOp",
    "SetMaxNRegOp",
    "StMatrixOp",
    "Tcgen05AllocOp",
    "Tcgen05CommitOp",
    "Tcgen05CpOp",
    "Tcgen05DeallocOp",
    "Tcgen05FenceOp",
    "Tcgen05LdOp",
    "Tcgen05MatrixOp",
    "Tcgen05MmaOp",
    "Tcgen05MoveOp",
    "Tcgen05RelinquishOp",
    "Tcgen05StOp",
    "Tcgen05WaitLdOp",
    "Tcgen05WaitStOp",
    "TensorMapOp",
    "TensorMapType",
    "TmaLoadOp",
    "TmaReduceOp",
    "TmaStoreBase",
    "TmaStoreCommitOp",
    "TmaStoreOp",
    "TmaStoreWaitOp",
    "WgmmaCommitOp",
    "WgmmaFenceOp",
    "WgmmaFenceOperandOp",
    "WgmmaOp",
    "WgmmaWaitOp",
]
