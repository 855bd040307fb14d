"""Which configuration of a `T` kernel is likely to be quick: a ranking before anything is compiled.

    block     max(MMA, shared memory, copies)      copies that a pipeline overlaps; else the sum
    copies    bytes / min(L2 rate, bytes in flight / latency)
    kernel    waves of resident blocks x block

It reads the IR as it was traced, with its sizes, without layouts and without the code that is
generated: it orders configurations, and measuring decides. A kernel whose grid or trip counts
are run-time values has no estimate, and keeps its position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith.constant import ConstantOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import AllocOp, CopyOp, GemmOp, KernelOp, PipelineOp, Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.throughput import (
    MAX_REGISTERS,
    SMEM_BYTES,
    THROUGHPUT,
    Throughput,
)
from tilewright.memory.multiprocessors import MULTIPROCESSORS, Multiprocessor
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.targets import arch_of, is_gpu

_WARP_GROUP = 128
_REGISTER_BYTES = 4
_SPILLS = 8.0
"""How much longer a block takes whose accumulators do not fit into registers."""
C = TypeVar("C")


@dataclass(frozen=True)
class Estimate:
    """Cycles of a kernel."""

    cycles: float
    waves: int
    blocks_per_multiprocessor: int


def estimate(kernel: CompiledTileKernel) -> Estimate | None:
    """The cycles of all kernels of a function; None where sizes are run-time values."""
    if not is_gpu(kernel.target) and kernel.target != "numpy":
        return None
    module = kernel.prim_func.module
    digits = re.search(r"\d+", arch_of(kernel.target if is_gpu(kernel.target) else "cuda", module))
    arch = int(digits[0]) if digits else 0
    if arch not in THROUGHPUT:
        return None
    found: list[Estimate] = []
    for op in walk(module):
        if isinstance(op, KernelOp):
            each = _kernel(op, THROUGHPUT[arch], MULTIPROCESSORS[arch])
            if each is None:
                return None
            found.append(each)
    if not found:
        return None
    last = found[-1]
    return Estimate(sum(each.cycles for each in found), last.waves, last.blocks_per_multiprocessor)


def ranked(
    configs: Sequence[C], compiled: Callable[[C], CompiledTileKernel], top: int = 0
) -> list[C]:
    """The configurations by their estimates, the least first, and of these the first `top`.

    Those without an estimate, or that cannot be traced, keep their order after the others.
    """
    if len(configs) < 2:
        return list(configs)
    costs: list[float] = []
    for config in configs:
        try:
            found = estimate(compiled(config))
        except Exception:  # reported by the search itself
            found = None
        costs.append(math.inf if found is None else found.cycles)
    order = sorted(range(len(configs)), key=lambda index: (costs[index], index))
    return [configs[index] for index in (order[:top] if top else order)]


# -- one kernel ------------------------------------------------------------------------------------


@dataclass
class _Work:
    """What one block does, in cycles and bytes."""

    mma: float = 0.0
    smem: float = 0.0
    overlapped_bytes: float = 0.0
    other_bytes: float = 0.0
    in_flight: float = 0.0
    """Bytes that the pipelines have in flight."""


def _kernel(op: KernelOp, rates: Throughput, limits: Multiprocessor) -> Estimate | None:
    blocks = 1
    for extent in op.grid:
        if not isinstance(extent, int):
            return None
        blocks *= extent
    threads = op.num_threads or _WARP_GROUP
    work = _Work()
    smem = registers = 0
    for each in walk(op):
        if isinstance(each, AllocOp):
            size = _bytes(each.result)
            stages = _stages_of(each) if each.space.is_shared else 1
            smem += size * stages if each.space.is_shared else 0
            registers += size // _REGISTER_BYTES if each.space is Space.FRAGMENT else 0
        elif isinstance(each, CopyOp | GemmOp):
            trips = _trips(each, op)
            if trips is None:
                return None
            _add(work, each, trips, threads, rates)
    resident = limits.blocks_of(threads, smem)
    if smem > limits.smem_bytes:
        resident, work.other_bytes = 1, work.other_bytes * _SPILLS
    resident = min(resident, -(-blocks // limits.count))
    rate = rates.l2_bytes / resident
    overlapped = work.overlapped_bytes / min(rate, max(work.in_flight, 1.0) / rates.latency)
    alone = work.other_bytes / rate + rates.latency
    compute = max(work.mma, work.smem) * resident
    block = max(compute, overlapped) + alone
    if registers / threads > MAX_REGISTERS:
        block *= _SPILLS
    waves = -(-blocks // (limits.count * resident))
    return Estimate(waves * block, waves, resident)


def _add(work: _Work, op: CopyOp | GemmOp, trips: int, threads: int, rates: Throughput) -> None:
    if isinstance(op, GemmOp):
        m, n, k = op.mnk
        groups = max(threads // _WARP_GROUP, 1)
        operand_bytes = bit_width(element_type_of(op.a.type)) / 8
        work.mma += trips * 2.0 * m * n * k / rates.mma_flops * (operand_bytes / 2)
        work.smem += trips * (m + n * min(groups, max(m // 64, 1))) * k * operand_bytes / SMEM_BYTES
        return
    size = min(_bytes(op.src), _bytes(op.dst))
    if not (_is_global(op.src) or _is_global(op.dst)):
        return
    pipeline = _pipeline_of(op)
    if pipeline is not None and pipeline.stages > 1:
        work.overlapped_bytes += trips * size
        work.in_flight += (pipeline.stages - 1) * size
    else:
        work.other_bytes += trips * size


def _is_global(value: SSAValue) -> bool:
    return space_of(value.type) is Space.GLOBAL


def _bytes(value: SSAValue) -> int:
    return math.prod(max(each, 1) for each in shape_of(value.type)) * (
        bit_width(element_type_of(value.type)) // 8 or 1
    )


def _stages_of(op: AllocOp) -> int:
    """The versions that a pipeline makes of a buffer that it fills."""
    found = 1
    for use in op.result.uses:
        user = use.operation
        if isinstance(user, CopyOp) and user.dst is op.result:
            pipeline = _pipeline_of(user)
            found = max(found, pipeline.stages if pipeline is not None else 1)
    return found


def _pipeline_of(op: Operation) -> PipelineOp | None:
    parent = op.parent_op()
    return parent if isinstance(parent, PipelineOp) else None


def _trips(op: Operation, kernel: KernelOp) -> int | None:
    """The executions of an op in one block; None where that is decided at run time."""
    trips, parent = 1, op.parent_op()
    while parent is not None and parent is not kernel:
        count = _trip_count(parent)
        if count is None:
            return None
        trips *= count
        parent = parent.parent_op()
    return trips


def _trip_count(op: Operation) -> int | None:
    if isinstance(op, PipelineOp):
        lower, upper = op.lower, op.upper
        if not isinstance(lower, int) or not isinstance(upper, int):
            return None
        return max(upper - lower, 0)
    if isinstance(op, ForOp):
        bounds = [_constant(each) for each in (op.lower_bound, op.upper_bound, op.step)]
        low, high, step = bounds
        if low is None or high is None or not step:
            return None
        return max(-(-(high - low) // step), 0)
    return 1


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
