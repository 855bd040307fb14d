"""The pass pipeline of `T` kernels for AMD GPUs, in its order, as a value.

A sister of `passes.gpu.pipeline`: most passes are the same, with the numbers of the target.
What is missing has no counterpart on these GPUs (TMA, mbarriers, clusters, warp-group MMAs, roles
that hand registers over); `check-amd-features` refuses kernels that use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from tilewright.ir.passes import Pass
from tilewright.passes.amd.bypass_store_buffers import BypassStoreBuffers
from tilewright.passes.amd.check_amd_features import CheckAmdFeatures
from tilewright.passes.amd.check_tile_sizes import CheckTileSizes
from tilewright.passes.amd.choose_direct_copies import ChooseDirectCopies
from tilewright.passes.amd.drop_nvidia_hints import DropNvidiaHints
from tilewright.passes.amd.drop_wgmma_waits import DropWgmmaWaits
from tilewright.passes.amd.duplicate_operands import DuplicateOperands
from tilewright.passes.amd.fill_waves import FillWaves
from tilewright.passes.amd.hint_schedule import HintSchedule
from tilewright.passes.amd.insert_lds_waits import InsertLdsWaits
from tilewright.passes.amd.lower_warp_ops import LowerWarpOps
from tilewright.passes.amd.narrow_barrier_fences import NarrowBarrierFences
from tilewright.passes.amd.order_stores import OrderStores
from tilewright.passes.amd.plan_staging import PlanStaging
from tilewright.passes.amd.read_shared_operands import ReadSharedOperands
from tilewright.passes.amd.remap_blocks import RemapBlocks
from tilewright.passes.amd.split_operands import SplitOperands
from tilewright.passes.amd.stage_copies import StageCopies
from tilewright.passes.amd.use_buffer_accesses import UseBufferAccesses
from tilewright.passes.cleanup.canonicalize import Canonicalize
from tilewright.passes.cleanup.cse import Cse
from tilewright.passes.cleanup.dce import Dce
from tilewright.passes.gpu.apply_tensor_layouts import ApplyTensorLayouts
from tilewright.passes.gpu.assert_assumptions import AssertAssumptions
from tilewright.passes.gpu.check_divergent_code import CheckDivergentCode
from tilewright.passes.gpu.check_element_types import CheckElementTypes
from tilewright.passes.gpu.check_fragment_sizes import CheckFragmentSizes
from tilewright.passes.gpu.check_launch import CheckLaunch
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.choose_index_width import ChooseIndexWidth
from tilewright.passes.gpu.device_pipeline import DevicePipeline
from tilewright.passes.gpu.drop_layout_hints import DropLayoutHints
from tilewright.passes.gpu.drop_reuse_groups import DropReuseGroups
from tilewright.passes.gpu.drop_unused_arguments import DropUnusedArguments
from tilewright.passes.gpu.expand_copies import ExpandCopies
from tilewright.passes.gpu.expand_gemms import ExpandGemms
from tilewright.passes.gpu.flatten_memrefs import FlattenMemrefs
from tilewright.passes.gpu.flatten_threads import FlattenThreads
from tilewright.passes.gpu.guard_memory_accesses import GuardMemoryAccesses
from tilewright.passes.gpu.hoist_views import HoistViews
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.insert_thread_syncs import InsertThreadSyncs
from tilewright.passes.gpu.lower_barriers import LowerBarriers
from tilewright.passes.gpu.lower_l2_policy import LowerL2Policy
from tilewright.passes.gpu.lower_persistent import LowerPersistent
from tilewright.passes.gpu.lower_thread_reductions import LowerThreadReductions
from tilewright.passes.gpu.lower_tile_ops import LowerTileOps
from tilewright.passes.gpu.lower_tmem import LowerTmem
from tilewright.passes.gpu.merge_guards import MergeGuards
from tilewright.passes.gpu.order_tensor_writes import OrderTensorWrites
from tilewright.passes.gpu.outline_kernels import OutlineKernels
from tilewright.passes.gpu.pipeline import DropAssumes
from tilewright.passes.gpu.place_shared_memory import PlaceSharedMemory
from tilewright.passes.gpu.remark_register_indices import RemarkRegisterIndices
from tilewright.passes.gpu.split_precision import SplitPrecision
from tilewright.passes.gpu.unroll_loops import UnrollLoops
from tilewright.passes.gpu.unswitch_loops import UnswitchLoops
from tilewright.passes.gpu.upcast_scaled_gemms import UpcastScaledGemms
from tilewright.passes.gpu.vectorize_loops import VectorizeLoops
from tilewright.passes.gpu.verify_device_ir import VerifyDeviceIr
from tilewright.passes.gpu.widen_operands import WidenOperands
from tilewright.passes.tile.check_barriers import CheckBarriers
from tilewright.passes.tile.check_plans import CheckPlans
from tilewright.passes.tile.expand_pipeline import ExpandPipeline
from tilewright.passes.tile.fold_clears import FoldClears
from tilewright.passes.tile.mark_private_buffers import MarkPrivateBuffers
from tilewright.passes.tile.pack_narrow_elements import PackNarrowElements
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.plan_pipeline import PlanPipeline
from tilewright.passes.tile.split_guards import SplitGuards


@dataclass(frozen=True)
class AmdPipeline(DevicePipeline):
    """All passes from a traced kernel to device functions for an AMD GPU."""

    name = "amd-pipeline"

    target: str = "hip:gfx942"
    """What to compile for."""

    index_bits: int | None = None
    """How wide indices are; None to choose by the extents of tensors."""

    predicate_epilogue: bool = False
    """Whether pipelined loops predicate their epilogue instead of peeling it: less code."""

    reuse_within_iteration: bool = False
    """Whether buffers may overlap within a loop iteration although they fit without."""

    buffer_accesses: bool = False
    """Whether buffer accesses check bounds instead of branches, where the size of a tensor is
    known."""

    direct_copies: bool = True
    """Whether tiles of pipelined loops are copied to LDS without registers, where the GPU can."""

    schedule: str = "none"
    """Scheduling hints of loops with matrix instructions: none, priority, groups or iglp."""

    max_versions: int = 2
    """How many versions tiles of pipelined loops may have: 1 takes less shared memory."""

    operand_parts: int = 1
    """In how many parts operands are filled that do not fit as a whole."""

    pipelined_parts: bool = True
    """Whether loops with such operands stay pipelined; else parts are limited by their size."""

    check_tile_sizes: bool = False
    """Whether tiles that cannot fit are reported before layouts are chosen, without details."""

    read_shared_operands: bool = False
    """Whether GEMMs read operands in shared memory that the kernel copies to registers."""

    leave_out: tuple[str, ...] = ()
    """Names of passes that the user disabled: guards, wide accesses."""

    @override
    def all_passes(self) -> list[Pass]:
        return [
            PackNarrowElements(),
            DropLayoutHints(),
            MarkPrivateBuffers(),
            *TilePipeline(target=self.target, check_shared_races=True).common_passes(),
            FillWaves(),
            CheckAmdFeatures(),
            DropNvidiaHints(),
            BypassStoreBuffers(),
            ReadSharedOperands(self.read_shared_operands),
            SplitOperands(self.operand_parts, self.pipelined_parts),
            CheckTileSizes(self.check_tile_sizes),
            DuplicateOperands(),
            *([ChooseDirectCopies()] if self.direct_copies else []),
            StageCopies(),
            SplitGuards(),
            PlanStaging(self.max_versions),
            PlanPipeline(async_copies=False),
            CheckPlans(),
            ExpandPipeline(predicate_epilogue=self.predicate_epilogue),
            *([] if self.pipelined_parts else [MarkPrivateBuffers()]),
            Canonicalize(),
            Cse(),
            CheckBarriers(),
            DropReuseGroups(),
            CheckLaunch(),
            CheckElementTypes(),
            LowerTmem(),
            DropWgmmaWaits(),
            LowerPersistent(),
            FlattenThreads(),
            LowerWarpOps(),
            CheckDivergentCode(),
            AssertAssumptions(),
            HoistViews(),
            FoldClears(),
            OrderTensorWrites(),
            ExpandCopies(),
            ApplyTensorLayouts(),
            UpcastScaledGemms(),
            WidenOperands(),
            SplitPrecision(),
            ExpandGemms(wgmma=False),
            InferLayouts(wgmma=False),
            CheckFragmentSizes(),
            LowerTileOps(),
            Canonicalize(),
            Cse(),
            GuardMemoryAccesses(),
            VectorizeLoops(),
            LowerBarriers(),
            LowerThreadReductions(),
            FlattenMemrefs(),
            Canonicalize(),
            Cse(),
            OutlineKernels(),
            RemapBlocks(),
            ChooseIndexWidth(self.index_bits),
            PlaceSharedMemory(reuse_within_iteration=self.reuse_within_iteration),
            InsertLdsWaits(),
            InsertThreadSyncs(versions=True),
            RemarkRegisterIndices(),
            DropAssumes(),
            Canonicalize(),
            Cse(),
            UnswitchLoops(),
            UnrollLoops(),
            MergeGuards(),
            Dce(),
            *([UseBufferAccesses()] if self.buffer_accesses else []),
            DropUnusedArguments(),
            VerifyDeviceIr(),
            CheckThreadSync(),
            LowerL2Policy(),
            NarrowBarrierFences(),
            *([OrderStores()] if self.schedule in ("none", "priority") else []),
            HintSchedule(self.schedule),
        ]
