"""The ``ttg`` dialect: layouts, memory descriptors and the ops of Triton's GPU level.

Here tensors have layouts, buffers in shared memory are explicit, and warps can run different code.
Text is that of Triton 3.6 to 3.9 and of TLX: every spelling is read, and each is written for the
release that the printer's flavour names. Layouts are data here (``interfaces`` lists what can be
queried of them); where they put elements is computed elsewhere.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.ttg.copies import (
    AsyncCommitGroupOp,
    AsyncCopyGlobalToLocalOp,
    AsyncRemoteShmemCopyOp,
    AsyncRemoteShmemStoreOp,
    AsyncWaitOp,
    RemoteShmemStoreOp,
)
from tilewright.dialects.ttg.distributed import (
    BlockedEncoding,
    DotOperandEncoding,
    GenericLinearEncoding,
    LinearEncoding,
    SliceEncoding,
)
from tilewright.dialects.ttg.interfaces import (
    DistributedEncoding,
    LayoutEncoding,
    MemDescEncoding,
    MmaEncoding,
    SharedEncoding,
    SharedSpace,
)
from tilewright.dialects.ttg.memory import (
    LocalAllocOp,
    LocalAtomicScatterRMWOp,
    LocalDeallocOp,
    LocalGatherOp,
    LocalLoadOp,
    LocalScatterOp,
    LocalStoreOp,
)
from tilewright.dialects.ttg.mma import AmdMfmaEncoding, AmdWmmaEncoding, NvidiaMmaEncoding
from tilewright.dialects.ttg.pipelining import MaskOp, MaskReturnOp, PredicateStageOp
from tilewright.dialects.ttg.predication import PredicateYieldOp, WarpPredicateOp
from tilewright.dialects.ttg.program import (
    BarrierOp,
    Clock64Op,
    GlobalScratchAllocOp,
    InlineAsmOp,
    LocalBarrierOp,
    WarpIdOp,
)
from tilewright.dialects.ttg.shared import (
    AmdRotatingSharedEncoding,
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    PartitionedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.tensors import ConvertLayoutOp, Fp4ToFpOp
from tilewright.dialects.ttg.types import AsyncTokenType, MemDescType, SharedMemorySpace
from tilewright.dialects.ttg.views import (
    MemDescDynamicSubsliceOp,
    MemDescIndexOp,
    MemDescReinterpretOp,
    MemDescReshapeOp,
    MemDescSubsliceOp,
    MemDescSubviewOp,
    MemDescTransOp,
)
from tilewright.dialects.ttg.warps import (
    WarpReturnOp,
    WarpSpecializeOp,
    WarpSpecializePartitionsOp,
    WarpYieldOp,
)

Ttg = dialect_of("ttg", globals())

__all__ = [
    "AmdMfmaEncoding",
    "AmdRotatingSharedEncoding",
    "AmdWmmaEncoding",
    "AsyncCommitGroupOp",
    "AsyncCopyGlobalToLocalOp",
    "AsyncRemoteShmemCopyOp",
    "AsyncRemoteShmemStoreOp",
    "AsyncTokenType",
    "AsyncWaitOp",
    "BarrierOp",
    "BlockedEncoding",
    "Clock64Op",
    "ConvertLayoutOp",
    "DistributedEncoding",
    "DotOperandEncoding",
    "Fp4ToFpOp",
    "GenericLinearEncoding",
    "GlobalScratchAllocOp",
    "InlineAsmOp",
    "LayoutEncoding",
    "LinearEncoding",
    "LocalAllocOp",
    "LocalAtomicScatterRMWOp",
    "LocalBarrierOp",
    "LocalDeallocOp",
    "LocalGatherOp",
    "LocalLoadOp",
    "LocalScatterOp",
    "LocalStoreOp",
    "MaskOp",
    "MaskReturnOp",
    "MemDescDynamicSubsliceOp",
    "MemDescEncoding",
    "MemDescIndexOp",
    "MemDescReinterpretOp",
    "MemDescReshapeOp",
    "MemDescSubsliceOp",
    "MemDescSubviewOp",
    "MemDescTransOp",
    "MemDescType",
    "MmaEncoding",
    "NvidiaMmaEncoding",
    "NvmmaSharedEncoding",
    "PaddedSharedEncoding",
    "PartitionedSharedEncoding",
    "PredicateStageOp",
    "PredicateYieldOp",
    "RemoteShmemStoreOp",
    "SharedEncoding",
    "SharedLinearEncoding",
    "SharedMemorySpace",
    "SharedSpace",
    "SliceEncoding",
    "SwizzledSharedEncoding",
    "Ttg",
    "WarpIdOp",
    "WarpPredicateOp",
    "WarpReturnOp",
    "WarpSpecializeOp",
    "WarpSpecializePartitionsOp",
    "WarpYieldOp",
]
