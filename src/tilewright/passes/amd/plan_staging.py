"""`plan-staging`: when the two steps of copies through registers run.

    tile.pipeline { load; store; gemm }    ->    the same with  #tile.pipeline_plan<
                                                   stage = [0, 0, 1], order = [0, 2, 1], ...>

Loads first, the previous iteration's computation next, stores last (`analysis.pipelining.staged`).
``num_stages=1`` requests one version of the shared tiles, larger values two: registers are the
other stage, so further versions would only take shared memory. If two do not fit, there is one, at
the cost of a second barrier, with a remark. A tile for which there are not enough registers is
loaded where it stands.

Direct copies (`choose-direct-copies`) run one iteration ahead, or two with ``num_stages=3`` or
more, if three versions fit. The versions of their tiles are buffers of their own (`amd.own_array`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.pipelining import (
    Dependences,
    PipelinePlan,
    Refusal,
    plan_automatically,
    plan_staged,
)
from tilewright.dialects.amd import names
from tilewright.dialects.amd.moves import MAX_PENDING
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, PipelineOp, Space
from tilewright.dialects.tile.names import SEPARATE_VERSIONS
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.amd.choose_direct_copies import (
    MAX_ARRAYS,
    MAX_VERSIONS,
    NOT_DIRECT,
    direct_copies,
    in_flight,
    lds_bytes,
)
from tilewright.passes.amd.stage_copies import STAGING
from tilewright.passes.gpu.shared_sizes import bytes_of
from tilewright.passes.tile.naming import buffer_name
from tilewright.passes.tile.plan_pipeline import report_remark

ONE_VERSION, NO_REGISTERS, MORE_STAGES = "TW7501", "TW7503", "TW7518"
_VERSIONS = 2
_RESERVED = 3
"""Eighths of the registers of a thread that are for operands, addresses and everything else."""
_REGISTER_BITS = 32


@dataclass(frozen=True)
class PlanStaging(Pass):
    """Schedule loops whose copies go through registers."""

    name = "plan-staging"

    max_versions: int = _VERSIONS
    """How many versions of shared tiles there may be."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in list(walk(module)):
            if isinstance(loop, PipelineOp) and loop.plan is None and loop.stages > 0:
                _plan(loop, self.max_versions, engine)


def _plan(loop: PipelineOp, max_versions: int, engine: DiagnosticEngine) -> None:
    dependences = Dependences(loop)
    stores = [
        position
        for position, regions in enumerate(dependences.reads)
        if any(_is_staging(region.base) for region in regions)
    ]
    direct = [n for n, op in enumerate(dependences.ops) if names.DIRECT in op.attributes]
    if direct:
        _plan_direct(loop, dependences, direct, engine)
        return
    if not stores:
        return
    if loop.stages > _VERSIONS:
        engine.remark(
            loop,
            f"num_stages={loop.stages} has the effect of num_stages={_VERSIONS}: registers are the "
            "other stage of a copy, and further versions of its tile would not be used",
            MORE_STAGES,
        ).note(None, f"help: use num_stages={_VERSIONS}")
    stores = _that_fit(loop, dependences, stores, engine)
    if not stores:
        found = plan_automatically(dependences, loop.stages, has_async_copies=False)
        if isinstance(found, Refusal) and not found.ops:
            # No other copy is left to run ahead, and the remarks on these have the reason.
            loop.num_stages = IntegerAttr(0, loop.num_stages.type)
        return
    filled = [region.base for store in stores for region in dependences.writes[store]]
    versions = _versions(loop, filled, max_versions, engine)
    found = plan_staged(dependences, stores, versions=versions)
    if isinstance(found, PipelinePlan):
        loop.properties["plan"] = found.attribute(dependences)
    else:
        report_remark(found, loop, engine)


def _plan_direct(
    loop: PipelineOp, dependences: Dependences, direct: list[int], engine: DiagnosticEngine
) -> None:
    """All copies of the loop go to shared memory directly."""
    ahead = _ahead(loop, dependences, direct)
    if loop.stages > ahead + 1:
        engine.remark(
            loop,
            f"num_stages={loop.stages} has the effect of num_stages={ahead + 1}: tiles of direct "
            f"copies have at most {MAX_VERSIONS} versions, and those have to fit",
            MORE_STAGES,
        ).note(None, f"help: use num_stages={ahead + 1}")
    found = plan_staged(dependences, (), versions=ahead + 1, direct=direct, ahead=ahead)
    if isinstance(found, PipelinePlan):
        loop.properties["plan"] = found.attribute(dependences)
        _separate(dependences, found, direct, engine)
        return
    for statement in direct:
        _refuse(dependences.ops[statement], engine)
    report_remark(found, loop, engine)


def _ahead(loop: PipelineOp, dependences: Dependences, direct: list[int]) -> int:
    """How many iterations direct copies run ahead of those that use them."""
    chip = amd_chip_of(loop)
    if chip is None or loop.stages < MAX_VERSIONS:
        return 1
    copies = [op for n, op in enumerate(dependences.ops) if n in direct and isinstance(op, CopyOp)]
    kernel = _kernel_of(loop)
    needed = lds_bytes(kernel, {op.dst: MAX_VERSIONS for op in copies})
    arrays = MAX_VERSIONS * len(direct_copies(kernel))
    if needed > chip.lds_bytes or 2 * in_flight(copies) > MAX_PENDING or arrays > MAX_ARRAYS:
        return 1
    return 2


