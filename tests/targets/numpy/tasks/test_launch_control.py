"""Cluster launch control: running programs take over the work of those that have not started."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tests.targets.numpy.tasks.programs import compiled
from tilewright import tl, tlx
from tilewright.targets.numpy import Buffer, RunOptions
from tilewright.targets.numpy.tasks.ordering import OrderingLog


@tw.jit
def tiles_of_pairs(out_ptr, counts_ptr):
    """CTAs of a cluster request once for both; each does its half of the response."""
    context = tlx.clc_create_context(2)  # consumers of both CTAs
    tile = tl.program_id(0)
    phase_producer = 1
    phase_consumer = 0
    while tile != -1:
        tlx.clc_producer(context, phase_producer, multi_ctas=True)
        phase_producer ^= 1
        tl.store(out_ptr + tile, tlx.cluster_cta_rank() * 100 + tile)
        tl.atomic_add(counts_ptr + tile, 1)
        tile = tlx.clc_consumer(context, phase_consumer, multi_ctas=True)
        phase_consumer ^= 1


def test_a_cluster_requests_once() -> None:
    out, counts = np.zeros(8, np.int32), np.zeros(8, np.int32)
    log = OrderingLog()
    with tw.running(target="cuda:100", schedules=6, recorder=log.recorder):
        tiles_of_pairs[(8,)](out, counts, ctas_per_cga=(2, 1, 1))
    assert counts.tolist() == [1] * 8
    assert out.tolist() == [rank * 100 + tile for tile, rank in enumerate([0, 1] * 4)]


TEXT = """
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!answer = !ttg.memdesc<2xi64, #shared, #smem, mutable>
!bar = !ttg.memdesc<1xi64, #shared, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func public @take(%out: !tt.ptr<i32>) {
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10 = arith.constant 10 : i32
    %answer = ttg.local_alloc : () -> !answer
    %bar = ttg.local_alloc : () -> !bar
    ttng.init_barrier %bar, 1 : !bar
    %me = tt.get_program_id x : i32
    %end:3 = scf.while (%tile = %me, %phase = %c0, %more = %true) : (i32, i32, i1) -> (i32, i32, i1) {
      scf.condition(%more) %tile, %phase, %more : i32, i32, i1
    } do {
    ^bb0(%tile: i32, %phase: i32, %more: i1):
      ttng.barrier_expect %bar, 16, %true : !bar
      ttng.clc_try_cancel %answer, %bar : !answer, !bar
      %at = tt.addptr %out, %tile : !tt.ptr<i32>, i32
      %mine = arith.muli %me, %c10 : i32
      %value = arith.addi %mine, %tile : i32
      tt.store %at, %value : !tt.ptr<i32>
      ttng.wait_barrier %bar, %phase : !bar
      %result = ttng.clc_load_result %answer : !answer -> i128
      %again = ttng.clc_is_canceled %result : i128 -> i1
      %then = ttng.clc_get_program_id %result, x : i128 -> i32
      %next = arith.xori %phase, %c1 : i32
      scf.yield %then, %next, %again : i32, i32, i1
    }
    tt.return
  }
}
"""


def test_triton_requires_a_single_cta() -> None:
    out = np.full(6, -1, np.int32)
    compiled(TEXT).launch((6,), [Buffer("out", out)], RunOptions(schedules=3))
    assert out.tolist() == [0, 1, 2, 3, 4, 5]  # the first program takes over all others


def test_without_multicast_each_cta_gets_its_own_response() -> None:
    out = np.full(6, -1, np.int32)
    compiled(TEXT, cluster=(2, 1, 1)).launch((6,), [Buffer("out", out)])
    # The clusters of programs 2 and 4 are taken over, each by one CTA, which does one tile of it.
    assert out[:2].tolist() == [0, 11]
    assert {*out[[2, 4]].tolist()} <= {2, 12, 4, 14}
    assert [value % 10 for value in out[[2, 4]].tolist()] == [2, 4]
    assert out[[3, 5]].tolist() == [-1, -1]
