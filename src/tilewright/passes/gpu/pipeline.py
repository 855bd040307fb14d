"""The GPU pass pipeline of `T` kernels for NVIDIA GPUs, in its order, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tile import AssumeOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.cleanup.canonicalize import Canonicalize
from tilewright.passes.cleanup.cse import Cse
from tilewright.passes.cleanup.dce import Dce
from tilewright.passes.gpu.allocate_tensor_memory import AllocateTensorMemory
from tilewright.passes.gpu.apply_tensor_layouts import ApplyTensorLayouts
from tilewright.passes.gpu.assert_assumptions import AssertAssumptions
from tilewright.passes.gpu.chain_wgmma import ChainWgmma
from tilewright.passes.gpu.check_divergent_code import CheckDivergentCode
from tilewright.passes.gpu.check_element_types import CheckElementTypes
from tilewright.passes.gpu.check_fragment_sizes import CheckFragmentSizes
from tilewright.passes.gpu.check_launch import CheckLaunch
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.choose_index_width import ChooseIndexWidth
from tilewright.passes.gpu.choose_occupancy import ChooseOccupancy
from tilewright.passes.gpu.device_pipeline import DevicePipeline
from tilewright.passes.gpu.divide_unsigned import DivideUnsigned
from tilewright.passes.gpu.drop_layout_hints import DropLayoutHints
from tilewright.passes.gpu.drop_reuse_groups import DropReuseGroups
from tilewright.passes.gpu.drop_unused_arguments import DropUnusedArguments
from tilewright.passes.gpu.expand_copies import ExpandCopies
from tilewright.passes.gpu.expand_gemms import ExpandGemms
from tilewright.passes.gpu.fence_tensor_memory import FenceTensorMemory
from tilewright.passes.gpu.flatten_memrefs import FlattenMemrefs
from tilewright.passes.gpu.flatten_threads import FlattenThreads
from tilewright.passes.gpu.guard_memory_accesses import GuardMemoryAccesses
from tilewright.passes.gpu.hoist_guarded_indices import HoistGuardedIndices
from tilewright.passes.gpu.hoist_loads import HoistLoads
from tilewright.passes.gpu.hoist_views import HoistViews
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.insert_expect_tx import InsertExpectTx
from tilewright.passes.gpu.insert_thread_syncs import InsertThreadFences, InsertThreadSyncs
from tilewright.passes.gpu.join_wgmma_groups import JoinWgmmaGroups
from tilewright.passes.gpu.lower_barriers import LowerBarriers
from tilewright.passes.gpu.lower_l2_policy import LowerL2Policy
from tilewright.passes.gpu.lower_persistent import LowerPersistent
from tilewright.passes.gpu.lower_thread_reductions import LowerThreadReductions
from tilewright.passes.gpu.lower_tile_ops import LowerTileOps
from tilewright.passes.gpu.lower_tmem import LowerTmem
from tilewright.passes.gpu.merge_guards import MergeGuards
from tilewright.passes.gpu.narrow_fragments import NarrowFragments
from tilewright.passes.gpu.narrow_guarded_loops import NarrowGuardedLoops
from tilewright.passes.gpu.narrow_producers import NarrowProducers
from tilewright.passes.gpu.order_tensor_writes import OrderTensorWrites
from tilewright.passes.gpu.outline_kernels import OutlineKernels
from tilewright.passes.gpu.overlap_wgmma import OverlapWgmma
from tilewright.passes.gpu.place_shared_memory import PlaceSharedMemory
from tilewright.passes.gpu.prefetch_tensor_maps import PrefetchTensorMaps
from tilewright.passes.gpu.remark_register_indices import RemarkRegisterIndices
from tilewright.passes.gpu.reread_tensor_memory import RereadTensorMemory
from tilewright.passes.gpu.select_tma_stores import SelectTmaStores
from tilewright.passes.gpu.set_warp_registers import SetWarpRegisters
from tilewright.passes.gpu.sink_store_waits import SinkStoreWaits
from tilewright.passes.gpu.sink_tensor_reads import SinkTensorReads
from tilewright.passes.gpu.sink_wgmma_waits import SinkWgmmaWaits
from tilewright.passes.gpu.split_addresses import SplitAddresses
from tilewright.passes.gpu.split_precision import SplitPrecision
from tilewright.passes.gpu.stage_tensor_memory import StageTensorMemory
from tilewright.passes.gpu.stagger_wgmma_waits import StaggerWgmmaWaits
from tilewright.passes.gpu.stream_tensor_memory import StreamTensorMemory
from tilewright.passes.gpu.sync_clusters import SyncClusters
from tilewright.passes.gpu.sync_tensor_memory import SyncTensorMemory
from tilewright.passes.gpu.unroll_loops import UnrollLoops
from tilewright.passes.gpu.unswitch_loops import UnswitchLoops
from tilewright.passes.gpu.upcast_scaled_gemms import UpcastScaledGemms
from tilewright.passes.gpu.use_warp_index import UseWarpIndex
from tilewright.passes.gpu.vectorize_loops import VectorizeLoops
from tilewright.passes.gpu.verify_device_ir import VerifyDeviceIr
from tilewright.passes.gpu.widen_operands import WidenOperands
from tilewright.passes.tile.check_tma_starts import CheckTmaStarts
from tilewright.passes.tile.fold_clears import FoldClears
from tilewright.passes.tile.mark_private_buffers import MarkPrivateBuffers
from tilewright.passes.tile.pack_narrow_elements import PackNarrowElements
from tilewright.passes.tile.pipeline import TilePipeline


@dataclass(frozen=True)
class DropAssumes(Pass):
    """Drop the assumptions: no later pass uses them."""

    name = "drop-assumes"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, AssumeOp):
                op.detach()
                op.erase()


@dataclass(frozen=True)
class GpuPipeline(DevicePipeline):
    """All passes from a traced kernel to device functions that can be printed."""

    name = "gpu-pipeline"
    old_options = {
        "roles": "warp-specialize",
        "rolled": "predicate-epilogue",
        "in-turns": "reuse-within-iteration",
    }

    target: str = "cuda:sm_90a"
    """What to compile for."""
    wgmma: bool = True
    """Whether GEMMs may use warp-group instructions."""
    warp_specialize: bool = True
    """Whether extra warps may issue the copies of pipelined loops."""

    index_bits: int | None = None
    """How wide indices are; None to choose by the extents of tensors."""

    predicate_epilogue: bool = False
    """Whether pipelined loops that are not warp-specialised predicate their epilogue: less code."""

    roll_columns: bool = False
    """Whether rows of tensor memory are reduced in loops over columns: fewer registers."""

    reuse_within_iteration: bool = False
    """Whether buffers may overlap within a loop iteration although they fit without."""

    max_blocks: int | None = None
    """The most blocks that may share a multiprocessor; None for as many as fit."""

    tolerate_races: bool = False
    """Whether races of warps that the user specialised are warnings."""

    leave_out: tuple[str, ...] = ()
    """Names of passes that the user disabled: guards, wide accesses."""

    @override
    def all_passes(self) -> list[Pass]:
        return [
            PackNarrowElements(),
            DropLayoutHints(),
            MarkPrivateBuffers(),
            CheckTmaStarts(),
            *TilePipeline(
                target=self.target,
                check_shared_races=True,
                warp_specialize=self.warp_specialize,
                async_gemms=self.wgmma,
                check_each=False,
                predicate_epilogue=self.predicate_epilogue,
                tolerate_races=self.tolerate_races,
            ).passes(),
            DropReuseGroups(),
            CheckLaunch(),
            CheckElementTypes(),
            LowerTmem(),
            LowerPersistent(),
            FlattenThreads(),
            CheckDivergentCode(),
            AssertAssumptions(),
            HoistViews(),
            FoldClears(),
            NarrowGuardedLoops(),
            SelectTmaStores(),
            *(() if self._has_own_barriers else (OrderTensorWrites(),)),
            StageTensorMemory(),
            NarrowFragments(),
            ExpandCopies(),
            SinkTensorReads(),
            RereadTensorMemory(),
            StreamTensorMemory(rolled=self.roll_columns),
            ApplyTensorLayouts(),
            UpcastScaledGemms(),
            WidenOperands(),
            SplitPrecision(),
            ExpandGemms(wgmma=self.wgmma),
            InferLayouts(wgmma=self.wgmma),
            CheckFragmentSizes(),
            InsertExpectTx(),
            AllocateTensorMemory(),
            SyncTensorMemory(),
            LowerTileOps(),
            JoinWgmmaGroups(),
            OverlapWgmma(),
            SinkWgmmaWaits(),
            StaggerWgmmaWaits(),
            Canonicalize(),
            Cse(),
            GuardMemoryAccesses(),
            DivideUnsigned(),
            VectorizeLoops(),
            LowerBarriers(),
            SyncClusters(),
            LowerThreadReductions(),
            FlattenMemrefs(),
            DivideUnsigned(),
            Canonicalize(),
            Cse(),
            OutlineKernels(),
            ChooseIndexWidth(self.index_bits),
            PlaceSharedMemory(reuse_within_iteration=self.reuse_within_iteration),
            *self._thread_syncs(),
            FenceTensorMemory(),
            SinkStoreWaits(),
            NarrowProducers(),
            ChooseOccupancy(max_blocks=self.max_blocks),
            SetWarpRegisters(),
            RemarkRegisterIndices(),
            DropAssumes(),
            Canonicalize(),
            Cse(),
            UnswitchLoops(),
            UnrollLoops(),
            MergeGuards(),
            HoistLoads(),
            UseWarpIndex(),
            Dce(),
            DropUnusedArguments(),
            PrefetchTensorMaps(),
            VerifyDeviceIr(),
            CheckThreadSync(tolerate_races=self.tolerate_races),
            HoistGuardedIndices(),
            LowerL2Policy(),
            SplitAddresses(),
            ChainWgmma(),
        ]

    @property
    def _has_own_barriers(self) -> bool:
        """Whether the user places the barriers of threads."""
        return InsertThreadSyncs.name in self.leave_out

    def _thread_syncs(self) -> list[Pass]:
        return [InsertThreadFences() if self._has_own_barriers else InsertThreadSyncs()]
