"""The pass pipeline of the tile level, in its order, as a value.

    for each in tile_passes(TilePipeline(target="cuda:sm_90a", warp_specialize=False)):
        each.run(module, engine)

    tilewright opt --tile-pipeline="target=numpy" kernel.mlir

What comes out computes the same bits as what went in: scheduled, with buffers in their versions,
copies asynchronous and every barrier in place and proved, but still whole tile ops. Layouts
and threads come next.

`TilePipeline` is a pass that consists of passes: a pipeline may run it as one, or its `passes()`
individually to inspect the IR in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.cleanup.canonicalize import Canonicalize
from tilewright.passes.cleanup.cse import Cse
from tilewright.passes.tile.bind_target import BindTarget
from tilewright.passes.tile.check_barriers import CheckBarriers
from tilewright.passes.tile.check_buffer_init import CheckBufferInit
from tilewright.passes.tile.check_parallel_races import CheckParallelRaces
from tilewright.passes.tile.check_pipeline import CheckPipeline
from tilewright.passes.tile.check_plans import CheckPlans
from tilewright.passes.tile.check_reducers import CheckReducers
from tilewright.passes.tile.expand_explicit_unroll import ExpandExplicitUnroll
from tilewright.passes.tile.expand_pipeline import ExpandPipeline
from tilewright.passes.tile.inject_assumes import InjectAssumes
from tilewright.passes.tile.normalize_indices import NormalizeIndices
from tilewright.passes.tile.plan_pipeline import PlanPipeline
from tilewright.passes.tile.plan_storage_alias import PlanStorageAlias
from tilewright.passes.tile.raise_copy_loops import RaiseCopyLoops
from tilewright.passes.tile.raise_thread_ranges import RaiseThreadRanges
from tilewright.passes.tile.simplify_fills import SimplifyFills
from tilewright.passes.tile.specialize_warps import SpecializeWarps
from tilewright.passes.tile.split_guards import SplitGuards
from tilewright.passes.tile.unroll_fragment_loops import UnrollFragmentLoops
from tilewright.passes.tile.version_roles import VersionRoles
from tilewright.passes.tile.widen_fragments import WidenFragments
from tilewright.passes.tile.wrap_block_atomics import WrapBlockAtomics
from tilewright.passes.tile.wrap_scalar_fragment_access import WrapScalarFragmentAccess


@dataclass(frozen=True)
class TilePipeline(Pass):
    """Run the tile-level pipeline: normalise, check, schedule."""

    name = "tile-pipeline"
    old_options = {"roles": "warp-specialize", "rolled": "predicate-epilogue"}

    target: str = "cuda:sm_90a"
    """What to compile for."""
    check_races: bool = False
    """Look for races between iterations of parallel loops."""
    check_shared_races: bool = False
    """Report those in shared memory that occur for all arguments."""
    check_init: bool = True
    """Look for reads of memory that nothing wrote."""
    check_pipelines: bool = False
    """Prove that expanded loops compute what the serial ones do."""
    warp_specialize: bool = True
    """Let extra warps issue the copies of pipelined loops, where the target can."""
    check_each: bool = True
    """Prove barriers after the split into roles as well as at the end."""
    async_copies: bool = True
    """Copy while the threads go on, in loops without roles."""
    async_gemms: bool = False
    """Issue copies while GEMMs run, in loops without roles that have nothing else."""
    predicate_epilogue: bool = False
    """Predicate the epilogue of pipelined loops that are not warp-specialised."""
    tolerate_races: bool = False
    """Report races of user-written roles as warnings."""

    def passes(self) -> list[Pass]:
        """The passes, in order."""
        return [*self._normalise(), *self._check(), *self._schedule()]

    def common_passes(self) -> list[Pass]:
        """The passes before scheduling: what targets that schedule otherwise share."""
        return [*self._normalise(), *self._check(), SplitGuards(), ExpandExplicitUnroll()]

    def _normalise(self) -> Iterator[Pass]:
        yield BindTarget(self.target)
        yield Canonicalize()
        yield Cse()
        yield NormalizeIndices()
        yield RaiseThreadRanges()
        yield WidenFragments()
        yield WrapScalarFragmentAccess()
        yield WrapBlockAtomics()
        yield InjectAssumes()
        yield SimplifyFills()

    def _check(self) -> Iterator[Pass]:
        if self.check_races:
            yield CheckParallelRaces()
        elif self.check_shared_races:
            yield CheckParallelRaces(certain=True)
        if self.check_init:
            yield CheckBufferInit()
        yield CheckReducers()
        yield PlanStorageAlias()

    def _schedule(self) -> Iterator[Pass]:
        yield SplitGuards()
        yield UnrollFragmentLoops()
        yield ExpandExplicitUnroll()
        yield RaiseCopyLoops()
        yield VersionRoles()
        if self.warp_specialize:
            yield SpecializeWarps()
            if self.check_each:
                yield CheckBarriers(tolerate_races=self.tolerate_races)
        has_async_copies = self.async_copies and not self.target.startswith("hip")
        yield PlanPipeline(async_copies=has_async_copies, async_gemms=self.async_gemms)
        yield CheckPlans()
        if self.check_pipelines:
            yield CheckPipeline()
        yield ExpandPipeline(predicate_epilogue=self.predicate_epilogue)
        yield Canonicalize()
        yield Cse()
        yield CheckBarriers(tolerate_races=self.tolerate_races)

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for each in self.passes():
            before = engine.error_count
            each.run(module, engine)
            if engine.error_count > before:
                return


def tile_passes(options: TilePipeline | None = None) -> list[Pass]:
    """The passes of the tile-level pipeline, in order."""
    return (options or TilePipeline()).passes()
