"""Faults injected into kernels for tensor memory: each is reported, with what is missing."""

from __future__ import annotations

import pytest

from tests.targets.numpy.simt.tensor_memory_kernels import Gemm, run_chain, run_gemm
from tilewright.targets.numpy.simt import SimtFault, SimtOptions

BARS = "memref<1x!nv.mbarrier, #barrier>"
WAIT = f"nv.mbarrier.wait %all[%c0], %c0 : {BARS}, index"
LOOP_WAIT = f"nv.mbarrier.wait %done[%c0], %parity : {BARS}, index"
FROM = "%from = arith.addi %own, %part32 : i32"
DEALLOC = "scf.if %warp0 {\n      nv.tcgen05.dealloc %t columns(64)"

GEMM_FAULTS = {
    "commit removed": (
        (f"nv.tcgen05.commit %all[%c0] : {BARS}", ""),
        "deadlock",
        "deadlock: threads 0 to 31 waits for all[0] to complete a phase of parity 0 "
        "(in phase 0: 0 of 1 arrivals occurred)",
    ),
    "arrival instead of a commit": (
        (f"nv.tcgen05.commit %done[%c0] : {BARS}", f"nv.mbarrier.arrive %done[%c0] : {BARS}"),
        "race",
        "data race: an asynchronous unit writes As[0], and nothing orders it after the tensor "
        "core of warp 0",
    ),
    "wrong phase": (
        (WAIT, WAIT.replace("], %c0", "], %c1")),
        "uninitialised",
        "uninitialised read: tcgen05.ld reads column 0, lanes 32 to 47 of tensor memory, which "
        "has not been written",
    ),
    "fence after the wait removed": (
        (f"{WAIT}\n    nv.tcgen05.fence after", WAIT),
        "fence",
        "missing fence: tcgen05.ld of warp 1 reads column 0, lanes 32 to 47 of tensor memory, "
        "accessed by tcgen05.mma",
    ),
    "wait_ld removed": (
        ("nv.tcgen05.wait_ld", ""),
        "in flight",
        "access to r[0] while an in-flight tcgen05.ld writes it; nv.tcgen05.wait_ld is missing "
        "before the access",
    ),
    "column that is not allocated": (
        (FROM, "%k = arith.constant 64 : i32\n%from = arith.addi %own, %k : i32"),
        "out of bounds",
        "tcgen05.ld reads columns 64 to 127 of tensor memory, but column 64 is not allocated",
    ),
    "lanes of another warp": (
        (FROM, "%from = arith.addi %t, %part32 : i32"),
        "tensor memory",
        "nv.tcgen05.ld of warp 1 starts at lane 0 of tensor memory, but the warp has access to "
        "lanes 32 to 63 only: its address must name lane 32",
    ),
    "dealloc removed": (
        ("nv.tcgen05.dealloc %t columns(64)", ""),
        "tensor memory",
        "the block exits with columns 0 to 63 of tensor memory allocated; nv.tcgen05.dealloc is "
        "missing",
    ),
    "dealloc of fewer columns": (
        ("nv.tcgen05.dealloc %t columns(64)", "nv.tcgen05.dealloc %t columns(32)"),
        "tensor memory",
        "nv.tcgen05.dealloc of 32 columns from column 0 on: no allocation is there; allocated: "
        "0 to 63",
    ),
    "dealloc before the barrier": (
        (f"gpu.barrier\n    \n    \n    {DEALLOC}", DEALLOC),
        "in flight",
        "tcgen05.dealloc of warp 0 frees column 0, lanes 32 to 47 of tensor memory while a load "
        "of warp 1 may be in flight; nv.tcgen05.wait_ld is missing, or a barrier after it",
    ),
    "alloc after relinquish": (
        (
            "nv.tcgen05.relinquish",
            "nv.tcgen05.relinquish\n"
            "nv.tcgen05.alloc %slot[%c0] columns(32) : memref<1xi32, #shared>",
        ),
        "tensor memory",
        "nv.tcgen05.alloc after the block has relinquished its right to allocate",
    ),
    "operand overwritten in flight": (
        (LOOP_WAIT, ""),
        "race",
        "data race: an asynchronous unit writes As[0], and nothing orders it after the tensor "
        "core of warp 0",
    ),
    "operand before it has arrived": (
        (f"nv.mbarrier.wait %full[%c0], %parity : {BARS}, index", ""),
        "race",
        "data race: an asynchronous unit reads As[0], and nothing orders it after an in-flight "
        "copy",
    ),
    "accumulator without a value": (
        ("use_acc(%later)", "use_acc(%true)"),
        "uninitialised",
        "uninitialised read: the accumulator of tcgen05.mma: column 0, lanes 0 to 15 of tensor "
        "memory, which has not been written",
    ),
    "descriptor of wgmma": (
        ("nv.tcgen05.matrix %As", "nv.matrix %As"),
        "shape",
        "nv.tcgen05.mma: matrix descriptor has version 0, expected 1",
    ),
}

