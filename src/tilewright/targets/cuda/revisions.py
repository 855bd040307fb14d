"""Pipelines to try after machine code shows what it loses: MMAs that wait for each other, spills.

ptxas serialises the MMAs of a warp group (C7510 to C7519) where it cannot derive which registers
they hold, or has too few of them. Serialised MMAs cost more than MMAs in flight gain, so
the kernel is compiled again, in the first of these forms that loses nothing:

    a predicated epilogue                one copy of the MMAs instead of one for each stage
    without hoist-loads                  where registers spill: loads wait for what they follow
    fewer blocks a multiprocessor        where registers are what is missing, or spill
    rolled stream-tensor-memory          where registers spill: columns are reduced in a loop
    without reread-tensor-memory         where registers spill: rows are held, not read twice
    without join-wgmma-groups            where registers spill: one GEMM in flight, not two
    without stagger-wgmma-waits          GEMMs that share a wait are complete after it
    without overlap-wgmma either         MMAs of an iteration are complete at its end
    without sink-wgmma-waits either      and their results are waited for at once
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv.tensor_memory import Tcgen05LdOp
from tilewright.dialects.simt import names as simt_names
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.hoist_loads import HoistLoads
from tilewright.passes.gpu.join_wgmma_groups import JoinWgmmaGroups
from tilewright.passes.gpu.overlap_wgmma import OverlapWgmma
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.gpu.reread_tensor_memory import RereadTensorMemory
from tilewright.passes.gpu.sink_wgmma_waits import SinkWgmmaWaits
from tilewright.passes.gpu.stagger_wgmma_waits import StaggerWgmmaWaits
from tilewright.targets.cuda.artefact import DeviceKernel
from tilewright.targets.cuda.fresh_indices import OTHER_REGISTERS
from tilewright.targets.ptxas_log import is_serialized, lacks_registers
from tilewright.targets.variants import PREDICATED, Revision, spilled

NOT_IN_FLIGHT = "TW5018"
FEWER_BLOCKS = "TW5015"


def losses(kernels: Mapping[str, DeviceKernel]) -> tuple[int, ...]:
    """Kernels whose MMAs are serialised, and bytes that spill."""
    serialized = sum(is_serialized(each.metadata.performance_remarks) for each in kernels.values())
    return serialized, spilled(kernels)


def revisions(
    pipeline: GpuPipeline, functions: Sequence[FuncOp], kernels: Mapping[str, DeviceKernel]
) -> Iterator[Revision[GpuPipeline]]:
    """What to try instead of `pipeline`, which made these kernels of `functions`."""
    remarks = tuple(
        remark for each in kernels.values() for remark in each.metadata.performance_remarks
    )
    spill = spilled(kernels)
    blocks = max(map(_blocks, functions), default=1)
    if is_serialized(remarks) and not pipeline.predicate_epilogue:
        yield Revision(
            replace(pipeline, predicate_epilogue=True),
            "pipeline epilogue predicated instead of peeled: ptxas serialises the MMAs of the "
            "peeled form",
            PREDICATED,
        )
    if spill:
        yield Revision(
            replace(pipeline, leave_out=(*pipeline.leave_out, HoistLoads.name)),
            f"{HoistLoads.name} not applied: {spill} B per thread spill with it",
            OTHER_REGISTERS,
        )
    if spill or lacks_registers(remarks):
        why = f"{spill} B per thread spill" if spill else "ptxas serialises its MMAs"
        for fewer in dict.fromkeys((blocks - 1, blocks // 2, 1)):
            if 0 < fewer < blocks:
                reason = f"occupancy limited to {fewer} blocks per SM: with {blocks}, {why}"
                yield Revision(replace(pipeline, max_blocks=fewer), reason, FEWER_BLOCKS)
    if spill and any(isinstance(op, Tcgen05LdOp) for each in functions for op in walk(each)):
        yield Revision(
            replace(pipeline, roll_columns=True),
            f"tensor memory reduced in loops over its columns: {spill} B per thread spill with "
            "all columns unrolled",
            OTHER_REGISTERS,
        )
        yield Revision(
            replace(pipeline, leave_out=(*pipeline.leave_out, RereadTensorMemory.name)),
            f"{RereadTensorMemory.name} not applied: {spill} B per thread spill with it",
            OTHER_REGISTERS,
        )
    if spill:
        yield Revision(
            replace(pipeline, leave_out=(*pipeline.leave_out, JoinWgmmaGroups.name)),
            f"{JoinWgmmaGroups.name} not applied: {spill} B per thread spill with it",
            NOT_IN_FLIGHT,
        )
    if not is_serialized(remarks):
        return
    if lacks_registers(remarks):
        pipeline = replace(pipeline, max_blocks=1)
    left_out = pipeline.leave_out
    for each in (StaggerWgmmaWaits.name, OverlapWgmma.name, SinkWgmmaWaits.name):
        left_out = (*left_out, each)
        yield Revision(
            replace(pipeline, leave_out=left_out),
            f"{each} not applied: ptxas serialises the MMAs with it",
            NOT_IN_FLIGHT,
        )


def _blocks(function: FuncOp) -> int:
    """Blocks of a kernel that share a multiprocessor."""
    found = function.attributes.get(simt_names.MIN_BLOCKS)
    return found.value.data if isinstance(found, IntegerAttr) else 1
