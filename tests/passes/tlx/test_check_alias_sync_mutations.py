"""The checker with one thing broken on purpose: what it says about known kernels must change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.passes.tlx.alias_sync_support import (
    kernel_text,
    module_of,
    mutants,
    mutated,
    told,
    traced,
)
from tests.sampling import every
from tilewright.analysis.alias_sync.machine import Machine
from tilewright.analysis.alias_sync.symbolic_ints import Assumptions
from tilewright.analysis.concurrency import MBarrier, NamedBarrier
from tilewright.analysis.ordering import Checker
from tilewright.passes.tlx.alias_sync import kernel as kernels
from tilewright.passes.tlx.alias_sync import report, walk
from tilewright.passes.tlx.alias_sync.rules import RULES
from tilewright.passes.tlx.alias_sync.views import View
from tilewright.passes.tlx.alias_sync.walk import Walk
from tilewright.passes.tlx.check_alias_sync import CheckAliasSync

TEXTS = ("ordered", "race", "stuck", "data", "branch", "late")
RIGHT = ("blackwell_attention_ws", "blackwell_gemm_2cta", "hopper_gemm_pingpong")
WRONG = (
    ("hopper_gemm_ws", "without", "ttng.wait_barrier", 2),
    ("hopper_gemm_ws", "without", "ttng.warp_group_dot_wait", 1),
    ("hopper_gemm_ws", "one fewer at", "ttng.init_barrier", 0),
    ("hopper_gemm_ws", "half the bytes of", "ttng.barrier_expect", 0),
    ("hopper_gemm_pingpong", "without", "ttng.async_tma_store_wait", 1),
    ("hopper_gemm_pingpong", "without", "ttng.fence_async_shared", 0),
    ("hopper_gemm_pingpong", "without", "ttng.arrive_barrier_named", 1),
)
LONG = CheckAliasSync(trip_counts=(7,))
"""Enough to come to every slot of a ring again."""
BREAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {}


def breaks(function: Callable[[pytest.MonkeyPatch], None]) -> Callable[..., None]:
    BREAKS[function.__name__.strip("_")] = function
    return function


def _said() -> Iterator[list[str]]:
    """All that is said about kernels of which it is known what should be, one after the other."""
    for name in TEXTS:
        yield told(module_of(kernel_text(name)), LONG)
    for name, kind, op, number in WRONG:
        wanted = (kind, op, number)
        mutant = next(m for m in mutants(name) if (m.kind, m.op, m.number) == wanted)
        yield told(mutated(mutant), LONG)
    for name in RIGHT:
        for module in traced(name):
            yield told(module, LONG)


@pytest.fixture(scope="module")
def said() -> list[list[str]]:
    found = list(_said())
    wrong = len(TEXTS) + len(WRONG)
    assert all(found[1:wrong]), "each wrong kernel is reported"
    assert not found[0]
    assert not any(found[wrong:])
    return found


@breaks
def _waits_teach_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Checker, "waited", lambda *_: None)


@breaks
def _waits_never_last(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MBarrier, "has_passed", lambda *_: True)


@breaks
def _parity_is_the_other_way_round(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MBarrier, "has_passed", lambda self, parity: (self.phase & 1) == parity)


@breaks
def _bytes_do_not_count(patch: pytest.MonkeyPatch) -> None:
    def advance(self: MBarrier) -> bool:
        if self.arrived < self.count:
            return False
        self.phase, self.arrived = self.phase + 1, 0
        return True

    patch.setattr(MBarrier, "_advance", advance)


@breaks
def _arrivals_are_counted_once(patch: pytest.MonkeyPatch) -> None:
    def arrive(self: MBarrier, count: int = 1) -> bool:
        self.arrived = self.count
        return self._advance()

    patch.setattr(MBarrier, "arrive", arrive)


@breaks
def _gates_are_always_open(patch: pytest.MonkeyPatch) -> None:
    def arrive(self: NamedBarrier, count: int, threads: int) -> int:
        self.generation += 1
        return self.generation

    patch.setattr(NamedBarrier, "arrive", arrive)


@breaks
def _operations_touch_nothing(patch: pytest.MonkeyPatch) -> None:
    before = Machine.issue

    def issue(
        self: Machine, task: Any, what: str, engine: str, place: int, parts: Any, **more: Any
    ):
        return before(self, task, what, engine, place, (), **more)

    patch.setattr(Machine, "issue", issue)


@breaks
def _engines_forget_their_order(patch: pytest.MonkeyPatch) -> None:
    before = Machine.issue

    def issue(self: Machine, *args: Any, **more: Any):
        return before(self, *args, **{**more, "in_order": False})

    patch.setattr(Machine, "issue", issue)


@breaks
def _groups_are_never_waited_for(patch: pytest.MonkeyPatch) -> None:
    def wait_groups(self: Machine, *_: Any):
        yield None

    patch.setattr(Machine, "wait_groups", wait_groups)


@breaks
def _groups_are_all_waited_for(patch: pytest.MonkeyPatch) -> None:
    before = Machine.wait_groups
    patch.setattr(Machine, "wait_groups", lambda s, t, k, leave, p: before(s, t, k, 0, p))
    patch.setattr(Machine, "used", lambda *_: None)


@breaks
def _nothing_is_left_at_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Machine, "leave", lambda *_: None)


@breaks
def _fences_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Checker, "fence", lambda *_: None)


@breaks
def _all_writes_are_published(patch: pytest.MonkeyPatch) -> None:
    before = Checker.access

    def access(self: Checker, strand: Any, *args: Any, **more: Any):
        self.fence(strand)
        return before(self, strand, *args, **more)

    patch.setattr(Checker, "access", access)


@breaks
def _buffers_are_one(patch: pytest.MonkeyPatch) -> None:
    before = View.index
    patch.setattr(View, "index", lambda self, number: before(self, 0))


@breaks
def _aliases_all_begin_together(patch: pytest.MonkeyPatch) -> None:
    before = View.placed
    patch.setattr(
        View, "placed", lambda self, type, name, offset, levels: before(self, type, name, 0, levels)
    )


@breaks
def _tiles_have_one_byte(patch: pytest.MonkeyPatch) -> None:
    before = View.cells
    patch.setattr(View, "cells", lambda self, table: before(self, table)[..., :0])


@breaks
def _loops_run_once(patch: pytest.MonkeyPatch) -> None:
    before = Assumptions.trip_count
    patch.setattr(Assumptions, "trip_count", lambda *args: min(before(*args) or 0, 1))


@breaks
def _loops_do_not_run(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Assumptions, "trip_count", lambda *_: 0)


@breaks
def _data_decides_as_if_it_were_zero(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Walk, "decided", lambda self, op, value, what: 0)


@breaks
def _what_is_never_reached_is_not_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(report, "_never_reached", lambda *_: {})


@breaks
def _deadlocks_are_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Machine, "_deadlock", lambda *_: None)


@breaks
def _all_tasks_are_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(walk, "named", lambda *_: "@0")


@breaks
def _unknown_ops_are_passed_over(patch: pytest.MonkeyPatch) -> None:
    fewer = {name: rule for name, rule in RULES.items() if name != "ttng.fence_async_shared"}
    patch.setattr(report, "RULES", fewer)


@breaks
def _clusters_are_single(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(kernels.Kernel, "_cluster_size", lambda *_: 1)


@breaks
def _results_are_there_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Machine, "used", lambda *_: None)


@breaks
def _who_should_be_first_is_who_came_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(report, "_by_intent", lambda finding: (finding.second, finding.first))


@pytest.mark.parametrize("name", every(2, BREAKS))
def test_a_broken_checker_is_noticed(
    name: str, said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    BREAKS[name](monkeypatch)
    assert any(now != before for now, before in zip(_said(), said, strict=True))
