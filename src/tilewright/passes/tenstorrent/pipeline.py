"""The pass pipeline of `T` kernels for Tenstorrent chips, in its order, as a value.

    tilewright opt --tenstorrent-pipeline="target=tenstorrent:wormhole" kernel.mlir

The first passes are those of all targets (`passes.tile.pipeline`), without warp specialisation and
software pipelining: reader, compute and writer are the pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.cleanup.canonicalize import Canonicalize
from tilewright.passes.cleanup.cse import Cse
from tilewright.passes.tenstorrent.add_ghost_steps import AddGhostSteps
from tilewright.passes.tenstorrent.apply_tt_defaults import ApplyTtDefaults
from tilewright.passes.tenstorrent.apply_tt_tuning import ApplyTtTuning
from tilewright.passes.tenstorrent.assign_shards import AssignShards
from tilewright.passes.tenstorrent.check_tensor_order import CheckTensorOrder
from tilewright.passes.tenstorrent.check_tt_tensors import CheckTtTensors
from tilewright.passes.tenstorrent.count_tt_work import CountTtWork
from tilewright.passes.tenstorrent.fix_arguments import FixArguments
from tilewright.passes.tenstorrent.flatten_persistent_loops import FlattenPersistentLoops
from tilewright.passes.tenstorrent.fold_grid_reductions import FoldGridReductions
from tilewright.passes.tenstorrent.form_k_loops import FormKLoops
from tilewright.passes.tenstorrent.fuse_elementwise import FuseElementwise
from tilewright.passes.tenstorrent.group_multicast import GroupMulticast
from tilewright.passes.tenstorrent.infer_tt_schedule import InferTtSchedule
from tilewright.passes.tenstorrent.infer_tt_shards import InferTtShards
from tilewright.passes.tenstorrent.insert_transposes import InsertTransposes
from tilewright.passes.tenstorrent.keep_panels import KeepPanels
from tilewright.passes.tenstorrent.keep_scalars_in_tiles import KeepScalarsInTiles
from tilewright.passes.tenstorrent.lower_circular_buffers import LowerCircularBuffers
from tilewright.passes.tenstorrent.lower_tt_intrinsics import LowerTtIntrinsics
from tilewright.passes.tenstorrent.make_persistent import MakePersistent
from tilewright.passes.tenstorrent.map_cores import MapCores
from tilewright.passes.tenstorrent.normalize_tt_indices import NormalizeTtIndices
from tilewright.passes.tenstorrent.pad_to_tiles import PadToTiles
from tilewright.passes.tenstorrent.rasterize_tiles import RasterizeTiles
from tilewright.passes.tenstorrent.recognize_gemm_loops import RecognizeGemmLoops
from tilewright.passes.tenstorrent.select_fills import SelectFills
from tilewright.passes.tenstorrent.separate_buffers import SeparateBuffers
from tilewright.passes.tenstorrent.split_launches import SplitLaunches
from tilewright.passes.tenstorrent.split_tt_kernels import SplitTtKernels
from tilewright.passes.tenstorrent.stage_global_accesses import StageGlobalAccesses
from tilewright.passes.tenstorrent.tabulate_scalars import TabulateScalars
from tilewright.passes.tenstorrent.tensorize_tt import TensorizeTt
from tilewright.passes.tenstorrent.verify_tt import VerifyTt
from tilewright.passes.tile.fold_clears import FoldClears
from tilewright.passes.tile.pipeline import TilePipeline


@dataclass(frozen=True)
class TenstorrentPipeline(Pass):
    """All passes from a traced kernel to reader, compute, writer and the plan of the host."""

    name = "tenstorrent-pipeline"

    target: str = "tenstorrent:wormhole"
    """The chip: ``tenstorrent:wormhole``, ``tenstorrent:blackhole``, ``tenstorrent:sim``."""
    cores: str = ""
    """The core grid, columns by rows, as ``8x8``; by default the portable grid of the chip."""
    policy: str = ""
    """How blocks are assigned to cores: ``contiguous``, ``strided``, ``rect``; by default
    ``contiguous``, and ``rect`` with multicast."""
    order: str = ""
    """The raster order of blocks: ``row_major``, ``column_major``, ``block_linear:4x4``,
    ``z_order``, ``hilbert``; by default the one of ``T.use_swizzle``, or ``row_major``."""
    multicast: str = "off"
    """Whether one core reads what several need: ``off``, ``on``, ``auto``."""
    subblock: str = ""
    """Tiles of a GEMM that accumulate together, as ``1x8``; by default those of a rule."""
    stages: int = 0
    """Blocks that circular buffers of loads hold; by default the kernel's ``num_stages``."""
    shard: str = ""
    """Tensors in L1 and how they are cut: ``A:height,C:block``; ``H:dram`` for none."""
    l1_budget: int = 0
    """Bytes that circular buffers may take; 0 for what the chip has."""
    values: str = ""
    """Extents and values of arguments at launch, see `fix-arguments`: ``A=33x17;n=5``."""

    residency: str = "off"
    """Whether panels stay in L1 while consecutive blocks need them: ``off``, ``auto``, ``on``."""

    def passes(self) -> list[Pass]:
        """The passes, in order."""
        return [
            FixArguments(self.values),
            *TilePipeline(target=self.target).common_passes(),
            SelectFills(),
            CheckTtTensors(),
            SplitLaunches(),
            FoldClears(),
            FlattenPersistentLoops(),
            TabulateScalars(),
            FoldGridReductions(),
            KeepScalarsInTiles(),
            StageGlobalAccesses(),
            SelectFills(),  # of the copies that were staged
            NormalizeTtIndices(),
            RecognizeGemmLoops(),
            InsertTransposes(),
            ApplyTtDefaults(self.policy, self.order, self.cores, self.multicast, self.shard),
            ApplyTtTuning(self.subblock, self.stages),
            InferTtShards(),
            InferTtSchedule(),
            PadToTiles(),
            TensorizeTt(),
            SeparateBuffers(),
            CheckTensorOrder(),
            FormKLoops(),
            FuseElementwise(),
            MakePersistent(),
            RasterizeTiles(),
            MapCores(),
            AssignShards(self.l1_budget),
            AddGhostSteps(),
            KeepPanels(self.residency, self.l1_budget),
            GroupMulticast(),
            LowerCircularBuffers(self.l1_budget),
            SplitTtKernels(),
            LowerTtIntrinsics(),
            Canonicalize(),
            Cse(),
            VerifyTt(),
            CountTtWork(),
        ]

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for each in self.passes():
            before = engine.error_count
            each.run(module, engine)
            if engine.error_count > before:
                return
