"""Loops: what each form becomes, and what it refuses."""

import pytest

from tests.language.T.kernels import body, mistake
from tilewright import T
from tilewright.language.T.loop_forms import Serial


def test_parallel():
    def kernel(A: T.Tensor((8, 4), "float32"), n: T.int32):
        with T.Kernel(1):
            for i, j in T.Parallel(8, 4, coalesced_width=2, prefer_async=True):
                A[i, j] = 0
            for i in T.Parallel(n):
                A[i, 0] = 0

    text = body(kernel)
    assert "tile.parallel (%i, %j) in (8, 4) attributes {coalesced_width = 2 : i64" in text
    assert "prefer_async = true" in text
    assert "tile.parallel (%i) in (%0)" in text


def test_as_many_variables_as_extents():
    def kernel(A: T.Tensor((8, 4), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(8):
                A[i, j] = 0

    assert mistake(kernel) == (
        "error[TW1026]: T.Parallel has 1 extent, but the loop has 2 variables: i, j. Write one for "
        "each extent"
    )


def test_pipelined():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(4) as bx:
            s = T.alloc_shared((8,), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[k * 8], s)
            for k in T.Pipelined(bx, 8, num_stages=3):
                T.copy(A[k * 8], s)
            for k in T.Pipelined(8, order=[0], stage=[0]):
                T.copy(A[k * 8], s)

    text = body(kernel)
    assert "tile.pipeline %k = 0 to 8 num_stages(2) {" in text
    assert "tile.pipeline %k = %bx to 8 num_stages(3) {" in text
    assert "tile.pipeline %k = 0 to 8 stage(0) order(0) {" in text


def test_group_is_left_out_with_a_warning():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for k in T.Pipelined(8, group=[[0]]):
                A[k] = 0

    with pytest.warns(UserWarning, match="group is deprecated"):
        assert "group" not in body(kernel)


@pytest.mark.parametrize("stages", [-1, None, 1.5j])
def test_the_number_of_stages_is_a_number(stages):
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for k in T.Pipelined(8, num_stages=stages):
                A[k] = 0

    assert mistake(kernel).startswith("error[TW1026]: T.Pipelined: num_stages")


def test_unrolled_vectorized_and_bound_loops():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.unroll(4):
                A[i] = 0
            for i in T.unroll(4, explicit=True):
                A[i] = 0
            for i in T.unroll(8, unroll_factor=2):
                A[i] = 0
            for i in T.vectorized(4):
                A[i] = 0
            for i in T.thread_binding(64, thread="threadIdx.x"):
                A[i] = 0

    attributes = [line.split("}", 1)[1] for line in body(kernel).splitlines() if "} {tile" in line]
    assert attributes == [
        " {tile.unroll}",
        " {tile.unroll, tile.unroll_explicit}",
        " {tile.unroll, tile.unroll_factor = 2 : i64}",
        " {tile.vectorize}",
        ' {tile.thread_binding = "threadIdx.x"}',
    ]


def test_explicit_and_factor_exclude_each_other():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.unroll(4, explicit=True, unroll_factor=2):
                A[i] = 0

    assert "explicit and unroll_factor are mutually exclusive" in mistake(kernel)


@pytest.mark.parametrize(
    ("bounds", "values"), [((7, -1, -2), [7, 5, 3, 1]), ((6, 0, -3), [6, 3]), ((0, 5, -1), [])]
)
def test_a_loop_that_counts_down(bounds, values):
    """scf.for counts up: turn t is at start + t * step."""
    start, stop, step = bounds
    loop = Serial(*bounds)
    turns = (loop.start - loop.stop + (-loop.step - 1)) // -loop.step
    assert [start + turn * step for turn in range(turns)] == values == list(range(*bounds))

    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.serial(start, stop, step):
                A[i] = 0

    text = body(kernel)
    assert f"arith.constant {turns} : index" in text
    assert f"arith.constant {step} : index" in text


def test_a_step_of_zero():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.serial(0, 8, 0):
                A[i] = 0

    assert "the step must be a non-zero integer, got 0" in mistake(kernel)


def test_persistent():
    def kernel(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(132) as b:
            for i, j in T.Persistent([8, 16], 132, b, group_size=4):
                A[i, j] = 0

    assert "tile.persistent (%i, %j) in (8, 16) wave 132 index %b group 4" in body(kernel)


def test_a_grid_has_extents():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.grid():
                A[i] = 0

    assert mistake(kernel) == "error[TW1026]: T.grid needs at least one extent"


def test_loops_are_for_loops_only():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            A[0] = sum(i for i in T.serial(4))

    assert "T.serial is a loop of the kernel" in mistake(kernel)


def test_a_tile_scheduler():
    def kernel(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as b:
            sched = T.PersistentTileScheduler(7, 5, num_workers=4, swizzle_size=2)
            sched.init(b)
            while sched.valid():
                A[sched.m_idx, sched.n_idx] = 0
                sched.next_tile()

    text = body(kernel)
    assert text.count('{dtype = "int32"} : memref<1xi32, #var>') == 4
    assert "scf.while" in text


@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize("swizzle", [1, 2, 3, 8])
def test_a_scheduler_visits_every_tile_once(swizzle, column_major):
    scheduler = T.PersistentTileScheduler(
        7, 5, num_workers=4, swizzle_size=swizzle, column_major=column_major, stateful=False
    )
    tiles = [scheduler.coord(tile) for tile in range(35)]
    assert sorted(tiles) == [(row, column) for row in range(7) for column in range(5)]
