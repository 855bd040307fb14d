"""The ``nv`` dialect: what only NVIDIA's machine does.

The part that tile kernels use: barriers in shared memory with their phases, groups of asynchronous
copies and MMAs, fences, register budgets, named barriers, clusters.
The part of thread level: asynchronous moves, cache policies, tensor cores, TMA. What threads do on
every GPU is in ``simt``.
"""

from __future__ import annotations

from xdsl.ir import Dialect

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
from tilewright.dialects.nv.machine import (
    BarOp,
    ClusterArriveOp,
    ClusterRankOp,
    ClusterWaitOp,
    CpAsyncOp,
    Dp4aOp,
    ElectOp,
    SetMaxNRegOp,
)
from tilewright.dialects.nv.matrix import (
    LdMatrixOp,
    MatrixOp,
    MmaOp,
    StMatrixOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
)
from tilewright.dialects.nv.opaque import OpaqueOp
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
from tilewright.dialects.nv.types import MBARRIER, MBarrierType
from tilewright.dialects.nv.updates import RedAddOp

Nv = Dialect(
    "nv",
    [
        AsyncMoveOp,
        BulkLoadOp,
        BulkStoreOp,
        HintedLoadOp,
        HintedStoreOp,
        L2PolicyOp,
        LdMatrixOp,
        MatrixOp,
        MmaOp,
        OpaqueOp,
        RedAddOp,
        StMatrixOp,
        PrefetchMapOp,
        TensorMapOp,
        TmaLoadOp,
        TmaReduceOp,
        TmaStoreOp,
        WgmmaFenceOp,
        WgmmaOp,
        WgmmaFenceOperandOp,
        BarOp,
        ClusterArriveOp,
        ClusterRankOp,
        ClusterWaitOp,
        CpAsyncCommitOp,
        CpAsyncMBarrierArriveOp,
        CpAsyncOp,
        CpAsyncWaitOp,
        Dp4aOp,
        ElectOp,
        FenceBarrierInitOp,
        FenceProxyAsyncOp,
        MBarrierArriveExpectTxOp,
        MBarrierArriveOp,
        MBarrierExpectTxOp,
        MBarrierInitOp,
        MBarrierWaitOp,
        SetMaxNRegOp,
        TmaStoreCommitOp,
        TmaStoreWaitOp,
        WgmmaCommitOp,
        WgmmaWaitOp,
    ],
    [MBarrierType, TensorMapType],
)

__all__ = [
    "MBARRIER",
    "TENSORMAP",
    "AsyncMoveOp",
    "BarOp",
    "BulkLoadOp",
    "BulkStoreOp",
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
    "MatrixOp",
    "MmaOp",
    "Nv",
    "OpaqueOp",
    "PrefetchMapOp",
    "RedAddOp",
    "SetMaxNRegOp",
    "StMatrixOp",
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
