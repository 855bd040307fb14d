"""``amdg``: what AMD GPUs can do that others cannot.

==============  ================================================================================
``barriers``    barriers in shared memory and across a cluster
``buffers``     loads, stores and atomics by base pointer and offsets
``tdm``         asynchronous copies of blocks by descriptor (gfx1250)
``tensors``     slices, transposition in a thread, scaled conversions
``scheduling``  registers and matrix instructions under the user's control (TLX)
==============  ================================================================================

Spellings of Triton 3.6 to 3.9 and of the TLX fork are understood; the printer writes that of its
flavour.
"""

from __future__ import annotations

from tilewright.dialects.amdg.barriers import (
    ArriveBarrierOp,
    AsyncWaitOp,
    ClusterBarrierArriveOp,
    ClusterBarrierWaitOp,
    InitBarrierOp,
    WaitBarrierOp,
)
from tilewright.dialects.amdg.buffers import (
    BufferAtomicCASOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
)
from tilewright.dialects.amdg.scheduling import (
    MfmaCommitOp,
    RegisterHandoffOp,
    RegisterResidentOp,
    RematerializedRangeOp,
    ScheduledMfmaOp,
)
from tilewright.dialects.amdg.tdm import (
    AsyncTDMCopyGlobalToLocalOp,
    AsyncTDMCopyLocalToGlobalOp,
    AsyncTDMFusedCopyGlobalToLocalOp,
    AsyncTDMWaitOp,
    TDMPrefetchOp,
    UpdateTensorDescriptorOp,
)
from tilewright.dialects.amdg.tensors import (
    AssumeUniformOp,
    ConcatOp,
    CondBarrierOp,
    ExtractSliceOp,
    InThreadTransposeOp,
    LocalLoadPackedTranposedOp,
    LocalLoadPackedTransposedOp,
    ScaledUpcastFp4Op,
    ScaledUpcastFp8Op,
    UpcastMXFPOp,
)
from tilewright.dialects.members import dialect_of

Amdg = dialect_of("amdg", globals())

__all__ = [
    "Amdg",
    "ArriveBarrierOp",
    "AssumeUniformOp",
    "AsyncTDMCopyGlobalToLocalOp",
    "AsyncTDMCopyLocalToGlobalOp",
    "AsyncTDMFusedCopyGlobalToLocalOp",
    "AsyncTDMWaitOp",
    "AsyncWaitOp",
    "BufferAtomicCASOp",
    "BufferAtomicRMWOp",
    "BufferLoadOp",
    "BufferLoadToLocalOp",
    "BufferStoreOp",
    "ClusterBarrierArriveOp",
    "ClusterBarrierWaitOp",
    "ConcatOp",
    "CondBarrierOp",
    "ExtractSliceOp",
    "InThreadTransposeOp",
    "InitBarrierOp",
    "LocalLoadPackedTranposedOp",
    "LocalLoadPackedTransposedOp",
    "MfmaCommitOp",
    "RegisterHandoffOp",
    "RegisterResidentOp",
    "RematerializedRangeOp",
    "ScaledUpcastFp4Op",
    "ScaledUpcastFp8Op",
    "ScheduledMfmaOp",
    "TDMPrefetchOp",
    "UpcastMXFPOp",
    "UpdateTensorDescriptorOp",
    "WaitBarrierOp",
]
