"""Cluster launch control: every tile is computed once, by whichever cluster takes it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.tensor_memory_kernels import parsed
from tilewright.analysis.thread_sync import check
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

KERNEL = """
module {{
  func.func public @main(%Out: memref<6xi32, #global>) {{
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    simt.launch @kernel grid(%c6, %c1, %c1) args(%Out) : memref<6xi32, #global>
    func.return
  }}
  func.func @kernel(%Out: memref<6xi32, #global>) attributes {{simt.kernel,
      simt.threads = 32 : i64, simt.shared_bytes = 64 : i64, nv.cluster = [{cluster}, 1, 1],
      tile.target = #tile.target<cuda, sm_100a>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %tid = gpu.thread_id x
    %bx = gpu.block_id x
    %rank = nv.cluster.rank
    %rank0 = arith.constant 0 : i32
    %leads = arith.cmpi eq, %rank, %rank0 : i32
    %first = arith.cmpi eq, %tid, %c0 : index
    %asks = arith.andi %first, %leads : i1
    %answer = tile.alloc "answer" offset 0 : memref<4xi32, #shared>
    %arrived = tile.alloc "arrived" init [1] offset 16 : memref<1x!nv.mbarrier, #barrier>
    scf.if %first {{
      nv.mbarrier.init %arrived[%c0], 1 : memref<1x!nv.mbarrier, #barrier>
      nv.fence_barrier_init
    }}
    gpu.barrier
    nv.cluster.arrive
    nv.cluster.wait
    %end:3 = scf.while (%tile = %bx, %parity = %c0, %more = %true) : (index, index, i1) -> (index, index, i1) {{
      scf.condition(%more) %tile, %parity, %more : index, index, i1
    }} do {{
    ^bb0(%tile: index, %parity: index, %more: i1):
      scf.if %first {{
        %old = memref.load %Out[%tile] : memref<6xi32, #global>
        %new = arith.addi %old, %one : i32
        memref.store %new, %Out[%tile] : memref<6xi32, #global>
        nv.mbarrier.arrive_expect_tx %arrived[%c0], 16 : memref<1x!nv.mbarrier, #barrier>
      }}
      nv.cluster.arrive
      nv.cluster.wait
      scf.if %asks {{
        nv.clc.try_cancel %answer[%c0] barrier %arrived[%c0]{multicast} : memref<4xi32, #shared>, memref<1x!nv.mbarrier, #barrier>
      }}
      {wait}
      %taken, %x, %y, %z = nv.clc.query %answer[%c0] : memref<4xi32, #shared>
      gpu.barrier
      %mine = arith.addi %x, %rank : i32
      %next = arith.index_cast %mine : i32 to index
      %other = arith.subi %c1, %parity : index
      scf.yield %next, %other, %taken : index, index, i1
    }}
    func.return
  }}
}}"""
WAIT = "nv.mbarrier.wait %arrived[%c0], %parity : memref<1x!nv.mbarrier, #barrier>, index"


def text(cluster: int = 1, multicast: str = "", wait: str = WAIT) -> str:
    return KERNEL.format(cluster=cluster, multicast=multicast, wait=wait)


@pytest.mark.parametrize(("cluster", "multicast"), [(1, ""), (2, " {multicast}")])
def test_every_tile_is_computed_once(cluster: int, multicast: str) -> None:
    out = np.zeros(6, np.int32)
    report = compile_simt(parsed(text(cluster, multicast))).launch(
        [Buffer("Out", out)], SimtOptions(schedules=3)
    )
    np.testing.assert_array_equal(out, np.ones(6))
    assert report.blocks == 3 * cluster  # one cluster has taken the work of all others


def test_answer_is_waited_for() -> None:
    with pytest.raises(SimtFault) as caught:
        compile_simt(parsed(text(wait=""))).launch([Buffer("Out", np.zeros(6, np.int32))])
    assert caught.value.diagnostic.message == (
        "data race: thread 0 reads answer[0], and nothing orders it after an in-flight copy"
    )


def test_kernels_compile() -> None:
    source = emit_kernel(kernels_of(parsed(text(2, " {multicast}")))[0])
    for wanted in ("multicast::cluster::all.b128", "query_cancel.get_first_ctaid.v4.b32.b128"):
        assert wanted in source.text
    assert "0 bytes spill stores" in compile_source(source.text, "sm_100a").log


def test_static_check() -> None:
    (right,), (wrong,) = (list(check(parsed(text(wait=wait)))) for wait in (WAIT, ""))
    assert (right.fault, right.not_analysed) == (None, None)
    assert wrong.fault is not None
    assert wrong.fault.message == (
        "data race: thread 0 reads answer[0] to [3], and nothing orders it after an in-flight copy"
    )
