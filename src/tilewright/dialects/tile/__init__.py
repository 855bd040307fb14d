"""The ``tile`` dialect: kernels on whole tiles, before they are distributed over threads.

Buffers are ``memref`` values with a ``#tile.space``; ops work on buffers and on regions of them,
and mean the same for every number of threads. Each op declares the regions it reads and writes and
whether it may still be at work when the next one starts (``interfaces``).

    types, attributes, maps      what buffers, regions and layouts are
    kernel, loops, warps         trip counts and threads
    allocs, aliasing, reducers   where buffers come from
    regions                      parts and views of buffers
    movement, compute, atomics   what is done with them
    combiners, scaled            reductions by a region, GEMMs of scaled operands
    tensor_memory                GEMMs of Blackwell's tensor cores
    hints, extern, lanes         assumptions, output, external code, warps
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.tile.aliasing import ReuseGroupOp, SetBufferOverlapOp, StorageAliasSpecOp
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.attributes import (
    FragmentAttr,
    LayoutAttr,
    PipelinePlanAttr,
    PlannedPipeline,
    Raster,
    RasterAttr,
    Space,
    SpaceAttr,
    Target,
    TargetAttr,
    space_attr,
)
from tilewright.dialects.tile.bodies import YieldOp
from tilewright.dialects.tile.combiners import ReduceByOp, ReturnOp, ScanByOp
from tilewright.dialects.tile.compute import GemmOp, ReduceOp, ScanOp
from tilewright.dialects.tile.extern import ExternOp, SourceOp
from tilewright.dialects.tile.hints import AssertOp, AssumeOp, PrintOp, SyncOp
from tilewright.dialects.tile.kernel import KernelOp, kernel_of
from tilewright.dialects.tile.lanes import ShuffleOp, VoteOp, WarpReduceOp
from tilewright.dialects.tile.loops import ParallelOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.maps import FragmentMap, LayoutMap
from tilewright.dialects.tile.movement import (
    AsyncCopyOp,
    CopyOp,
    FillOp,
    Im2colOp,
    TransposeOp,
)
from tilewright.dialects.tile.reducers import ReducerAllocOp, ReducerFinalizeOp
from tilewright.dialects.tile.regions import PtrAtOp, PtrOfOp, RegionOp, ViewOp
from tilewright.dialects.tile.scaled import ScaledGemmOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.tile.tensor_memory import (
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
)
from tilewright.dialects.tile.types import (
    PtrType,
    RegionType,
    ReuseGroupType,
    StorageAliasSpecType,
    buffer_type,
    space_of,
)
from tilewright.dialects.tile.warps import Role, WsOp

Tile = dialect_of("tile", globals())

__all__ = [
    "AllocOp",
    "AssertOp",
    "AssumeOp",
    "AsyncCopyOp",
    "AtomicOp",
    "CopyOp",
    "ExternOp",
    "FillOp",
    "FragmentAttr",
    "FragmentMap",
    "GemmOp",
    "Im2colOp",
    "KernelOp",
    "LayoutAttr",
    "LayoutMap",
    "ParallelOp",
    "PersistentOp",
    "PipelineOp",
    "PipelinePlanAttr",
    "PlannedPipeline",
    "PrintOp",
    "PtrAtOp",
    "PtrOfOp",
    "PtrType",
    "Raster",
    "RasterAttr",
    "ReduceByOp",
    "ReduceOp",
    "ReducerAllocOp",
    "ReducerFinalizeOp",
    "RegionOp",
    "RegionType",
    "ReturnOp",
    "ReuseGroupOp",
    "ReuseGroupType",
    "Role",
    "ScaledGemmOp",
    "ScanByOp",
    "ScanOp",
    "SetBufferOverlapOp",
    "ShuffleOp",
    "SlotOp",
    "SourceOp",
    "Space",
    "SpaceAttr",
    "StorageAliasSpecOp",
    "StorageAliasSpecType",
    "SyncOp",
    "Target",
    "TargetAttr",
    "Tcgen05CommitOp",
    "Tcgen05CopyScalesOp",
    "Tcgen05GemmOp",
    "Tile",
    "TransposeOp",
    "TransposeScalesOp",
    "ViewOp",
    "VoteOp",
    "WarpReduceOp",
    "WsOp",
    "YieldOp",
    "buffer_type",
    "kernel_of",
    "space_attr",
    "space_of",
]
