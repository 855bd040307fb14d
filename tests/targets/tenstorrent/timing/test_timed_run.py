"""The event-driven run: agreement with the closed form, waits, and values that it never changes."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.ir import Operation

from tests.analysis.tensix_cost.programs import add, example, gemm, softmax
from tests.sampling import every
from tilewright.analysis.tensix_cost.plan_cost import tt_cost
from tilewright.dialects.tensix.op_work import work_of
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.work import OpWork
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.tenstorrent.artefact import Artefact
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.machine.translate import Translation, translate
from tilewright.targets.tenstorrent.timing import run as timing_run
from tilewright.targets.tenstorrent.timing.clock import (
    Blocked,
    Clock,
    Counter,
    Deadlocked,
    Rate,
    Steps,
    Task,
)
from tilewright.targets.tenstorrent.timing.threads import PackThread

BOUND = 0.15
"""How far the closed form is from the event-driven run, where nothing is spilled."""
SPILL_BOUND = 0.45
"""The closed form adds the reload and packing of spilled sums, which the run overlaps."""


def _multicast(sizes: tuple[int, int, int], blocks: tuple[int, int, int], cores: str) -> Artefact:
    return gemm(sizes, blocks, cores, settings=(("tt.multicast", "on"),))


PROGRAMS: dict[str, Callable[[], Artefact]] = {
    "gemm of single tiles on 64 cores": lambda: gemm((256, 256, 256), (32, 32, 32), "8x8"),
    "gemm, panels resident": lambda: gemm((512, 512, 512), (128, 128, 128), "1x2"),
    "gemm, ragged": lambda: gemm((200, 300, 130), (64, 64, 64), "3x2"),
    "gemm on one core": lambda: gemm((256, 256, 512), (64, 64, 64), "1x1"),
    "gemm on blackhole": lambda: gemm(
        (512, 512, 256), (64, 128, 64), "4x4", "tenstorrent:blackhole"
    ),
    "gemm, uneven work": lambda: gemm((256, 256, 256), (32, 32, 32), "8x7"),
    "multicast gemm on 64 cores": lambda: _multicast((256, 256, 256), (32, 32, 32), "8x8"),
    "multicast gemm, ghost steps": lambda: _multicast((224, 160, 256), (32, 32, 32), "8x8"),
    "multicast gemm, panels resident": lambda: _multicast((512, 512, 256), (128, 128, 64), "4x4"),
    "multicast gemm on 4 cores": lambda: _multicast((512, 512, 256), (64, 64, 64), "2x2"),
    "sum on one core": lambda: add((256, 256), "1x1"),
    "sum on 64 cores": lambda: add((512, 512), "8x8"),
    "softmax on one core": lambda: softmax((64, 256), "1x1"),
    "softmax on 16 cores": lambda: softmax((64, 512), "4x4"),
}


@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_closed_form_agrees_with_the_run(name: str) -> None:
    artefact = PROGRAMS[name]()
    run = artefact.timed()
    assert float(tt_cost(artefact.plan).steady) == pytest.approx(run.cycles, rel=BOUND)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int) -> None:
    """GEMMs, sums and softmax of random sizes, blocks, cores and settings."""
    rng = random.Random(seed)
    ratios: list[float] = []
    while len(ratios) < 20:
        artefact = _random_program(rng)
        if artefact is not None:
            closed = float(tt_cost(artefact.plan).steady)
            ratios.append(closed / artefact.timed().cycles)
    assert all(abs(ratio - 1) < 1.5 * BOUND for ratio in ratios), sorted(ratios)
    assert sum(abs(ratio - 1) < BOUND for ratio in ratios) >= 18, sorted(ratios)


def _random_program(rng: random.Random) -> Artefact | None:
    """A program, or None if it does not compile or spills."""
    cores = f"{rng.randint(1, 8)}x{rng.randint(1, 8)}"
    kind = rng.choice(("gemm", "gemm", "multicast", "residency", "sum", "softmax"))
    if kind == "sum":
        return add((rng.choice((64, 100, 512)), rng.choice((100, 256, 1024))), cores)
    if kind == "softmax":
        return softmax((rng.choice((16, 33, 64)), rng.choice((64, 130, 256))), cores)
    extents = (32, 64, 96, 100, 128, 200, 256, 320, 512, 700)
    m, n, k = (rng.choice(extents) for _ in range(3))
    high, wide, deep = (rng.choice((32, 64, 96, 128)) for _ in range(3))
    target = rng.choice(("tenstorrent:wormhole", "tenstorrent:blackhole"))
    settings = {"gemm": (), "multicast": (("tt.multicast", "on"),)}.get(
        kind, (("tt.residency", "auto"),)
    )
    try:
        found = gemm((m, n, k), (high, wide, deep), cores, target, settings=settings)
    except CompileError:
        return None
    return None if found.plan.compute.strategy == "spill" else found


def test_spills_are_overlapped_by_the_run_only() -> None:
    artefact = gemm((256, 256, 2048), (256, 256, 64), "1x1")
    assert artefact.plan.compute.strategy == "spill"
    closed, run = float(tt_cost(artefact.plan).steady), artefact.timed().cycles
    assert run < closed < (1 + SPILL_BOUND) * run


@pytest.mark.parametrize(
    "name", ["gemm, ragged", "multicast gemm, ghost steps", "softmax on 16 cores"]
)
def test_run_performs_what_the_plan_counts(name: str) -> None:
    artefact = PROGRAMS[name]()
    run, traffic = artefact.timed(), artefact.plan.traffic
    assert (run.dram_page_reads, run.dram_page_writes) == (
        traffic.dram_page_reads,
        traffic.dram_page_writes,
    )
    assert run.multicast_pages == traffic.multicast_pages
    assert len(run.of("reader")) == len(artefact.plan.cores.active)
    for each in run.kernels:
        assert 0 <= each.busy <= each.end <= run.cycles
        # what a kernel was busy with and what it waited for is all of its time
        assert sum(each.parts.values()) == pytest.approx(each.busy, rel=1e-6, abs=1)


@pytest.mark.parametrize("name", ["gemm, ragged", "multicast gemm, ghost steps", "sum on one core"])
def test_counts_of_the_plan_are_what_kernels_execute(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass multiplies loops out; here every call of every kernel is counted."""
    artefact = PROGRAMS[name]()
    executed: dict[tuple[str, tuple[int, int]], collections.Counter[OpWork]] = {}

    def counting(kernel: KernelOp, **options: bool) -> Translation:
        found = translate(kernel, **options)

        def function(thread: Any) -> Any:
            key = (kernel.role.value, thread.core.core)
            calls = executed.setdefault(key, collections.Counter[OpWork]())
            # of the two halves of a compute kernel, which execute the same calls, one counts
            counts = calls if not isinstance(thread, PackThread) else collections.Counter[OpWork]()
            return found.function(_Counting(thread, found.ops, counts))

        return replace(found, function=function)

    monkeypatch.setattr(timing_run, "translate", counting)
    artefact.timed()
    ids = {(each.x, each.y): each.core_id for each in artefact.plan.cores.assignments}
    for (role, core), calls in executed.items():
        (work,) = [each for each in artefact.plan.work if ids[core] in each.cores]
        assert {replace(each, count=1): each.count for each in work.of(role)} == dict(calls)


