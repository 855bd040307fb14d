"""Count what the kernels of every core execute, for the cost model.

    tensix.host_plan @k {plan = {...}}   ->   {plan = {..., work = [{cores, reader, compute, ...}]}}

The counts are exact for the arguments of each core: loops are multiplied out, conditions are
evaluated. Nothing but the plan is changed, and nothing but the cost model reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tensix.arguments import ArgOp
from tilewright.dialects.tensix.buffers import CBPopOp, CBPushOp, cb_index
from tilewright.dialects.tensix.op_work import work_of
from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.dialects.tensix.program import HostPlanOp, KernelOp
from tilewright.dialects.tensix.work import ROLES, BufferWork, CoreWork, OpWork
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import ControlFlow, lists_of, words_of


@dataclass(frozen=True)
class CountTtWork(Pass):
    """Count the operations of every core and write them to the plan."""

    name = "count-tt-work"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        kernels = [op for op in module.ops if isinstance(op, KernelOp)]
        for op in [op for op in module.ops if isinstance(op, HostPlanOp)]:
            plan = Plan.from_attr(op.plan)  # of one launch, where there are several
            op.plan = replace(plan, work=counted_work(plan, kernels)).to_attr()


_Counts = tuple[tuple[OpWork, ...], tuple[BufferWork, ...]]


def counted_work(plan: Plan, kernels: Sequence[KernelOp]) -> tuple[CoreWork, ...]:
    """The work of all active cores, equal ones together."""
    counters = {kernel.sym_name.data: _KernelCounter(kernel) for kernel in kernels}
    by_core = {
        core.core_id: {
            kernel.role: counters[kernel.name].counts(core)
            for kernel in plan.kernels
            if kernel.runs_on(core)
        }
        for core in plan.cores.active
    }
    groups: dict[tuple[_Counts, ...], list[int]] = {}
    for core, counts in by_core.items():
        groups.setdefault(tuple(counts[role] for role in ROLES), []).append(core)
    return tuple(
        CoreWork(
            tuple(cores),
            *(ops for ops, _ in counts),
            buffers=tuple(sorted(each for _, buffers in counts for each in buffers)),
        )
        for counts, cores in groups.items()
    )


class _KernelCounter:
    """Counts one kernel; cores whose arguments lead to the same control flow are counted once."""

    def __init__(self, kernel: KernelOp) -> None:
        self.kernel = kernel
        self.arguments: Mapping[SSAValue, str] = {
            op.result: op.label.data
            for op in walk(kernel)
            if isinstance(op, ArgOp) and op.label is not None
        }
        self.ops = {op: found for op in walk(kernel) if (found := work_of(op)) is not None}
        self.cached: list[tuple[Mapping[str, int], _Counts]] = []

    def counts(self, core: Assignment) -> _Counts:
        words, lists = words_of(core), lists_of(core)
        for read, found in self.cached:
            if not lists and all(words[name] == value for name, value in read.items()):
                return found
        values = _ReadValues(
            {value: words[name] for value, name in self.arguments.items() if name in words}
        )
        found = self._counted(values, lists)
        read = {self.arguments[value]: values.known[value] for value in values.read}
        self.cached.append((read, found))
        return found

    def _counted(self, values: _ReadValues, lists: Mapping[str, Sequence[int]]) -> _Counts:
        ops: Counter[OpWork] = Counter()
        buffers: Counter[tuple[int, str, int]] = Counter()

        def visit(op: Operation, times: int) -> None:
            work = self.ops.get(op)
            if work is not None:
                ops[work] += times
            if isinstance(op, (CBPushOp, CBPopOp)):
                index = cb_index(op.cb)
                assert index is not None, "every circular buffer has an index"
                call = "push" if isinstance(op, CBPushOp) else "pop"
                buffers[index, call, flow.value(op.pages)] += times

        flow = ControlFlow(visit, values, lists)
        flow.block(self.kernel.body_block, 1)
        return (
            tuple(sorted(replace(work, count=count) for work, count in ops.items())),
            tuple(BufferWork(*key, count) for key, count in sorted(buffers.items())),
        )


class _ReadValues(dict[SSAValue, int]):
    """Values of a core that remember which of its arguments were read."""

    def __init__(self, known: Mapping[SSAValue, int]) -> None:
        super().__init__()
        self.known = known
        self.read: set[SSAValue] = set()

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or value in self.known

    def __missing__(self, value: SSAValue) -> int:
        self.read.add(value)
        return self.known[value]