def _separate(
    dependences: Dependences, plan: PipelinePlan, direct: list[int], engine: DiagnosticEngine
) -> None:
    """Versions of the targets of direct copies are arrays of their own."""
    for statement in direct:
        op = dependences.ops[statement]
        assert isinstance(op, CopyOp)
        if plan.versions.get(op.dst, 1) > 1 and plan.stage[statement] == 0:
            assert isinstance(op.dst.owner, AllocOp)
            op.dst.owner.attributes[names.OWN_ARRAY] = UnitAttr()
            op.dst.owner.attributes[SEPARATE_VERSIONS] = UnitAttr()
        else:
            _refuse(op, engine)


def _refuse(op: Operation, engine: DiagnosticEngine) -> None:
    """A direct copy that cannot run ahead is made where it stands."""
    assert isinstance(op, CopyOp)
    del op.attributes[names.DIRECT]
    reason = "the loop has no schedule in which it runs ahead"
    engine.remark(
        op, f"copy to '{buffer_name(op.dst)}' goes through registers: {reason}", NOT_DIRECT
    )


def _that_fit(
    loop: PipelineOp, dependences: Dependences, stores: list[int], engine: DiagnosticEngine
) -> list[int]:
    """The stores whose tiles may be in registers all through an iteration, small ones first."""
    chip = amd_chip_of(loop)
    if chip is None:
        return stores
    threads = threads_of(loop).count
    available = chip.registers_with(threads)
    left = available - available * _RESERVED // 8 - _held(loop, threads)
    fitting: list[int] = []
    for store in sorted(stores, key=lambda each: _size(dependences, each, threads)):
        needed = _size(dependences, store, threads)
        if needed > left:
            engine.remark(
                dependences.ops[store],
                f"copy does not overlap with computation: {needed} registers per thread needed, "
                f"{max(left, 0)} of {available} left on {chip}",
                NO_REGISTERS,
            ).note(None, "help: use smaller tiles or more threads")
            continue
        left -= needed
        fitting.append(store)
    return sorted(fitting)


def _held(loop: PipelineOp, threads: int) -> int:
    """Registers of a thread that the fragments of the kernel take."""
    fragments = [
        op.result
        for op in walk(_kernel_of(loop))
        if isinstance(op, AllocOp) and op.space is Space.FRAGMENT and not _is_staging(op.result)
    ]
    return sum(_registers(each, threads) for each in fragments if _is_live(each, loop))


def _size(dependences: Dependences, store: int, threads: int) -> int:
    staged = {region.base for region in dependences.reads[store] if _is_staging(region.base)}
    return sum(_registers(each, threads) for each in staged)


def _registers(fragment: SSAValue, threads: int) -> int:
    bits = prod(shape_of(fragment.type)) * bit_width(element_type_of(fragment.type))
    return -(-bits // (threads * _REGISTER_BITS))


def _is_staging(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, AllocOp) and STAGING in buffer.owner.attributes


def _versions(
    loop: PipelineOp, filled: list[SSAValue], max_versions: int, engine: DiagnosticEngine
) -> int:
    requested = min(loop.stages, _VERSIONS)
    target = amd_chip_of(loop)
    if requested == 1 or target is None:
        return 1
    if max_versions == 1:
        engine.remark(
            loop,
            "tiles in shared memory not double-buffered: with the other buffers they exceed "
            f"{target.lds_bytes} B available per block on {target}; each iteration takes a second "
            "barrier",
            ONE_VERSION,
        ).note(None, "help: use smaller tiles")
        return 1
    once = sum(bytes_of(op) for op in _allocs(filled))
    needed = requested * once + _others(loop, filled)
    if needed <= target.lds_bytes:
        return requested
    remark = engine.remark(
        loop,
        f"tiles in shared memory not double-buffered: {needed} B needed, {target.lds_bytes} B "
        f"available per block on {target}; each iteration takes a second barrier",
        ONE_VERSION,
    )
    remark.note(
        None,
        f"help: use smaller tiles: those of this loop take {once} B, other buffers "
        f"{needed - requested * once} B",
    )
    return 1


def _allocs(buffers: list[SSAValue]) -> list[AllocOp]:
    return [each.owner for each in buffers if isinstance(each.owner, AllocOp)]


def _others(loop: PipelineOp, filled: list[SSAValue]) -> int:
    """Bytes of other shared buffers that hold something while the loop runs."""
    shared = [op for op in walk(_kernel_of(loop)) if isinstance(op, AllocOp) and op.space.is_shared]
    return sum(
        bytes_of(op) for op in shared if op.result not in filled and _is_live(op.result, loop)
    )


def _kernel_of(loop: PipelineOp) -> KernelOp:
    kernel: Operation | None = loop
    while kernel is not None and not isinstance(kernel, KernelOp):
        kernel = kernel.parent_op()
    assert kernel is not None, "a pipelined loop is inside a kernel"
    return kernel


def _is_live(buffer: SSAValue, loop: PipelineOp) -> bool:
    """Whether a buffer is used in the loop, or both before and after it."""
    sides: set[bool] = set()
    for use in buffer.uses:
        if loop.is_ancestor(use.operation):
            return True
        sides.add(_is_before(use.operation, loop))
    return len(sides) == 2


def _is_before(op: Operation, loop: PipelineOp) -> bool:
    """Whether an op comes before the loop; one in a loop around it counts as both."""
    ancestors: list[Operation] = []
    outer: Operation | None = loop
    while outer is not None:
        ancestors.append(outer)
        outer = outer.parent_op()
    inner: Operation = op
    while (parent := inner.parent_op()) is not None and parent not in ancestors:
        inner = parent
    position = next((each for each in ancestors if each.parent is inner.parent), loop)
    return inner.is_before_in_block(position)
