"""Kernels that name their threads: local memory, warps, reductions over threads."""

import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import block, random, run
from tilewright.targets.numpy.tile import TileFault


def test_each_thread_has_its_own_local_memory() -> None:
    """A dot product the SIMT way: partial sums of threads, combined over the thread axis."""
    text = block(
        "%A: memref<4x128xf32, #global>, %x: memref<128xf32, #global>, %y: memref<4xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %tx = gpu.thread_id x
    %acc = tile.alloc "acc" : memref<1xf32, #local>
    %all = tile.alloc "all" : memref<1xf32, #local>
    memref.store %zero, %acc[%c0] : memref<1xf32, #local>
    scf.for %v = %c0 to %c4 step %c1 {
      %t = arith.muli %tx, %c4 : index
      %k = arith.addi %t, %v : index
      %a = memref.load %A[%bx, %k] : memref<4x128xf32, #global>
      %b = memref.load %x[%k] : memref<128xf32, #global>
      %p = arith.mulf %a, %b : f32
      %o = memref.load %acc[%c0] : memref<1xf32, #local>
      %n = arith.addf %o, %p : f32
      memref.store %n, %acc[%c0] : memref<1xf32, #local>
    }
    tile.reduce sum %acc -> %all dim 0 {scope = "threads"} : memref<1xf32, #local> -> memref<1xf32, #local>
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {
      %r = memref.load %all[%c0] : memref<1xf32, #local>
      memref.store %r, %y[%bx] : memref<4xf32, #global>
    }
""",
        grid="4",
        threads=32,
    )
    a, x, y = random((4, 128), "f32", 1), random((128,), "f32", 2), np.zeros(4, np.float32)
    run(text, a, x, y)
    assert np.array_equal(y, a @ x)


def test_axes_of_threads() -> None:
    text = block(
        "%A: memref<2x8xi32, #global>",
        """
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %d = gpu.block_dim x
    %m = arith.muli %ty, %d : index
    %n = arith.addi %m, %tx : index
    %v = arith.index_cast %n : index to i32
    memref.store %v, %A[%ty, %tx] : memref<2x8xi32, #global>
""",
    ).replace("threads(128)", "threads(8, 2)")
    a = np.zeros((2, 8), np.int32)
    run(text, a)
    assert np.array_equal(a, np.arange(16).reshape(2, 8))


def test_local_memory_that_some_threads_did_not_write() -> None:
    text = block(
        "%A: memref<32xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c9 = arith.constant 9 : index
    %one = arith.constant 1 : i32
    %tx = gpu.thread_id x
    %v = tile.alloc "v" : memref<1xi32, #var>
    %c = arith.cmpi ult, %tx, %c9 : index
    scf.if %c {
      memref.store %one, %v[%c0] : memref<1xi32, #var>
    }
    %x = memref.load %v[%c0] : memref<1xi32, #var>
    memref.store %x, %A[%tx] : memref<32xi32, #global>
""",
        threads=32,
    )
    with pytest.raises(TileFault, match="23 of 32 elements read are uninitialised"):
        run(text, np.zeros(32, np.int32))


@pytest.mark.parametrize("kind", ["sum", "max", "min", "bitxor"])
def test_warp_reduce(kind: str) -> None:
    text = block(
        "%A: memref<64xi32, #global>, %B: memref<64xi32, #global>",
        f"""
    %tx = gpu.thread_id x
    %a = memref.load %A[%tx] : memref<64xi32, #global>
    %r = tile.warp_reduce {kind} %a : i32
    memref.store %r, %B[%tx] : memref<64xi32, #global>
""",
        threads=64,
    )
    a, b = random((64,), "i32", 1), np.zeros(64, np.int32)
    run(text, a, b)
    fold = {"sum": np.add, "max": np.maximum, "min": np.minimum, "bitxor": np.bitwise_xor}[kind]
    assert np.array_equal(b, np.repeat(fold.reduce(a.reshape(2, 32), axis=1), 32))


