"""What single threads and warps do: control flow that diverges, exchanges, conversions, atomics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import lowered, run_device
from tilewright import T
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

OUT = "memref<1024xf32, #global>"
TIDS = np.arange(128)


def results(body: str, **sizes: int) -> np.ndarray:
    """What the threads write to `Out`; `%y` is it if the body does not write itself."""
    if "%Out" not in body:
        body += f"\n memref.store %y, %Out[%tid] : {OUT}"
    out, _ = run_device(body, **sizes)
    return out[: sizes.get("threads", 128)]


def test_branches_with_results() -> None:
    body = f"""
    %odd = arith.remui %tid, %c2 : index
    %is_odd = arith.cmpi eq, %odd, %c1 : index
    %y = scf.if %is_odd -> (f32) {{
      %x = memref.load %In[%c8] : {OUT}
      scf.yield %x : f32
    }} else {{
      %x = memref.load %In[%tid] : {OUT}
      scf.yield %x : f32
    }}"""
    np.testing.assert_array_equal(results(body), np.where(TIDS % 2, 8, TIDS))


def test_loops_that_threads_leave_at_different_times() -> None:
    body = f"""
    %zero = arith.constant 0.0 : f32
    %some = arith.remui %tid, %c4 : index
    %y = scf.for %i = %c0 to %some step %c1 iter_args(%sum = %zero) -> (f32) {{
      %x = memref.load %In[%i] : {OUT}
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    }}"""
    np.testing.assert_array_equal(results(body), [sum(range(n % 4)) for n in TIDS])


def test_while_loops_that_threads_leave_at_different_times() -> None:
    body = f"""
    %last = scf.while (%i = %tid) : (index) -> (index) {{
      %more = arith.cmpi ult, %i, %c32 : index
      scf.condition(%more) %i : index
    }} do {{
    ^bb0(%i: index):
      %double = arith.muli %i, %c2 : index
      %next = arith.addi %double, %c1 : index
      scf.yield %next : index
    }}
    %y = memref.load %In[%last] : {OUT}"""
    expected = []
    for number in range(128):
        while number < 32:
            number = 2 * number + 1
        expected.append(number)
    np.testing.assert_array_equal(results(body), expected)


@pytest.mark.parametrize(
    ("mode", "offset", "source"),
    [
        ("xor", 5, TIDS // 32 * 32 + (TIDS % 32 ^ 5)),
        ("down", 3, np.where(TIDS % 32 < 29, TIDS + 3, TIDS)),
        ("up", 3, np.where(TIDS % 32 >= 3, TIDS - 3, TIDS)),
        ("idx", 7, TIDS // 32 * 32 + 7),
    ],
)
def test_shuffles(mode: str, offset: int, source: np.ndarray) -> None:
    body = f"""
    %by = arith.constant {offset} : i32
    %x = memref.load %In[%tid] : {OUT}
    %y = tile.shuffle {mode} %x, %by : f32"""
    np.testing.assert_array_equal(results(body), source)


def test_shuffles_within_parts_of_a_warp() -> None:
    body = f"""
    %by = arith.constant 1 : i32
    %x = memref.load %In[%tid] : {OUT}
    %y = tile.shuffle down %x, %by width 8 : f32"""
    np.testing.assert_array_equal(results(body), np.where(TIDS % 8 < 7, TIDS + 1, TIDS))


@pytest.mark.parametrize(("kind", "function"), [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_a_warp_reduces(kind: str, function: np.ufunc) -> None:
    body = f"""
    %x = memref.load %In[%tid] : {OUT}
    %y = tile.warp_reduce {kind} %x : f32"""
    expected = np.repeat([function(TIDS[first : first + 32]) for first in range(0, 128, 32)], 32)
    np.testing.assert_array_equal(results(body), expected)


@pytest.mark.parametrize(("mode", "warps"), [("any", [1, 0, 0, 0]), ("all", [0, 0, 0, 0])])
def test_votes(mode: str, warps: list[int]) -> None:
    body = f"""
    %few = arith.cmpi ult, %tid, %c8 : index
    %vote = tile.vote {mode} %few : i1
    %y = arith.uitofp %vote : i1 to f32"""
    np.testing.assert_array_equal(results(body), np.repeat(warps, 32))


def test_a_ballot() -> None:
    body = """
    %few = arith.cmpi ult, %tid, %c8 : index
    %vote = tile.vote ballot %few : i32
    %y = arith.sitofp %vote : i32 to f32"""
    np.testing.assert_array_equal(results(body), np.repeat([255, 0, 0, 0], 32))


def test_one_thread_of_each_warp_is_elected() -> None:
    body = "%chosen = nv.elect\n %y = arith.uitofp %chosen : i1 to f32"
    found = results(body).reshape(4, 32)
    np.testing.assert_array_equal(found.sum(axis=1), np.ones(4))


def test_all_threads_of_a_group_reduce() -> None:
    """Before it is lowered: threads 0, 4, 8, ... of each 32 give one sum."""
    body = f"""
    %x = memref.load %In[%tid] : {OUT}
    %y = simt.allreduce sum %x threads(8) scale(4) : f32"""
    grouped = TIDS.reshape(4, 8, 4)
    expected = np.broadcast_to(grouped.sum(axis=1, keepdims=True), grouped.shape)
    np.testing.assert_array_equal(results(body), expected.ravel())


def test_conversions_in_registers() -> None:
    body = f"""
    %wide = tile.alloc "wide" : memref<2xf32, #local>
    %half = tile.alloc "half" : memref<2xf16, #local>
    %x = memref.load %In[%tid] : {OUT}
    %third = arith.constant 3.0 : f32
    %q = arith.divf %x, %third : f32
    memref.store %x, %wide[%c0] : memref<2xf32, #local>
    memref.store %q, %wide[%c1] : memref<2xf32, #local>
    simt.convert %wide[%c0] -> %half[%c0] lanes(2) : memref<2xf32, #local>, memref<2xf16, #local>
    %h = memref.load %half[%c1] : memref<2xf16, #local>
    %y = arith.extf %h : f16 to f32"""
    expected = (TIDS.astype(np.float32) / np.float32(3)).astype(np.float16)
    np.testing.assert_array_equal(results(body), expected)


def test_atomics_give_what_was_there() -> None:
    body = f"""
    %s = tile.alloc "s" offset 0 : memref<1xf32, #shared>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    scf.if %first {{
      memref.store %zero, %s[%c0] : memref<1xf32, #shared>
    }}
    gpu.barrier
    %y = tile.atomic add %s[%c0], %one : memref<1xf32, #shared>, f32 -> f32
    memref.store %y, %Out[%tid] : {OUT}"""
    np.testing.assert_array_equal(np.sort(results(body)), TIDS)


def test_dp4a() -> None:
    body = """
    %a = arith.constant 0x01FF0203 : i32
    %b = arith.constant 0x02030405 : i32
    %t = arith.index_cast %tid : index to i32
    %sum = nv.dp4a %a, %b, %t
    %y = arith.sitofp %sum : i32 to f32"""
    np.testing.assert_array_equal(results(body), TIDS + (1 * 2 - 1 * 3 + 2 * 4 + 3 * 5))


@pytest.mark.parametrize("seed", range(4))
def test_copies_that_arrive_by_themselves(seed: int) -> None:
    barriers = "memref<1x!nv.mbarrier, #barrier>"
    body = f"""
    %b = tile.alloc "b" init [128] offset 2048 : {barriers}
    scf.if %first {{
      nv.mbarrier.init %b[%c0], 128 : {barriers}
      nv.fence_barrier_init
    }}
    gpu.barrier
    %s = tile.alloc "s" offset 0 : memref<128xf32, #shared>
    nv.async_move %In[%tid] -> %s[%tid] lanes(1) : {OUT}, memref<128xf32, #shared>
    nv.cp_async.mbarrier_arrive %b[%c0] {{noinc}} : {barriers}
    nv.mbarrier.wait %b[%c0], %c0 : {barriers}, index
    %other = arith.subi %c127, %tid : index
    %y = memref.load %s[%other] : memref<128xf32, #shared>
    memref.store %y, %Out[%tid] : {OUT}"""
    out, _ = run_device(body, SimtOptions(seed=seed))
    np.testing.assert_array_equal(out[:128], TIDS[::-1])


def test_matrices_between_lanes_and_memory() -> None:
    """What `stmatrix` writes by columns, `ldmatrix` reads by rows: a transposition."""
    halves = "memref<64xf16, #shared>"
    body = f"""
    %s = tile.alloc "s" offset 0 : {halves}
    %r = tile.alloc "r" : memref<2xf16, #local>
    %q = tile.alloc "q" : memref<2xf16, #local>
    scf.for %i = %c0 to %c2 step %c1 {{
      %double = arith.muli %tid, %c2 : index
      %n = arith.addi %double, %i : index
      %x = memref.load %In[%n] : {OUT}
      %h = arith.truncf %x : f32 to f16
      memref.store %h, %r[%i] : memref<2xf16, #local>
    }}
    %row = arith.remui %tid, %c8 : index
    %at = arith.muli %row, %c8 : index
    nv.stmatrix %r[%c0] -> %s[%at] count(1) {{transposed}} : memref<2xf16, #local>, {halves}
    gpu.barrier
    nv.ldmatrix %s[%at] -> %q[%c0] count(1) : {halves}, memref<2xf16, #local>
    scf.for %i = %c0 to %c2 step %c1 {{
      %h = memref.load %q[%i] : memref<2xf16, #local>
      %y = arith.extf %h : f16 to f32
      %double = arith.muli %tid, %c2 : index
      %n = arith.addi %double, %i : index
      memref.store %y, %Out[%n] : {OUT}
    }}"""
    out, _ = run_device(body, threads=32)
    np.testing.assert_array_equal(out[:64].reshape(8, 8), np.arange(64).reshape(8, 8).T)


def test_tensors_of_unsigned_bytes() -> None:
    """Integers of the IR have no sign; those of the caller may be unsigned."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "uint8"), B: T.Tensor((64,), "uint8")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                if A[i] > 200:
                    B[i] = A[i] // 2
                else:
                    B[i] = 3

    module = lowered(kernel.module)
    a = np.arange(192, 256, dtype=np.uint8)
    b = np.zeros(64, np.uint8)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b)])
    np.testing.assert_array_equal(b, np.where(a > 200, a // 2, 3))


def test_some_blocks_stand_for_all() -> None:
    """A grid of one block has no more than that one."""
    body = f"%y = memref.load %In[%tid] : {OUT}\n memref.store %y, %Out[%tid] : {OUT}"
    _, report = run_device(body, SimtOptions(blocks=5, schedules=3))
    assert (report.blocks, report.schedules) == (3, 3)
