"""The kernels of a core together: whether they can wait for each other forever.

Circular buffers with one producer and one consumer are a Kahn network: which pages a kernel waits
for does not depend on the order in which kernels run. So one run of the calls alone, without data,
decides for given run-time arguments whether every kernel ends, and whether a push has its reserve
and a pop its wait. The cores with the most and the fewest blocks are run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tilewright.dialects.tensix.buffers import CBCountOp
from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.types import Role
from tilewright.passes.tenstorrent.call_sequences import Call, NotAnalysed, calls_of
from tilewright.passes.tenstorrent.control_flow import ControlFlow, lists_of
from tilewright.passes.tenstorrent.verify_kernels import (
    CIRCULAR_WAIT,
    MISSING_BARRIER,
    Problem,
    argument_values,
    kernels_on,
)

MAX_CALLS = 20_000
"""Calls of one kernel that are followed; more are not analysed."""


def flow_problems(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    """Circular waits, and pushes and pops of pages that were not granted."""
    for core in _extreme_cores(plan, kernels):
        own = kernels_on(plan, kernels, core)
        if any(_count_calls(kernel, core) > MAX_CALLS for kernel in own):
            continue
        found = list(_run(plan, own, core))
        yield from found
        if found:
            return


def _count_calls(kernel: KernelOp, core: Assignment) -> int:
    """The calls of circular buffers that a kernel makes on a core."""
    count = 0

    def visit(op: Operation, times: int) -> None:
        nonlocal count
        count += times if isinstance(op, CBCountOp) else 0

    flow = ControlFlow(visit, argument_values(kernel, core), lists_of(core))
    flow.block(kernel.body_block, 1)
    return count


def _extreme_cores(plan: Plan, kernels: Sequence[KernelOp]) -> Sequence[Assignment]:
    """For each combination of kernels the cores with the fewest and the most blocks."""
    alike: dict[tuple[str, ...], list[Assignment]] = {}
    for core in sorted(plan.cores.active, key=lambda core: core.count):
        names = tuple(each.sym_name.data for each in kernels_on(plan, kernels, core))
        alike.setdefault(names, []).append(core)
    found: list[Assignment] = []
    for active in alike.values():
        found.append(active[0])
        if active[0].count != active[-1].count:
            found.append(active[-1])
    return found


@dataclass
class _Buffer:
    """The counters of one circular buffer."""

    pages: int
    received: int = 0
    acked: int = 0

    @property
    def ready(self) -> int:
        return self.received - self.acked

    def allows(self, call: Call) -> bool:
        if call.kind == "reserve":
            return self.pages - self.ready >= call.pages
        return call.kind != "wait" or self.ready >= call.pages

    def perform(self, call: Call) -> None:
        if call.kind == "push":
            self.received += call.pages
        elif call.kind == "pop":
            self.acked += call.pages


@dataclass
class _Thread:
    """The calls of one kernel, and the next of them."""

    role: Role
    calls: Iterator[Call]
    next: Call | None = None
    granted: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    """Pages that were reserved or waited for, by kind and circular buffer."""
    problem: Problem | None = None

    def advance(self) -> None:
        if self.next is not None:
            self._grant(self.next)
        self.next = next(self.calls, None)

    def _grant(self, call: Call) -> None:
        """A push takes reserved pages, a pop pages that were waited for."""
        if call.kind in ("reserve", "wait"):
            key = call.kind, call.cb
            self.granted[key] = max(self.granted[key], call.pages)
            return
        before = "reserve" if call.kind == "push" else "wait"
        self.granted[before, call.cb] -= call.pages
        if self.granted[before, call.cb] < 0 and self.problem is None:
            self.problem = Problem(
                call.op,
                f"'{call.op.name}' of {call.pages} pages of circular buffer {call.cb} without a "
                f"{before} of as many pages before it",
                MISSING_BARRIER,
            )


def _run(plan: Plan, kernels: Sequence[KernelOp], core: Assignment) -> Iterator[Problem]:
    buffers = {cb.index: _Buffer(cb.pages) for cb in plan.cbs}
    threads: list[_Thread] = []
    for kernel in kernels:
        listed = plan.kernel_named(kernel.sym_name.data)
        arguments = () if listed is None else plan.runtime_words(listed, core)
        integers = [each if isinstance(each, int) else 0 for each in arguments]
        threads.append(_Thread(kernel.role, calls_of(kernel, integers, MAX_CALLS)))
    try:
        for thread in threads:
            thread.advance()
        while _step(threads, buffers):
            pass
    except NotAnalysed:
        return
    yield from [thread.problem for thread in threads if thread.problem is not None]
    blocked = [thread for thread in threads if thread.next is not None]
    if blocked:
        yield _deadlock(blocked, buffers, core)


def _step(threads: Sequence[_Thread], buffers: Mapping[int, _Buffer]) -> bool:
    """Run every kernel as far as it gets; whether any made progress."""
    progress = False
    for thread in threads:
        while thread.next is not None and buffers[thread.next.cb].allows(thread.next):
            buffers[thread.next.cb].perform(thread.next)
            thread.advance()
            progress = True
    return progress


def _deadlock(
    blocked: Sequence[_Thread], buffers: Mapping[int, _Buffer], core: Assignment
) -> Problem:
    waits: list[str] = []
    for thread in blocked:
        call = thread.next
        assert call is not None
        buffer = buffers[call.cb]
        what = "free" if call.kind == "reserve" else "pushed"
        waits.append(
            f"the {thread.role.value} waits for {call.pages} {what} pages of circular buffer "
            f"{call.cb} ({buffer.ready} of {buffer.pages} ready)"
        )
    first = blocked[0].next
    assert first is not None
    return Problem(
        first.op,
        f"circular wait on core ({core.x}, {core.y}): {'; '.join(waits)}",
        CIRCULAR_WAIT,
    )
