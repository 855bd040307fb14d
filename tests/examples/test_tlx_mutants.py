"""Mistakes in the examples are reported, and blamed on what was changed.

The default suite tries a sample; `make fuzz` tries all (`benchmarks/tlx_mutants.py` prints them).
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tlx_blame import Report, Truth, is_right, said
from tests.examples.tlx_examples import HELD_OUT, NAMES, load
from tests.examples.tlx_mutants import Example, run
from tilewright.analysis.ordering import Access, Cause, Finding, Remark, byte_range
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.diagnostics.position import SourcePosition
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.tasks.ordering import OrderingLog

QUICK = ("blackwell_gemm_ws", "hopper_gemm_pipelined", "split_k_gemm", "two_producers")
"""Kernels that run in a moment and have between them every kind of op that is changed but one."""
LEAST_MUTANTS = 300
LEAST_RIGHT = 0.95


@cache
def example(name: str) -> Example:
    return Example.of(name)


def tried(name: str, schedules: int, sample: int | None = None) -> list[tuple[str, bool, str]]:
    """Outcome, whether the blame is right, and which mutant."""
    known = example(name)
    mutants = known.mutants
    if sample is not None:
        mutants = random.Random(7).sample(mutants, sample)
    found = [(each, run(each, known, schedules=schedules)) for each in mutants]
    return [(verdict.outcome, verdict.is_right, str(each)) for each, verdict in found]


@pytest.mark.parametrize("name", QUICK)
def test_a_sample_of_mutants(name: str) -> None:
    found = tried(name, schedules=2, sample=8)
    assert [mutant for outcome, _, mutant in found if outcome == "wrong"] == []
    killed = [is_right for outcome, is_right, _ in found if outcome == "reported"]
    assert len(killed) >= 6
    assert sum(killed) >= len(killed) - 1


@pytest.mark.slow
def test_all_mutants() -> None:
    found = [each for name in NAMES for each in tried(name, schedules=4)]
    assert len(found) >= LEAST_MUTANTS
    assert [mutant for outcome, _, mutant in found if outcome == "wrong"] == []
    killed = [(is_right, mutant) for outcome, is_right, mutant in found if outcome == "reported"]
    misled = [mutant for is_right, mutant in killed if not is_right]
    assert len(misled) <= (1 - LEAST_RIGHT) * len(killed), "\n".join(misled)


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD_OUT)
def test_all_mutants_held_out(name: str) -> None:
    found = tried(name, schedules=4)
    assert [mutant for outcome, _, mutant in found if outcome == "wrong"] == []
    killed = [is_right for outcome, is_right, _ in found if outcome == "reported"]
    assert sum(killed) >= 0.9 * len(killed)


@pytest.mark.parametrize("name", HELD_OUT)
def test_held_out_kernels_are_right(name: str) -> None:
    log = OrderingLog()
    with tw.running(schedules=5, recorder=log.recorder):
        found, wanted = load(name).example(np.random.default_rng(3))
    assert (log.unread(), log.not_analysed) == ([], {})
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


def test_every_kind_of_mistake_is_made() -> None:
    kinds = {(each.kind, each.op) for name in QUICK for each in example(name).mutants}
    for kind, op in (
        ("without", "ttng.wait_barrier"),
        ("without", "ttng.arrive_barrier"),
        ("without", "ttng.barrier_expect"),
        ("without", "ttng.fence_async_shared"),
        ("without", "ttg.async_wait"),
        ("without", "ttng.async_tma_store_wait"),
        ("without", "ttng.warp_group_dot_wait"),
        ("other phase of", "ttng.wait_barrier"),
        ("one more at", "ttng.init_barrier"),
        ("one more at", "ttng.arrive_barrier"),
        ("neighbour of", "ttg.memdesc_index"),
        ("shared", "tlx.reuse_group"),
    ):
        assert (kind, op) in kinds


# -- what counts as blamed -----------------------------------------------------------------------

PLACES = [SourceSite(None)] + [SourceSite(SourcePosition("k.py", line, 1)) for line in range(1, 9)]  # type: ignore[arg-type]


def access(place: int, name: str, task: str = "default", operation: str = "") -> Access:
    region = byte_range("smem", name, 0, 64)
    return Access(
        1, "read", region, "generic", task, place, 0, 0, 0, 0, operation, operation and "wgmma"
    )


def report(cause: Cause, *pair: Access) -> Report:
    return Report("text", Finding("text", 1, cause, *pair), PLACES)


WAIT = Cause("wait", "nothing waits", Remark("wait"), "full")


def test_a_barrier_must_be_named_as_the_cause() -> None:
    truth = Truth("ttng.wait_barrier", (3,), "default", barriers=frozenset({"full"}))
    assert is_right(report(WAIT, access(3, "a[0]"), access(4, "a[0]")), truth)
    assert not is_right(report(replace(WAIT, barrier="empty"), access(3, "a[0]")), truth)


def test_an_access_through_a_changed_index_must_be_one_of_the_two() -> None:
    truth = Truth(
        "ttg.memdesc_index", (2,), "default", buffers=frozenset("a"), lines=frozenset({(3,)})
    )
    assert is_right(report(WAIT, access(5, "b[0]"), access(3, "a[1]")), truth)
    assert not is_right(report(WAIT, access(3, "b[0]"), access(4, "a[0]")), truth)
    assert not is_right(report(WAIT, access(3, "a[0]", task="partition0")), truth)


def test_a_wait_for_a_group_is_about_what_it_waits_for() -> None:
    truth = Truth("ttng.warp_group_dot_wait", (4,), "default", lines=frozenset({(3,)}))
    assert is_right(report(WAIT, access(3, "a[0]", operation="the product")), truth)
    assert not is_right(report(WAIT, access(3, "a[0]")), truth)
    assert not is_right(report(replace(WAIT, kind="count"), access(3, "a[0]", "", "x")), truth)


def test_a_fence_is_about_the_write_it_publishes() -> None:
    truth = Truth("ttng.fence_async_shared", (4,), "default", lines=frozenset({(3,)}))
    assert is_right(report(replace(WAIT, kind="fence"), access(3, "a[0]")), truth)
    assert not is_right(report(replace(WAIT, kind="fence"), access(5, "a[0]")), truth)
    assert not is_right(report(WAIT, access(3, "a[0]")), truth)


def test_buffers_of_a_group_that_share_bytes_must_both_be_named() -> None:
    truth = Truth("tlx.reuse_group", (1,), "default", buffers=frozenset("ab"))
    assert is_right(report(WAIT, access(3, "a[0]"), access(4, "b[0]")), truth)
    assert not is_right(report(WAIT, access(3, "a[0]"), access(4, "a[1]")), truth)
    assert not is_right(report(WAIT, access(3, "a[0]"), access(4, "c[0]")), truth)


def test_a_report_without_findings_names_the_barrier_or_the_line() -> None:
    truth = Truth("ttng.arrive_barrier", (3,), "default", barriers=frozenset({"full"}))
    here, there = SourcePosition("k.py", 3, 1), SourcePosition("k.py", 4, 1)
    assert is_right(said(Diagnostic(Severity.ERROR, "2 arrivals on full[0]", there)), truth)
    assert is_right(said(Diagnostic(Severity.ERROR, "too many arrivals", here)), truth)
    assert not is_right(said(Diagnostic(Severity.ERROR, "2 on fully[0]", there)), truth)
