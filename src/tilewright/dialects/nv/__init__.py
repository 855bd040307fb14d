"""The ``nv`` dialect: what only NVIDIA's machine does.

The part that tile kernels meet: barriers in shared memory with their phases, groups of
asynchronous copies and matrix products, fences, register budgets, named barriers, clusters.
"""

from __future__ import annotations

from xdsl.ir import Dialect

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
from tilewright.dialects.nv.types import MBARRIER, MBarrierType

Nv = Dialect(
    "nv",
    [
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
    [MBarrierType],
)

__all__ = [
    "MBARRIER",
    "BarOp",
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
    "MBarrierArriveExpectTxOp",
    "MBarrierArriveOp",
    "MBarrierExpectTxOp",
    "MBarrierInitOp",
    "MBarrierType",
    "MBarrierWaitOp",
    "Nv",
    "SetMaxNRegOp",
    "TmaStoreCommitOp",
    "TmaStoreWaitOp",
    "WgmmaCommitOp",
    "WgmmaWaitOp",
]