@pytest.mark.parametrize(
    ("mode", "by", "width", "lane"),
    [
        ("xor", 5, 32, lambda t: t ^ 5),
        ("down", 3, 32, lambda t: t + 3 if t % 32 + 3 < 32 else t),
        ("up", 3, 32, lambda t: t - 3 if t % 32 >= 3 else t),
        ("idx", 2, 8, lambda t: t // 8 * 8 + 2),
        ("down", 6, 8, lambda t: t + 6 if t % 8 + 6 < 8 else t),
    ],
)
def test_shuffle(mode: str, by: int, width: int, lane: object) -> None:
    text = block(
        "%A: memref<64xi32, #global>, %B: memref<64xi32, #global>",
        f"""
    %by = arith.constant {by} : i32
    %tx = gpu.thread_id x
    %a = memref.load %A[%tx] : memref<64xi32, #global>
    %r = tile.shuffle {mode} %a, %by width {width} : i32
    memref.store %r, %B[%tx] : memref<64xi32, #global>
""",
        threads=64,
    )
    a, b = np.arange(100, 164, dtype=np.int32), np.zeros(64, np.int32)
    run(text, a, b)
    assert callable(lane)
    assert b.tolist() == [100 + lane(t) for t in range(64)]


def test_votes() -> None:
    text = block(
        "%A: memref<64xi32, #global>, %B: memref<64x3xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0 : i32
    %tx = gpu.thread_id x
    %a = memref.load %A[%tx] : memref<64xi32, #global>
    %p = arith.cmpi sgt, %a, %zero : i32
    %any = tile.vote any %p : i1
    %all = tile.vote all %p : i1
    %ballot = tile.vote ballot %p : i32
    %x = arith.extui %any : i1 to i32
    %y = arith.extui %all : i1 to i32
    memref.store %x, %B[%tx, %c0] : memref<64x3xi32, #global>
    memref.store %y, %B[%tx, %c1] : memref<64x3xi32, #global>
    memref.store %ballot, %B[%tx, %c2] : memref<64x3xi32, #global>
""",
        threads=64,
    )
    a, b = np.ones(64, np.int32), np.zeros((64, 3), np.int32)
    a[:31] = 0
    run(text, a, b)
    assert (b[:32] == [1, 0, -(2**31)]).all()
    assert (b[32:] == [1, 1, -1]).all()


def test_one_thread_of_a_role_arrives() -> None:
    """A branch on the thread leaves one arrival; a role counts its own threads from 0."""
    text = block(
        "%A: memref<8xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %ready = tile.alloc "ready" init [1] : memref<1x!nv.mbarrier, #barrier>
    tile.ws
    role "reader" threads(0 to 128) {
      nv.mbarrier.wait %ready[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      tile.copy %s -> %A : memref<8xf32, #shared> -> memref<8xf32, #global>
    }
    role "writer" threads(128 to 256) {
      %tx = gpu.thread_id x
      tile.fill %s, %one : memref<8xf32, #shared>, f32
      %is = arith.cmpi eq, %tx, %c0 : index
      scf.if %is {
        nv.mbarrier.arrive %ready[%c0] : memref<1x!nv.mbarrier, #barrier>
      }
    }
""",
        threads=256,
    )
    a = np.zeros(8, np.float32)
    run(text, a, schedules=8)
    assert (a == 1).all()


def test_custom_roles_count_the_threads_of_the_block() -> None:
    text = block(
        "%A: memref<256xi32, #global>",
        """
    tile.ws custom
    role "1" threads(128 to 256) {
      %tx = gpu.thread_id x
      %v = arith.index_cast %tx : index to i32
      memref.store %v, %A[%tx] : memref<256xi32, #global>
    }
""",
        threads=256,
    )
    a = np.zeros(256, np.int32)
    run(text, a)
    assert a.tolist() == [0] * 128 + list(range(128, 256))


def test_dp4a() -> None:
    text = block(
        "%A: memref<16xi32, #global>, %B: memref<16xi32, #global>, %C: memref<16xi32, #global>",
        """
    tile.parallel (%i) in (16) {
      %a = memref.load %A[%i] : memref<16xi32, #global>
      %b = memref.load %B[%i] : memref<16xi32, #global>
      %c = memref.load %C[%i] : memref<16xi32, #global>
      %r = nv.dp4a %a, %b, %c
      memref.store %r, %C[%i] : memref<16xi32, #global>
    }
""",
    )
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-128, 128, (16, 4)).astype(np.int8) for _ in range(2))
    c = np.full(16, 1000, np.int32)
    run(text, a.view(np.int32).reshape(-1), b.view(np.int32).reshape(-1), c)
    assert np.array_equal(c, 1000 + (a.astype(np.int32) * b).sum(1))


