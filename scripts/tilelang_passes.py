"""The counterpart of each pass of TileLang's pass reference.

TileLang lowers loops and statements; here values are in SSA form and scheduling happens on whole
tile ops. Some of its passes therefore have nothing to do, and some are merged. Every name
of the reference (version 1.0 of October 2025) is listed with the passes or files that do its work,
or with the reason why there is no work. `scripts/passes_doc.py` generates
the table in `docs/passes.md` from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Entry:
    """One pass of the reference."""

    name: str
    passes: tuple[str, ...] = ()
    """Our passes, as the command line calls them."""
    files: tuple[str, ...] = ()
    """Files under ``src/tilewright`` that are not passes and contribute to the work."""
    note: str = ""
    """Why there is nothing to do, what is done elsewhere, or when it comes."""


REFERENCE: Final[tuple[Entry, ...]] = (
    # Tile level, all targets.
    Entry("BindTarget", ("bind-target",)),
    Entry(
        "LetInline",
        note="void: in SSA a use refers to the defining op. Where a role or a pipeline stage "
        "needs a value of another, the pass that creates it recomputes the value",
    ),
    Entry("AddWrapperForSingleBufStore", ("wrap-scalar-fragment-access",)),
    Entry("InjectAssumes", ("inject-assumes",)),
    Entry(
        "Simplify",
        ("canonicalize", "cse", "normalize-indices"),
        ("analysis/integers/index_range.py",),
        "never drops a function argument",
    ),
    Entry(
        "LayoutReducer",
        ("check-reducers",),
        ("dialects/tile/reducers.py",),
        "the rules of epochs",
    ),
    Entry("LayoutInference", ("infer-layouts",), ("analysis/layout_inference/",)),
    Entry(
        "LowerTileOp",
        ("select-tma-stores", "expand-copies", "lower-tile-ops"),
        ("analysis/copies/copy_instructions.py", "passes/gpu/lower/"),
    ),
    Entry(
        "LowerL2Persistent",
        ("lower-l2-policy",),
        note="accesses to the tensor carry a policy (`createpolicy`), where a window of the stream "
        "would affect other kernels",
    ),
    Entry("LegalizeVectorizedLoop", ("vectorize-loops",)),
    Entry("LegalizeSafeMemoryAccess", ("guard-memory-accesses",)),
    Entry(
        "LoopVectorizeDynamic",
        note="void as a pass: `vectorize-loops` queries the divisibility of extents",
    ),
    # GPU: barriers and tensor memory.
    Entry(
        "LowerSharedBarrier",
        ("lower-barriers", "sync-clusters"),
        ("dialects/nv/barriers.py",),
    ),
    Entry(
        "LowerSharedTmem",
        ("allocate-tensor-memory", "sync-tensor-memory", "fence-tensor-memory"),
        ("passes/gpu/lower/tensor_memory.py",),
    ),
    # GPU: scheduling.
    Entry("IfStmtBinding", ("split-guards",)),
    Entry(
        "MultiVersionBuffer",
        ("specialize-warps", "version-roles", "expand-pipeline"),
        ("passes/tile/version_buffers.py",),
        "no pass of its own: the scheduling passes determine the version count",
    ),
    Entry("WarpSpecialized", ("specialize-warps", "narrow-producers", "check-barriers")),
    Entry(
        "InjectTmaBarrier",
        ("specialize-warps", "insert-expect-tx", "check-barriers"),
        note="a copy is created together with its barrier, and the bytes are proved; user-written "
        "copies get an expect-tx unless the kernel has one",
    ),
    Entry("AnnotateWarpGroupRegAlloc", ("set-warp-registers",)),
    Entry("PipelinePlanning", ("plan-pipeline",), ("analysis/pipelining/",)),
    Entry(
        "InjectSoftwarePipeline",
        ("expand-pipeline", "check-plans", "check-pipeline", "check-barriers"),
    ),
    Entry("LowerOpaqueBlock", note="void: there are no blocks; `canonicalize` drops unit loops"),
    Entry("MergeIfStmt", ("merge-guards",)),
    Entry(
        "RewriteWgmmaSync",
        ("join-wgmma-groups", "overlap-wgmma", "sink-wgmma-waits", "stagger-wgmma-waits"),
    ),
    Entry(
        "InjectFenceProxy",
        ("insert-thread-syncs",),
        note="a fence is inserted with the barrier that needs it",
    ),
    Entry(
        "PlanAndUpdateBufferAllocationLocation",
        note="void: shared buffers are placed by their live ranges, registers by the assembler",
    ),
    # Common optimisations.
    Entry(
        "NarrowDataType",
        ("choose-index-width",),
        note="indices have no width until then; 32 bits by default",
    ),
    Entry("FlattenBuffer", ("flatten-memrefs",)),
    Entry(
        "ConfigIndexBitwidth",
        ("choose-index-width",),
        ("runtime/tile/gpu.py",),
        "64 bits if a tensor has 2^31 elements or more; a call with one compiles the kernel again",
    ),
    Entry("VectorizeLoop", ("vectorize-loops",)),
    Entry(
        "StorageRewrite",
        note="void: register arrays are indexed by constants once loops are unrolled, and the CUDA "
        "compiler promotes them to registers",
    ),
    Entry(
        "UnrollLoop",
        ("expand-explicit-unroll", "unroll-loops"),
        note="loops marked explicit are fully unrolled; the others carry a pragma in the source, "
        "within limits",
    ),
    Entry(
        "RenormalizeSplitPattern",
        ("normalize-indices",),
        note="void as a pass: quotients of sums are simplified in all index arithmetic",
    ),
    Entry("RemoveNoOp", ("dce", "canonicalize"), note="void as a pass: run after every stage"),
    Entry(
        "RewriteUnsafeSelect",
        note="void: conditional loads are in a branch of `scf.if` from the front end on",
    ),
    Entry("HoistIfThenElse", ("unswitch-loops",)),
    Entry("VerifyMemory", ("verify-device-ir",)),
    Entry("AnnotateEntryFunc", note="void: the front end marks the entry (`tile.entry`)"),
    # Tensor cores and threads.
    Entry("InferFragment", note="void: fragments have a type and a layout of their own"),
    Entry("LowerThreadAllreduce", ("lower-thread-reductions",)),
    Entry(
        "LowerHopperIntrin",
        ("lower-tile-ops", "lower-barriers", "prefetch-tensor-maps"),
        ("targets/host/read.py",),
        note="tensor maps are encoded by the host, one for each kind of tile",
    ),
    Entry("ThreadSync", ("insert-thread-syncs", "check-thread-sync")),
    # Host and device.
    Entry("AnnotateDeviceRegions", note="void: `tile.kernel` is the region of the device"),
    Entry("SplitHostDevice", ("outline-kernels",)),
    Entry(
        "MergeSharedMemoryAllocations",
        ("merge-shared-memory", "plan-storage-alias", "place-shared-memory"),
        ("memory/planner/",),
        "for the pointer level, for storage alias specs, and for `T` kernels",
    ),
    Entry(
        "InjectPTXAsyncCopy",
        ("expand-pipeline", "lower-tile-ops"),
        note="copies are asynchronous when scheduled",
    ),
    Entry(
        "MakePackedAPI",
        files=("runtime/tile/",),
        note="on the host: the runtime checks arguments and launches",
    ),
    Entry("LowerDeviceKernelLaunch", files=("runtime/tile/",), note="on the host"),
    Entry(
        "PersistThreadblock",
        ("outline-kernels",),
        ("runtime/cuda/launcher.py",),
        "void as a pass: `T.sync_grid` makes a kernel cooperative when it is traced, and the "
        "launcher requests it from the driver",
    ),
    # Code generation.
    Entry("LowerDeviceStorageAccessInfo", note="void: spaces are part of the type"),
    Entry("LowerIntrin", files=("targets/cxx/scalars.py",)),
    Entry("tilelang_cuda", files=("targets/cxx/", "targets/cuda/emit/", "targets/cuda/header/")),
    Entry("tilelang_hip", note="void: there is no AMD target; `bind-target` recognises its name"),
    # Tenstorrent.
    Entry("apply_tt_defaults", ("apply-tt-defaults",)),
    Entry("infer_default_tt_schedule", ("infer-tt-schedule",)),
    Entry("infer_default_tt_shard", ("infer-tt-shards", "assign-shards")),
    Entry("grid_to_persistent_tt", ("make-persistent",)),
    Entry("tt_shard_to_core_map", ("map-cores",)),
    Entry("memory_space_lower_tt", ("separate-buffers", "lower-circular-buffers")),
    Entry("tile_pad_tt", ("pad-to-tiles",)),
    Entry(
        "tensorize_tt", ("recognize-gemm-loops", "tensorize-tt", "form-k-loops", "fuse-elementwise")
    ),
    Entry("rasterization_tt", ("rasterize-tiles",)),
    Entry("tt_multicast_reuse", ("group-multicast", "split-tt-kernels")),
    Entry("verify_tt_ir", ("verify-tt",), note="raises on every finding"),
    Entry(
        "TTReaderCodegenVisitor",
        ("split-tt-kernels", "lower-tt-intrinsics"),
        ("targets/tenstorrent/emit/",),
    ),
    Entry(
        "TTComputeCodegenVisitor",
        ("split-tt-kernels", "lower-tt-intrinsics"),
        ("targets/tenstorrent/emit/",),
    ),
    Entry(
        "TTWriterCodegenVisitor",
        ("split-tt-kernels", "lower-tt-intrinsics"),
        ("targets/tenstorrent/emit/",),
    ),
    Entry("EmitTTHostProgram", files=("targets/tenstorrent/emit/host.py",)),
    Entry("EmitTTPlanJSON", ("split-tt-kernels",), ("dialects/tensix/plan.py",)),
)
