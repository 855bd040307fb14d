"""IR to IR: one file a pass, named by a verb.

``PASSES`` maps the command-line name of every pass to a function that imports it, so that
listing or parsing a pipeline loads only what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from tilewright.ir.passes import Pass, PassClass, PassRegistry, PassSpec, warn_of_old_name


def _lazy(module: str, name: str) -> Callable[[], PassClass]:
    def load() -> PassClass:
        found: PassClass = getattr(import_module(f"tilewright.passes.{module}"), name)
        return found

    return load


PASSES: PassRegistry = {
    "canonicalize": _lazy("cleanup.canonicalize", "Canonicalize"),
    "cse": _lazy("cleanup.cse", "Cse"),
    "dce": _lazy("cleanup.dce", "Dce"),
    "symbol-dce": _lazy("cleanup.symbol_dce", "SymbolDce"),
    "loop-invariant-code-motion": _lazy(
        "cleanup.loop_invariant_code_motion", "LoopInvariantCodeMotion"
    ),
    "merge-shared-memory": _lazy("merging.merge_shared_memory", "MergeSharedMemory"),
    "axis-info": _lazy("axis_info", "AxisInfoPass"),
    "pid-address": _lazy("pid_address", "PidAddress"),
    "raise-to-tile": _lazy("tile.raise_to_tile", "RaiseToTile"),
    "bind-target": _lazy("tile.bind_target", "BindTarget"),
    "normalize-indices": _lazy("tile.normalize_indices", "NormalizeIndices"),
    "widen-fragments": _lazy("tile.widen_fragments", "WidenFragments"),
    "raise-copy-loops": _lazy("tile.raise_copy_loops", "RaiseCopyLoops"),
    "raise-thread-ranges": _lazy("tile.raise_thread_ranges", "RaiseThreadRanges"),
    "wrap-block-atomics": _lazy("tile.wrap_block_atomics", "WrapBlockAtomics"),
    "wrap-scalar-fragment-access": _lazy(
        "tile.wrap_scalar_fragment_access", "WrapScalarFragmentAccess"
    ),
    "inject-assumes": _lazy("tile.inject_assumes", "InjectAssumes"),
    "check-parallel-races": _lazy("tile.check_parallel_races", "CheckParallelRaces"),
    "check-tma-starts": _lazy("tile.check_tma_starts", "CheckTmaStarts"),
    "check-buffer-init": _lazy("tile.check_buffer_init", "CheckBufferInit"),
    "check-reducers": _lazy("tile.check_reducers", "CheckReducers"),
    "plan-storage-alias": _lazy("tile.plan_storage_alias", "PlanStorageAlias"),
    "split-guards": _lazy("tile.split_guards", "SplitGuards"),
    "unroll-fragment-loops": _lazy("tile.unroll_fragment_loops", "UnrollFragmentLoops"),
    "simplify-fills": _lazy("tile.simplify_fills", "SimplifyFills"),
    "expand-explicit-unroll": _lazy("tile.expand_explicit_unroll", "ExpandExplicitUnroll"),
    "version-roles": _lazy("tile.version_roles", "VersionRoles"),
    "specialize-warps": _lazy("tile.specialize_warps", "SpecializeWarps"),
    "check-barriers": _lazy("tile.check_barriers", "CheckBarriers"),
    "plan-pipeline": _lazy("tile.plan_pipeline", "PlanPipeline"),
    "double-threads": _lazy("tile.double_threads", "DoubleThreads"),
    "order-tensor-writes": _lazy("gpu.order_tensor_writes", "OrderTensorWrites"),
    "mark-private-buffers": _lazy("tile.mark_private_buffers", "MarkPrivateBuffers"),
    "check-plans": _lazy("tile.check_plans", "CheckPlans"),
    "check-pipeline": _lazy("tile.check_pipeline", "CheckPipeline"),
    "expand-pipeline": _lazy("tile.expand_pipeline", "ExpandPipeline"),
    "tile-pipeline": _lazy("tile.pipeline", "TilePipeline"),
    "fold-clears": _lazy("tile.fold_clears", "FoldClears"),
    "infer-layouts": _lazy("gpu.infer_layouts", "InferLayouts"),
    "check-launch": _lazy("gpu.check_launch", "CheckLaunch"),
    "drop-wgmma-waits": _lazy("amd.drop_wgmma_waits", "DropWgmmaWaits"),
    "lower-warp-ops": _lazy("amd.lower_warp_ops", "LowerWarpOps"),
    "narrow-barrier-fences": _lazy("amd.narrow_barrier_fences", "NarrowBarrierFences"),
    "check-element-types": _lazy("gpu.check_element_types", "CheckElementTypes"),
    "check-divergent-code": _lazy("gpu.check_divergent_code", "CheckDivergentCode"),
    "check-fragment-sizes": _lazy("gpu.check_fragment_sizes", "CheckFragmentSizes"),
    "select-tma-stores": _lazy("gpu.select_tma_stores", "SelectTmaStores"),
    "divide-unsigned": _lazy("gpu.divide_unsigned", "DivideUnsigned"),
    "drop-layout-hints": _lazy("gpu.drop_layout_hints", "DropLayoutHints"),
    "drop-reuse-groups": _lazy("gpu.drop_reuse_groups", "DropReuseGroups"),
    "apply-tensor-layouts": _lazy("gpu.apply_tensor_layouts", "ApplyTensorLayouts"),
    "expand-copies": _lazy("gpu.expand_copies", "ExpandCopies"),
    "expand-thread-copies": _lazy("gpu.expand_thread_copies", "ExpandThreadCopies"),
    "upcast-scaled-gemms": _lazy("gpu.upcast_scaled_gemms", "UpcastScaledGemms"),
    "widen-operands": _lazy("gpu.widen_operands", "WidenOperands"),
    "split-precision": _lazy("gpu.split_precision", "SplitPrecision"),
    "expand-gemms": _lazy("gpu.expand_gemms", "ExpandGemms"),
    "lower-persistent": _lazy("gpu.lower_persistent", "LowerPersistent"),
    "flatten-threads": _lazy("gpu.flatten_threads", "FlattenThreads"),
    "assert-assumptions": _lazy("gpu.assert_assumptions", "AssertAssumptions"),
    "hoist-views": _lazy("gpu.hoist_views", "HoistViews"),
    "lower-tile-ops": _lazy("gpu.lower_tile_ops", "LowerTileOps"),
    "join-wgmma-groups": _lazy("gpu.join_wgmma_groups", "JoinWgmmaGroups"),
    "overlap-wgmma": _lazy("gpu.overlap_wgmma", "OverlapWgmma"),
    "chain-wgmma": _lazy("gpu.chain_wgmma", "ChainWgmma"),
    "sink-wgmma-waits": _lazy("gpu.sink_wgmma_waits", "SinkWgmmaWaits"),
    "stagger-wgmma-waits": _lazy("gpu.stagger_wgmma_waits", "StaggerWgmmaWaits"),
    "guard-memory-accesses": _lazy("gpu.guard_memory_accesses", "GuardMemoryAccesses"),
    "vectorize-loops": _lazy("gpu.vectorize_loops", "VectorizeLoops"),
    "lower-barriers": _lazy("gpu.lower_barriers", "LowerBarriers"),
    "lower-thread-reductions": _lazy("gpu.lower_thread_reductions", "LowerThreadReductions"),
    "flatten-memrefs": _lazy("gpu.flatten_memrefs", "FlattenMemrefs"),
    "outline-kernels": _lazy("gpu.outline_kernels", "OutlineKernels"),
    "place-shared-memory": _lazy("gpu.place_shared_memory", "PlaceSharedMemory"),
    "insert-lds-waits": _lazy("amd.insert_lds_waits", "InsertLdsWaits"),
    "insert-thread-syncs": _lazy("gpu.insert_thread_syncs", "InsertThreadSyncs"),
    "sink-store-waits": _lazy("gpu.sink_store_waits", "SinkStoreWaits"),
    "merge-guards": _lazy("gpu.merge_guards", "MergeGuards"),
    "remark-register-indices": _lazy("gpu.remark_register_indices", "RemarkRegisterIndices"),
    "pack-narrow-elements": _lazy("tile.pack_narrow_elements", "PackNarrowElements"),
    "narrow-fragments": _lazy("gpu.narrow_fragments", "NarrowFragments"),
    "narrow-guarded-loops": _lazy("gpu.narrow_guarded_loops", "NarrowGuardedLoops"),
    "narrow-producers": _lazy("gpu.narrow_producers", "NarrowProducers"),
    "hoist-guarded-indices": _lazy("gpu.hoist_guarded_indices", "HoistGuardedIndices"),
    "hoist-loads": _lazy("gpu.hoist_loads", "HoistLoads"),
    "split-addresses": _lazy("gpu.split_addresses", "SplitAddresses"),
    "use-warp-index": _lazy("gpu.use_warp_index", "UseWarpIndex"),
    "choose-occupancy": _lazy("gpu.choose_occupancy", "ChooseOccupancy"),
    "set-warp-registers": _lazy("gpu.set_warp_registers", "SetWarpRegisters"),
    "check-thread-sync": _lazy("gpu.check_thread_sync", "CheckThreadSync"),
    "prefetch-tensor-maps": _lazy("gpu.prefetch_tensor_maps", "PrefetchTensorMaps"),
    "verify-device-ir": _lazy("gpu.verify_device_ir", "VerifyDeviceIr"),
    "insert-expect-tx": _lazy("gpu.insert_expect_tx", "InsertExpectTx"),
    "sync-clusters": _lazy("gpu.sync_clusters", "SyncClusters"),
    "lower-tmem": _lazy("gpu.lower_tmem", "LowerTmem"),
    "stage-tensor-memory": _lazy("gpu.stage_tensor_memory", "StageTensorMemory"),
    "sink-tensor-reads": _lazy("gpu.sink_tensor_reads", "SinkTensorReads"),
    "reread-tensor-memory": _lazy("gpu.reread_tensor_memory", "RereadTensorMemory"),
    "stream-tensor-memory": _lazy("gpu.stream_tensor_memory", "StreamTensorMemory"),
    "allocate-tensor-memory": _lazy("gpu.allocate_tensor_memory", "AllocateTensorMemory"),
    "sync-tensor-memory": _lazy("gpu.sync_tensor_memory", "SyncTensorMemory"),
    "fence-tensor-memory": _lazy("gpu.fence_tensor_memory", "FenceTensorMemory"),
    "lower-l2-policy": _lazy("gpu.lower_l2_policy", "LowerL2Policy"),
    "unroll-loops": _lazy("gpu.unroll_loops", "UnrollLoops"),
    "unswitch-loops": _lazy("gpu.unswitch_loops", "UnswitchLoops"),
    "drop-unused-arguments": _lazy("gpu.drop_unused_arguments", "DropUnusedArguments"),
    "choose-direct-copies": _lazy("amd.choose_direct_copies", "ChooseDirectCopies"),
    "choose-index-width": _lazy("gpu.choose_index_width", "ChooseIndexWidth"),
    "gpu-pipeline": _lazy("gpu.pipeline", "GpuPipeline"),
    "check-amd-features": _lazy("amd.check_amd_features", "CheckAmdFeatures"),
    "drop-nvidia-hints": _lazy("amd.drop_nvidia_hints", "DropNvidiaHints"),
    "order-stores": _lazy("amd.order_stores", "OrderStores"),
    "remap-blocks": _lazy("amd.remap_blocks", "RemapBlocks"),
    "duplicate-operands": _lazy("amd.duplicate_operands", "DuplicateOperands"),
    "fill-waves": _lazy("amd.fill_waves", "FillWaves"),
    "check-tile-sizes": _lazy("amd.check_tile_sizes", "CheckTileSizes"),
    "bypass-store-buffers": _lazy("amd.bypass_store_buffers", "BypassStoreBuffers"),
    "read-shared-operands": _lazy("amd.read_shared_operands", "ReadSharedOperands"),
    "split-operands": _lazy("amd.split_operands", "SplitOperands"),
    "stage-copies": _lazy("amd.stage_copies", "StageCopies"),
    "plan-staging": _lazy("amd.plan_staging", "PlanStaging"),
    "use-buffer-accesses": _lazy("amd.use_buffer_accesses", "UseBufferAccesses"),
    "hint-schedule": _lazy("amd.hint_schedule", "HintSchedule"),
    "amd-pipeline": _lazy("amd.pipeline", "AmdPipeline"),
    "triton-tlx-fixup": _lazy("tlx.fixup", "TritonTlxFixup"),
    "tlx-insert-require-layout": _lazy("tlx.insert_require_layout", "InsertRequireLayout"),
    "tlx-propagate-layout": _lazy("tlx.propagate_layout", "PropagateLayout"),
    "tlx-resolve-placeholder-layouts": _lazy(
        "tlx.resolve_placeholder_layouts", "ResolvePlaceholderLayouts"
    ),
    "tlx-finalize-user-layouts": _lazy("tlx.finalize_user_layouts", "FinalizeUserLayouts"),
    "tlx-print-ttgir-to-tlx": _lazy("tlx.print_ttgir_to_tlx", "PrintTtgirToTlx"),
    "tlx-dump-layout": _lazy("tlx.dump_layout", "DumpLayout"),
    "convert-triton-to-tritongpu": _lazy(
        "ttg.convert_triton_to_tritongpu", "ConvertTritonToTritonGPU"
    ),
    "tlx-release-mixed-layouts": _lazy("tlx.release_mixed_layouts", "ReleaseMixedLayouts"),
    "drop-register-controls": _lazy("ttg.amd.drop_register_controls", "DropRegisterControls"),
    "lower-buffer-accesses": _lazy("ttg.amd.lower_buffer_accesses", "LowerBufferAccesses"),
    "stage-narrow-copies": _lazy("ttg.amd.stage_narrow_copies", "StageNarrowCopies"),
    "swizzle-dot-operands": _lazy("ttg.amd.swizzle_dot_operands", "SwizzleDotOperands"),
    "load-narrow-copies": _lazy("ttg.load_narrow_copies", "LoadNarrowCopies"),
    "fence-wgmma-reads": _lazy("ttg.fence_wgmma_reads", "FenceWgmmaReads"),
    "remark-layouts": _lazy("ttg.remark_layouts", "RemarkLayouts"),
    "assign-descriptor-layouts": _lazy("ttg.assign_descriptor_layouts", "AssignDescriptorLayouts"),
    "tritongpu-coalesce": _lazy("ttg.coalesce_accesses", "CoalesceAccesses"),
    "tritongpu-remove-layout-conversions": _lazy(
        "ttg.remove_layout_conversions", "RemoveLayoutConversions"
    ),
    "triton-nvidia-optimize-descriptor-encoding": _lazy(
        "ttg.assign_descriptor_layouts", "OptimizeDescriptorEncoding"
    ),
    "finish-for-stock-triton": _lazy(
        "stock_triton.finish_for_stock_triton", "FinishForStockTriton"
    ),
    "tlx-storage-alias-lowering": _lazy("tlx.storage_alias_lowering", "StorageAliasLowering"),
    "tlx-verify-storage-alias": _lazy("tlx.verify_storage_alias", "VerifyStorageAlias"),
    "tlx-check-alias-sync": _lazy("tlx.check_alias_sync", "CheckAliasSync"),
    "tlx-rewrite-local-alias": _lazy("tlx.rewrite_local_alias", "RewriteLocalAlias"),
    "apply-tt-defaults": _lazy("tenstorrent.apply_tt_defaults", "ApplyTtDefaults"),
    "fix-arguments": _lazy("tenstorrent.fix_arguments", "FixArguments"),
    "tabulate-scalars": _lazy("tenstorrent.tabulate_scalars", "TabulateScalars"),
    "flatten-persistent-loops": _lazy(
        "tenstorrent.flatten_persistent_loops", "FlattenPersistentLoops"
    ),
    "insert-transposes": _lazy("tenstorrent.insert_transposes", "InsertTransposes"),
    "apply-tt-tuning": _lazy("tenstorrent.apply_tt_tuning", "ApplyTtTuning"),
    "keep-scalars-in-tiles": _lazy("tenstorrent.keep_scalars_in_tiles", "KeepScalarsInTiles"),
    "select-fills": _lazy("tenstorrent.select_fills", "SelectFills"),
    "split-launches": _lazy("tenstorrent.split_launches", "SplitLaunches"),
    "fold-grid-reductions": _lazy("tenstorrent.fold_grid_reductions", "FoldGridReductions"),
    "check-tt-tensors": _lazy("tenstorrent.check_tt_tensors", "CheckTtTensors"),
    "stage-global-accesses": _lazy("tenstorrent.stage_global_accesses", "StageGlobalAccesses"),
    "recognize-gemm-loops": _lazy("tenstorrent.recognize_gemm_loops", "RecognizeGemmLoops"),
    "normalize-tt-indices": _lazy("tenstorrent.normalize_tt_indices", "NormalizeTtIndices"),
    "infer-tt-shards": _lazy("tenstorrent.infer_tt_shards", "InferTtShards"),
    "infer-tt-schedule": _lazy("tenstorrent.infer_tt_schedule", "InferTtSchedule"),
    "pad-to-tiles": _lazy("tenstorrent.pad_to_tiles", "PadToTiles"),
    "tensorize-tt": _lazy("tenstorrent.tensorize_tt", "TensorizeTt"),
    "separate-buffers": _lazy("tenstorrent.separate_buffers", "SeparateBuffers"),
    "check-tensor-order": _lazy("tenstorrent.check_tensor_order", "CheckTensorOrder"),
    "form-k-loops": _lazy("tenstorrent.form_k_loops", "FormKLoops"),
    "fuse-elementwise": _lazy("tenstorrent.fuse_elementwise", "FuseElementwise"),
    "make-persistent": _lazy("tenstorrent.make_persistent", "MakePersistent"),
    "rasterize-tiles": _lazy("tenstorrent.rasterize_tiles", "RasterizeTiles"),
    "map-cores": _lazy("tenstorrent.map_cores", "MapCores"),
    "assign-shards": _lazy("tenstorrent.assign_shards", "AssignShards"),
    "add-ghost-steps": _lazy("tenstorrent.add_ghost_steps", "AddGhostSteps"),
    "keep-panels": _lazy("tenstorrent.keep_panels", "KeepPanels"),
    "group-multicast": _lazy("tenstorrent.group_multicast", "GroupMulticast"),
    "lower-circular-buffers": _lazy("tenstorrent.lower_circular_buffers", "LowerCircularBuffers"),
    "split-tt-kernels": _lazy("tenstorrent.split_tt_kernels", "SplitTtKernels"),
    "lower-tt-intrinsics": _lazy("tenstorrent.lower_tt_intrinsics", "LowerTtIntrinsics"),
    "verify-tt": _lazy("tenstorrent.verify_tt", "VerifyTt"),
    "count-tt-work": _lazy("tenstorrent.count_tt_work", "CountTtWork"),
    "tenstorrent-pipeline": _lazy("tenstorrent.pipeline", "TenstorrentPipeline"),
}


RENAMED: Mapping[str, str] = {
    "announce-copies": "insert-expect-tx",
    "choose-engines": "select-tma-stores",
    "overlap-products": "overlap-wgmma",
    "tile-front-half": "tile-pipeline",
}
"""Old names of passes, accepted with a warning until the next release."""


def current(spec: PassSpec) -> PassSpec:
    """A pass under its present name; warns if it was requested by an old one."""
    if spec.name not in RENAMED:
        return spec
    name = RENAMED[spec.name]
    warn_of_old_name(f"pass '{spec.name}'", f"'{name}'")
    return PassSpec(name, spec.options)


def expanded(passes: Iterable[Pass]) -> list[Pass]:
    """A pipeline in which passes that consist of passes are replaced by those."""
    result: list[Pass] = []
    for each in passes:
        parts: Callable[[], list[Pass]] | None = getattr(each, "passes", None)
        result.extend([each] if parts is None else parts())
    return result


__all__ = ["PASSES", "RENAMED", "current", "expanded"]