class _Counting:
    """Passes calls on to a thread and counts their work."""

    def __init__(
        self, thread: Any, ops: Sequence[Operation], calls: collections.Counter[OpWork]
    ) -> None:
        self._thread = thread
        self._ops: Sequence[Operation] = ops
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._thread, name)

        def call(*arguments: Any) -> Any:
            site: int = arguments[-1]
            work = work_of(self._ops[site])
            if work is not None:
                self._calls[work] += 1
            return method(*arguments)

        return call


def test_compute_waits_for_a_slow_reader() -> None:
    artefact = gemm((256, 256, 512), (64, 64, 32), "1x1")
    assert tt_cost(artefact.plan).limit == "reader"
    (math,), (reader,) = artefact.timed().of("math"), artefact.timed().of("reader")
    assert math.stalls["empty CB"] > 0.6 * math.end
    assert reader.stalled < 0.05 * reader.end


def test_reader_waits_for_slow_compute() -> None:
    artefact = softmax((64, 256), "1x1")
    (reader,) = artefact.timed().of("reader")
    assert reader.stalls["full CB"] > 0.5 * reader.end


def test_values_do_not_depend_on_the_clock() -> None:
    rng = np.random.default_rng(5)
    artefact = gemm((100, 64, 130), (64, 32, 64), "2x2")
    arrays = {
        "A": rng.standard_normal((100, 130)).astype(ml_dtypes.bfloat16),
        "B": rng.standard_normal((130, 64)).astype(ml_dtypes.bfloat16),
    }
    plain, timed = (artefact.run(arrays, RunOptions(timed=timed)) for timed in (False, True))
    assert plain.arrays["C"].tobytes() == timed.arrays["C"].tobytes()
    assert plain.result.traffic == timed.result.traffic
    assert plain.result.switches == timed.result.switches
    assert plain.result.timing is None
    assert timed.result.timing is not None
    assert timed.result.timing.dram_page_reads == timed.result.traffic.dram_page_reads
    assert "model, not measured" in str(timed.result.timing)


def test_attention_runs_on_clocks() -> None:
    artefact = example(
        "attention", "attention", (), "1x2", batch=1, heads=1, context=128, dim=64, is_causal=True
    )
    run = artefact.timed()
    assert float(tt_cost(artefact.plan).steady) == pytest.approx(run.cycles, rel=BOUND)


# -- clocks ----------------------------------------------------------------------------------------


def test_requests_to_a_rate_are_served_in_the_order_of_time() -> None:
    dram = Rate(10.0)
    assert dram.serve(100, 5.0) == 15.0
    assert dram.serve(100, 6.0) == 25.0
    assert dram.serve(100, 100.0) == 110.0
    assert dram.served == 300


def test_count_is_reached_when_it_was_first_that_large() -> None:
    counter = Counter()
    counter.add(2, 10.0)
    counter.add(3, 8.0)
    assert counter.reached(0) == 0.0
    assert counter.reached(2) == 10.0
    assert counter.reached(5) == 10.0
    assert counter.reached(6) is None


def test_tasks_that_wait_for_each_other_are_reported() -> None:
    clock = Clock()
    first, second = Counter(), Counter()

    def waits(own: Counter, other: Counter) -> Steps:
        yield Blocked("empty CB", other, lambda: other.reached(1))
        own.add(1, 0.0)

    for name, own, other in (("one", first, second), ("two", second, first)):
        clock.start(Task(name, steps=waits(own, other)))
    with pytest.raises(Deadlocked, match="2 kernels wait forever, the first is one"):
        clock.run()