def test_loop_bound_to_threads() -> None:
    text = block(
        "%A: memref<32xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c20 = arith.constant 20 : index
    scf.for %t = %c0 to %c20 step %c1 {
      %v = arith.index_cast %t : index to i32
      memref.store %v, %A[%t] : memref<32xi32, #global>
    } {tile.thread_binding = "threadIdx.x"}
""",
        threads=32,
    )
    a = np.full(32, -1, np.int32)
    run(text, a)
    assert a.tolist() == [*range(20), *[-1] * 12]


def _thread_copies(body: str, threads: int = 32) -> str:
    return block(
        '%A: memref<4x64xf16, #global> {tile.name = "A"}, %B: memref<4x64xf16, #global> {tile.name = "B"}',
        f"""
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %tx = gpu.thread_id x
    %row = arith.divui %tx, %c8 : index
    %lane = arith.remui %tx, %c8 : index
    %column = arith.muli %lane, %c8 : index
    %s = tile.alloc "s" : memref<4x64xf16, #shared>
    %to = tile.ptr_of w %s[%row, %column] : memref<4x64xf16, #shared>
    {body}
""",
        threads=threads,
    )


def test_copies_of_single_threads() -> None:
    text = _thread_copies("""
    %from = tile.ptr_of r %A[%row, %column] : memref<4x64xf16, #global>
    nv.cp_async %to, %from, 16 : !tile.ptr<f16, #shared>, !tile.ptr<f16>
    nv.cp_async.commit
    nv.cp_async.wait 0
    tile.copy %s -> %B : memref<4x64xf16, #shared> -> memref<4x64xf16, #global>""")
    a, b = random((4, 64), "f16", 1), np.zeros((4, 64), np.float16)
    run(text, a, b, schedules=6)
    assert np.array_equal(b, a)
    with pytest.raises(TileFault) as caught:
        run(text.replace("nv.cp_async.wait 0", ""), a, b)
    assert "read of s while an asynchronous operation still writes it" in str(caught.value)
    assert "256 elements of the access are affected" in str(caught.value)
    with pytest.raises(TileFault, match="copy out of bounds: element 288 of A, which has 256"):
        run(text.replace("%A[%row", "%A[%tx"), a, b)


def test_copies_under_a_predicate_leave_zeros() -> None:
    text = _thread_copies("""
    %c2 = arith.constant 2 : index
    %c1000 = arith.constant 1000 : index
    %ok = arith.cmpi ult, %row, %c2 : index
    %far = arith.select %ok, %row, %c1000 : index
    %from = tile.ptr_of r %A[%far, %column] : memref<4x64xf16, #global>
    nv.cp_async %to, %from, 16 if %ok : !tile.ptr<f16, #shared>, !tile.ptr<f16>
    nv.cp_async.commit
    nv.cp_async.wait 0
    tile.copy %s -> %B : memref<4x64xf16, #shared> -> memref<4x64xf16, #global>""")
    a, b = random((4, 64), "f16", 1), np.ones((4, 64), np.float16)
    run(text, a, b)
    assert np.array_equal(b[:2], a[:2])
    assert (b[2:] == 0).all()


def test_masked_threads_do_not_copy() -> None:
    text = _thread_copies("""
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f16
    tile.fill %s, %zero : memref<4x64xf16, #shared>, f16
    %some = arith.cmpi ult, %tx, %c16 : index
    scf.if %some {
      %from = tile.ptr_of r %A[%row, %column] : memref<4x64xf16, #global>
      nv.cp_async %to, %from, 16 : !tile.ptr<f16, #shared>, !tile.ptr<f16>
    }
    nv.cp_async.commit
    nv.cp_async.wait 0
    tile.copy %s -> %B : memref<4x64xf16, #shared> -> memref<4x64xf16, #global>""")
    a, b = random((4, 64), "f16", 1), np.ones((4, 64), np.float16)
    run(text, a, b)
    assert np.array_equal(b[:2], a[:2])
    assert (b[2:] == 0).all()


BRANCHES = block(
    "%A: memref<8xf32, #global>, %B: memref<384xi32, #global>",
    """
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %one = arith.constant 1.0 : f32
    %seven = arith.constant 7 : i32
    %tx = gpu.thread_id x
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %v = tile.alloc "v" : memref<1xi32, #var>
    %ready = tile.alloc "ready" init [128] : memref<1x!nv.mbarrier, #barrier>
    %n = arith.index_cast %tx : index to i32
    memref.store %n, %v[%c0] : memref<1xi32, #var>
    %first = arith.cmpi ult, %tx, %c128 : index
    scf.if %first {
      nv.mbarrier.wait %ready[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      tile.copy %s -> %A : memref<8xf32, #shared> -> memref<8xf32, #global>
      memref.store %seven, %v[%c0] : memref<1xi32, #var>
    } else {
      %second = arith.cmpi ult, %tx, %c256 : index
      scf.if %second {
        tile.fill %s, %one : memref<8xf32, #shared>, f32
        nv.mbarrier.arrive %ready[%c0] : memref<1x!nv.mbarrier, #barrier>
      }
    }
    %w = memref.load %v[%c0] : memref<1xi32, #var>
    memref.store %w, %B[%tx] : memref<384xi32, #global>
""",
    threads=384,
)


def test_branches_on_the_thread_run_side_by_side() -> None:
    """Roles written as `if tx < 128`: the first waits for the second."""
    a, b = np.zeros(8, np.float32), np.zeros(384, np.int32)
    run(BRANCHES, a, b, schedules=12)
    assert (a == 1).all()
    assert b.tolist() == [7] * 128 + list(range(128, 384))


def test_branches_that_wait_in_vain_are_named_by_their_threads() -> None:
    text = BRANCHES.replace("init [128]", "init [129]")
    with pytest.raises(TileFault) as caught:
        run(text, np.zeros(8, np.float32), np.zeros(384, np.int32))
    assert caught.value.kind == "deadlock"
    assert "threads 0 to 127 waits for the phase of parity 0 of ready" in str(caught.value)
    assert "128 of 129 arrivals occurred" in str(caught.value)


DIVERGENT_BARRIER = block(
    "%A: memref<128xf32, #global>",
    """
    %c64 = arith.constant 64 : index
    %one = arith.constant 1.0 : f32
    %tx = gpu.thread_id x
    %first = arith.cmpi ult, %tx, %c64 : index
    scf.if %first {
      tile.sync
    }
    memref.store %one, %A[%tx] : memref<128xf32, #global>
""",
)


def test_a_barrier_that_only_some_threads_reach_deadlocks() -> None:
    with pytest.raises(TileFault) as caught:
        run(DIVERGENT_BARRIER, np.zeros(128, np.float32))
    assert caught.value.kind == "deadlock"
    assert "64 of 128 threads arrived" in str(caught.value)


def test_warps_that_synchronise_in_a_branch_continue() -> None:
    a = np.zeros(128, np.float32)
    run(DIVERGENT_BARRIER.replace("tile.sync", "tile.sync warp"), a)
    assert (a == 1).all()
