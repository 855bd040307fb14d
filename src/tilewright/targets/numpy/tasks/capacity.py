"""Whether the buffers of a kernel fit into the memory of its target.

    gemm.py:8: error[TW5001]: shared memory: 278864 bytes needed, 232448 available on sm_90
      note: a: 24 x 8192 bytes
      note: b: 10 x 8192 bytes
      note: full: 10 x 8 bytes
      note: fits with 16 instead of 24 buffers of 'a', ...

A run on a CPU has space for everything, so this check is explicit. The requirement is the greatest
amount in use at one time: buffers that are never live together may get the same bytes from the
allocator for the GPU, and count only once. Scratch memory of a compiler comes on top of
that, so a kernel that just fits here may still be too large there.

The target is the one that the module names; without a name it is the oldest with TMA and the
memories that the kernel uses, and all of these have the same capacity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.buffer_liveness import BufferLiveness, FunctionLiveness, LiveBuffer
from tilewright.dialects.tt.functions import FuncOp
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.memory import (
    LiveRanges,
    Memory,
    Mode,
    Options,
    StoragePlan,
    Target,
    fitting_changes,
    target_named,
)
from tilewright.memory.targets import TMEM_COLUMN_BYTES
from tilewright.passes.tlx.storage_alias.collect import collect
from tilewright.passes.tlx.storage_alias.define_overlaps import named_phases
from tilewright.passes.tlx.storage_alias.plain import names_in, plain_allocations
from tilewright.passes.tlx.storage_alias.planning import Settings, plan_specs, target_of
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.tasks.placement import Placement

_WITHOUT_TMEM, _WITH_TMEM = "sm_90", "sm_100"


def require_capacity(
    module: ModuleOp,
    kernel: FuncOp,
    written: ModuleOp,
    placement: Placement,
    sources: SourceManager | None,
) -> None:
    """Raise if the allocations of `kernel` need more than there is.

    `module` is ready to run and holds `kernel`; in `written` storage aliases are as in the
    source, and so are the names of buffers in the diagnostic.
    """
    target = target_of(module) or target_named(
        _WITH_TMEM if placement.tmem_columns else _WITHOUT_TMEM
    )
    for memory in Memory:
        capacity = target.capacity(memory)
        if _sum(placement, memory) <= capacity:
            continue
        sizes = {op: _size(op, placement) for op in placement.indices if _memory(op) is memory}
        needed = _greatest(BufferLiveness(module).functions[kernel], sizes)
        if needed > capacity:
            text = _text(memory, needed, capacity, target)
            diagnostic = Diagnostic(
                Severity.ERROR, text, _largest(sizes).location, SHARED_MEMORY_EXCEEDED
            )
            notes = _explanation(written, memory, capacity)
            diagnostic.notes.extend(Diagnostic(Severity.NOTE, note) for note in notes)
            raise Unsupported(diagnostic, sources)


def _text(memory: Memory, needed: int, capacity: int, target: Target) -> str:
    there = f"{capacity} available on {target.name}" if capacity else f"{target.name} has none"
    return f"{memory.full_name}: {needed} {memory.unit_name} needed, {there}"


# How much is needed.


def _memory(op: Operation) -> Memory:
    return Memory.TMEM if op.name == "ttng.tmem_alloc" else Memory.SMEM


def _sum(placement: Placement, memory: Memory) -> int:
    return placement.smem_bytes if memory is Memory.SMEM else placement.tmem_columns


def _size(op: Operation, placement: Placement) -> int:
    size = placement.allocations[placement.indices[op]].size
    return size if _memory(op) is Memory.SMEM else size // TMEM_COLUMN_BYTES


def _largest(sizes: Mapping[Operation, int]) -> Operation:
    return max(sizes, key=lambda op: sizes[op])


def _greatest(liveness: FunctionLiveness, sizes: Mapping[Operation, int]) -> int:
    """The most that is in use at one point; what other partitions use is in use there as well."""
    change = [0] * (len(liveness.flow) + 1)
    for buffer in liveness.buffers:
        for start, end in _spans(buffer, liveness):
            change[start] += sizes.get(buffer.op, 0)
            change[end] -= sizes.get(buffer.op, 0)
    peak = now = 0
    for step in change:
        now += step
        peak = max(peak, now)
    return peak


def _spans(buffer: LiveBuffer, liveness: FunctionLiveness) -> Iterator[tuple[int, int]]:
    if buffer.partition is None:
        yield from buffer.spans
        return
    inside = [*liveness.flow.inside(buffer.partition.op)]
    first, last = min(inside), max(inside)
    yield first, last + 1
    for start, end in buffer.spans:
        if start < first:
            yield start, min(end, first)
        if end > last + 1:
            yield max(start, last + 1), end


# The diagnostic.


def _explanation(written: ModuleOp, memory: Memory, capacity: int) -> Iterator[str]:
    """The buffers as allocated in the source, and the smallest changes after which they fit."""
    settings = Settings(placement="explicit", multi_overlap=named_phases(written))
    planned = plan_specs(collect(written), settings)
    plans: dict[Operation, StoragePlan] = {
        each.spec.op: each.plan for each in planned if each.plan is not None
    }
    plain = plain_allocations(written, names_in(plans.values()), plans).plans
    plans |= plain
    unit = memory.unit_name
    for plan in plans.values():
        if plan.region.memory is not memory:
            continue
        parts = [f"{each.name}: {each.count} x {each.unit} {unit}" for each in plan.region.buffers]
        if len(parts) > 1:
            parts = [f"{plan.region.name}: {plan.backing.allocated} {unit}", *parts]
        yield "; ".join(parts)
    regions = [plan.region for plan in plans.values()]
    options = Options(Mode.EXPLICIT, live=_live(written, plain, plans))
    for change in fitting_changes(regions, memory, capacity, options):
        yield str(change)


def _live(
    written: ModuleOp,
    plain: Mapping[Operation, StoragePlan],
    plans: Mapping[Operation, StoragePlan],
) -> LiveRanges:
    """First and last point of every buffer; those of storage aliases count as always in use."""
    live: dict[str, tuple[int, int]] = {}
    for function in BufferLiveness(written).functions.values():
        end = len(function.flow)
        for buffer in function.buffers:
            if buffer.op in plain:
                spans = [*_spans(buffer, function)] or [(0, end)]
                first, last = min(s for s, _ in spans), max(e for _, e in spans) - 1
                live |= {b.name: (first, last) for b in plain[buffer.op].region.buffers}
        for op, plan in plans.items():
            if op not in plain:
                live |= {b.name: (0, end) for b in plan.region.buffers}
    return live
