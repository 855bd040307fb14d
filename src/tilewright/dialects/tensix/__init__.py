"""The ``tensix`` dialect: programs of Tenstorrent's Tensix cores.

    program      a core's program, its kernels by role, the host's plan
    arguments    run-time and compile-time arguments, block order
    loops        GEMMs over K, before the split
    buffers      circular buffers in L1
    noc          transfers, multicast, semaphores
    config       start-up, inits, formats, DST sections
    math         FPU: tiles of circular buffers
    sfpu         SFPU: tiles of DST; the packer
    protocol     what a compute kernel has to obey

Memory spaces ``dram``, ``l1`` and ``dst`` are spaces of ``#tile.space``.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.tensix.arguments import ArgAtOp, ArgOp, CtArgOp, RasterOp
from tilewright.dialects.tensix.blocks import (
    ConstantTileOp,
    ElementwiseOp,
    ReleaseOp,
    ShardTileOp,
    TileYieldOp,
)
from tilewright.dialects.tensix.buffers import (
    CBOp,
    CBPopOp,
    CBPushOp,
    CBReadPtrOp,
    CBReserveOp,
    CBWaitOp,
    CBWritePtrOp,
    FillPageOp,
)
from tilewright.dialects.tensix.config import (
    DstAcquireOp,
    DstCommitOp,
    DstReleaseOp,
    DstWaitOp,
    HwStartupOp,
    InitOp,
    PackL1AccOp,
    PackReconfigOp,
    ReconfigOp,
)
from tilewright.dialects.tensix.formats import Format, format_of
from tilewright.dialects.tensix.functions import InitKey
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.math import (
    BcastOp,
    BinaryOp,
    CopyTileOp,
    MatmulBlockOp,
    MatmulTileOp,
    ReduceOp,
    TransposeTileOp,
)
from tilewright.dialects.tensix.noc import (
    AccessorOp,
    McastOp,
    NocBarrierOp,
    NocReadTileOp,
    NocWriteTileOp,
    SemIncOp,
    SemMcastOp,
    SemOp,
    SemSetOp,
    SemWaitOp,
)
from tilewright.dialects.tensix.program import CoreProgramOp, EndOp, HostPlanOp, KernelOp, kernel_of
from tilewright.dialects.tensix.rasters import Raster
from tilewright.dialects.tensix.sfpu import (
    BinaryDstOp,
    FillOp,
    FillWordOp,
    PackOp,
    TypecastOp,
    UnaryOp,
    UnaryScalarOp,
    WhereOp,
)
from tilewright.dialects.tensix.tables import TableOp
from tilewright.dialects.tensix.types import SEM, AccessorType, CBType, Role, SemType

Tensix = dialect_of("tensix", globals())

__all__ = [
    "SEM",
    "AccessorOp",
    "AccessorType",
    "ArgAtOp",
    "ArgOp",
    "BcastOp",
    "BinaryDstOp",
    "BinaryOp",
    "CBOp",
    "CBPopOp",
    "CBPushOp",
    "CBReadPtrOp",
    "CBReserveOp",
    "CBType",
    "CBWaitOp",
    "CBWritePtrOp",
    "ConstantTileOp",
    "CopyTileOp",
    "CoreProgramOp",
    "CtArgOp",
    "DstAcquireOp",
    "DstCommitOp",
    "DstReleaseOp",
    "DstWaitOp",
    "ElementwiseOp",
    "EndOp",
    "FillOp",
    "FillPageOp",
    "FillWordOp",
    "Format",
    "HostPlanOp",
    "HwStartupOp",
    "InitKey",
    "InitOp",
    "KernelOp",
    "MatmulBlockOp",
    "MatmulKLoopOp",
    "MatmulTileOp",
    "McastOp",
    "NocBarrierOp",
    "NocReadTileOp",
    "NocWriteTileOp",
    "PackL1AccOp",
    "PackOp",
    "PackReconfigOp",
    "Raster",
    "RasterOp",
    "ReconfigOp",
    "ReduceOp",
    "ReleaseOp",
    "Role",
    "SemIncOp",
    "SemMcastOp",
    "SemOp",
    "SemSetOp",
    "SemType",
    "SemWaitOp",
    "ShardTileOp",
    "TableOp",
    "Tensix",
    "TileYieldOp",
    "TransposeTileOp",
    "TypecastOp",
    "UnaryOp",
    "UnaryScalarOp",
    "WhereOp",
    "format_of",
    "kernel_of",
]