FULL = f"nv.mbarrier.wait %full[%c0], %c0 : {BARS}, index"
CHAIN_FAULTS = {
    "wait_st removed": (
        ("nv.tcgen05.wait_st", ""),
        "in flight",
        "tcgen05.mma of warp 0 reads column 64, lanes 0 to 15 of tensor memory while a store of "
        "warp 0 may be in flight; nv.tcgen05.wait_st is missing, or a barrier after it",
    ),
    "fence before the barrier removed": (
        ("nv.tcgen05.fence before", ""),
        "fence",
        "missing fence: tcgen05.mma of warp 0 reads column 64, lanes 32 to 47 of tensor memory, "
        "accessed by tcgen05.st",
    ),
    "fence before the MMA removed": (
        ("scf.if %first {\n      nv.tcgen05.fence after", "scf.if %first {"),
        "fence",
        "missing fence: tcgen05.mma of warp 0 reads column 64, lanes 32 to 47 of tensor memory, "
        "accessed by tcgen05.st",
    ),
    "barrier removed": (
        ("nv.tcgen05.fence before\n    gpu.barrier", "nv.tcgen05.fence before"),
        "race",
        "data race: tcgen05.mma of warp 0 reads column 64, lanes 32 to 47 of tensor memory, and "
        "nothing orders it after the store of warp 1",
    ),
    "proxy fence missing": (
        (
            FULL,
            f"{FULL}\n%one = arith.constant 1.0 : f16\n"
            "memref.store %one, %Qs[%c0] : memref<8192xf16, #shared>",
        ),
        "fence",
        "missing async proxy fence: an asynchronous unit reads Qs[0], written by threads",
    ),
    "wrong column of A": (
        (
            "%a0 = arith.addi %P, %o0",
            "%wrong = arith.constant 192 : i32\n%a0 = arith.addi %S, %wrong",
        ),
        "uninitialised",
        "uninitialised read: the operand A of tcgen05.mma reads column 192, lanes 0 to 15 of "
        "tensor memory, which has not been written",
    ),
}


@pytest.mark.parametrize("name", GEMM_FAULTS)
def test_faults_of_a_gemm(name: str) -> None:
    change, kind, message = GEMM_FAULTS[name]
    with pytest.raises(SimtFault) as caught:
        run_gemm(Gemm(), SimtOptions(unit=32), [change])
    assert (caught.value.kind, caught.value.diagnostic.message) == (kind, message)


@pytest.mark.parametrize("name", CHAIN_FAULTS)
def test_faults_of_a_chain(name: str) -> None:
    change, kind, message = CHAIN_FAULTS[name]
    with pytest.raises(SimtFault) as caught:
        run_chain(SimtOptions(unit=32), [change])
    assert (caught.value.kind, caught.value.diagnostic.message) == (kind, message)


def test_result_read_before_the_mma_is_waited_for() -> None:
    with pytest.raises(SimtFault) as caught:
        run_gemm(Gemm(), None, [(WAIT, "")])
    assert caught.value.diagnostic.message == (
        "tcgen05.ld of warp 1 reads column 0, lanes 32 to 47 of tensor memory while tcgen05.mma "
        "may be in flight; nv.tcgen05.commit and a wait for its barrier are missing before the "
        "access"
    )


PAIR = Gemm(m=256, group=2)
END = """gpu.barrier
    nv.cluster.arrive
    nv.cluster.wait
    scf.if %warp0 {
      nv.tcgen05.dealloc"""
AGAIN = """gpu.barrier
    @MORE@
    nv.tcgen05.fence after
    %issues = arith.andi %first, %leads : i1
    scf.if %issues {
      %da = nv.tcgen05.matrix %As[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #shared>
      %db = nv.tcgen05.matrix %Bs[%c0] swizzle(128) leading(16) stride(1024) : memref<2048xf16, #shared>
      nv.tcgen05.mma %da, %db -> %t kind(f16) shape [256, 64, 16] types(f16, f16, f32) group(2) : i64
      nv.tcgen05.commit %done[%c0] group(2) multicast %both : memref<1x!nv.mbarrier, #barrier>
    }
    nv.mbarrier.wait %done[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    """


def test_leader_overwrites_what_the_other_cta_reads() -> None:
    """The two CTAs of a pair are ordered by barriers of the cluster, not by those of a CTA."""
    with pytest.raises(SimtFault) as caught:
        run_gemm(PAIR, SimtOptions(unit=32), [(END, AGAIN.replace("@MORE@", "") + END)])
    assert caught.value.diagnostic.message == (
        "data race: tcgen05.mma of warp 0 of the other CTA writes column 0, lanes 0 to 15 of "
        "tensor memory, and nothing orders it after the load of warp 0"
    )
    more = "nv.cluster.arrive\n    nv.cluster.wait"
    run_gemm(PAIR, SimtOptions(unit=32), [(END, AGAIN.replace("@MORE@", more) + END)])


def test_barrier_of_the_leader_used_before_its_initialisation() -> None:
    start = "nv.cluster.arrive\n    nv.cluster.wait\n    nv.tcgen05.fence after"
    with pytest.raises(SimtFault) as caught:
        run_gemm(PAIR, SimtOptions(seed=2), [(start, "nv.tcgen05.fence after")])
    assert caught.value.diagnostic.message == "full of CTA 0 has not been initialised"
