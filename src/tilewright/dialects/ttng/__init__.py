"""``ttng``: what NVIDIA GPUs from Hopper on can do that others cannot.

================  ==============================================================================
``barriers``      mbarriers and named barriers
``cluster``       fences, barriers across CTAs, remote buffers, cluster launch control
``tma``           asynchronous copies of blocks by descriptor
``descriptors``   descriptors made on the device, bulk copies, prefetches
``wgmma``         matrix instructions of Hopper
``tcgen05``       matrix instructions of Blackwell
``tmem``          tensor memory
``packed``        packed arithmetic
================  ==============================================================================

Ops and spellings of Triton 3.6 to 3.9 and of the TLX fork are understood. Where they differ, the
form of Triton 3.9 is stored and the printer writes that of its flavour.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.ttng.attributes import (
    SHARED_CLUSTER_MEMORY,
    TENSOR_MEMORY,
    LayoutMark,
    NvidiaCachePolicy,
    ReduceModifier,
    SharedClusterMemorySpace,
    TensorMemoryEncoding,
    TensorMemoryLayout,
    TensorMemoryScalesEncoding,
    TensorMemorySpace,
    unwrapped,
)
from tilewright.dialects.ttng.barriers import (
    ArriveBarrierOp,
    AsyncCopyMbarrierArriveOp,
    BarrierExpectOp,
    InitBarrierOp,
    InvalBarrierOp,
    NamedBarrierArriveOp,
    NamedBarrierWaitOp,
    WaitBarrierOp,
)
from tilewright.dialects.ttng.cluster import (
    AsyncCLCTryCancelOp,
    AsyncSharedStoreOp,
    CLCGetProgramIdOp,
    CLCIsCanceledOp,
    CLCLoadResultOp,
    CLCQueryCancelOp,
    CLCTryCancelOp,
    CLCTryCancelSyncOp,
    ClusterArriveOp,
    ClusterBarrierOp,
    ClusterSize1DOp,
    ClusterWaitOp,
    FenceAsyncSharedOp,
    FenceMBarrierInitReleaseClusterOp,
    FenceOp,
    MapToRemoteBufferOp,
    VoteBallotSyncOp,
)
from tilewright.dialects.ttng.descriptors import (
    AsyncBulkCopyGlobalToLocalOp,
    AsyncBulkCopyLocalToGlobalOp,
    AsyncStoreOp,
    PrefetchOp,
    PrefetchTensormapOp,
    ReinterpretTensorDescOp,
    TensormapCreateOp,
    TensormapFenceproxyAcquireOp,
)
from tilewright.dialects.ttng.packed import PackedArithOp
from tilewright.dialects.ttng.tcgen05 import TCGen5CommitOp, TCGen5MMAOp, TCGen5MMAScaledOp
from tilewright.dialects.ttng.tma import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAPrefetchOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
    TMAStoreTokenWaitOp,
    TMAStoreWaitOp,
)
from tilewright.dialects.ttng.tmem import (
    TMEMAllocOp,
    TMEMCopyOp,
    TMEMLoadOp,
    TMEMStoreOp,
    TMEMSubSliceOp,
    TMEMWaitOp,
)
from tilewright.dialects.ttng.types import TensorDescIm2ColType
from tilewright.dialects.ttng.wgmma import WarpGroupDotOp, WarpGroupDotWaitOp

Ttng = dialect_of("ttng", globals())

__all__ = [
    "SHARED_CLUSTER_MEMORY",
    "TENSOR_MEMORY",
    "ArriveBarrierOp",
    "AsyncBulkCopyGlobalToLocalOp",
    "AsyncBulkCopyLocalToGlobalOp",
    "AsyncCLCTryCancelOp",
    "AsyncCopyMbarrierArriveOp",
    "AsyncSharedStoreOp",
    "AsyncStoreOp",
    "AsyncTMACopyGlobalToLocalOp",
    "AsyncTMACopyLocalToGlobalOp",
    "AsyncTMAGatherOp",
    "AsyncTMAPrefetchOp",
    "AsyncTMAReduceOp",
    "AsyncTMAScatterOp",
    "BarrierExpectOp",
    "CLCGetProgramIdOp",
    "CLCIsCanceledOp",
    "CLCLoadResultOp",
    "CLCQueryCancelOp",
    "CLCTryCancelOp",
    "CLCTryCancelSyncOp",
    "ClusterArriveOp",
    "ClusterBarrierOp",
    "ClusterSize1DOp",
    "ClusterWaitOp",
    "FenceAsyncSharedOp",
    "FenceMBarrierInitReleaseClusterOp",
    "FenceOp",
    "InitBarrierOp",
    "InvalBarrierOp",
    "LayoutMark",
    "MapToRemoteBufferOp",
    "NamedBarrierArriveOp",
    "NamedBarrierWaitOp",
    "NvidiaCachePolicy",
    "PackedArithOp",
    "PrefetchOp",
    "PrefetchTensormapOp",
    "ReduceModifier",
    "ReinterpretTensorDescOp",
    "SharedClusterMemorySpace",
    "TCGen5CommitOp",
    "TCGen5MMAOp",
    "TCGen5MMAScaledOp",
    "TMAStoreTokenWaitOp",
    "TMAStoreWaitOp",
    "TMEMAllocOp",
    "TMEMCopyOp",
    "TMEMLoadOp",
    "TMEMStoreOp",
    "TMEMSubSliceOp",
    "TMEMWaitOp",
    "TensorDescIm2ColType",
    "TensorMemoryEncoding",
    "TensorMemoryLayout",
    "TensorMemoryScalesEncoding",
    "TensorMemorySpace",
    "TensormapCreateOp",
    "TensormapFenceproxyAcquireOp",
    "Ttng",
    "VoteBallotSyncOp",
    "WaitBarrierOp",
    "WarpGroupDotOp",
    "WarpGroupDotWaitOp",
    "unwrapped",
]
