"""Grids, orders of blocks, host code, loops over tiles, output, generated source."""

from typing import Any

import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import block, compiled, run
from tilewright.targets.numpy import Unsupported
from tilewright.targets.numpy.tile import TileFault
from tilewright.targets.numpy.tile.support import block as runtime

ORDER = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    %n = tile.atomic add %T[%c0], %c1 : memref<1xi32, #global>, i32 -> i32
    memref.store %n, %A[%bx, %by] : memref<5x4xi32, #global>
"""
ORDER_ARGUMENTS = "%A: memref<5x4xi32, #global>, %T: memref<1xi32, #global>"


def test_blocks_run_x_first() -> None:
    a = np.full((5, 4), -1, np.int32)
    report = run(block(ORDER_ARGUMENTS, ORDER, grid="5, 4"), a, np.zeros(1, np.int32))
    assert report.programs == 20
    assert not report.is_concurrent
    assert np.array_equal(a, np.arange(20).reshape(4, 5).T)


def test_large_grids_are_not_listed() -> None:
    """Two thousand million blocks: the first one ends the run, and memory does not."""
    text = block(
        "%A: memref<2xi32, #global>",
        """
    %c7 = arith.constant 7 : index
    %s = tile.alloc "s" : memref<4xi32, #shared>
    %x = memref.load %s[%c7] : memref<4xi32, #shared>
    memref.store %x, %A[%bx] : memref<2xi32, #global>
""",
        grid="2147483647, 65535",
    )
    with pytest.raises(TileFault, match=r"s\[7\]") as caught:
        run(text, np.zeros(2, np.int32))
    assert caught.value.program == (0, 0, 0)


def test_grids_are_not_negative() -> None:
    text = block(
        "%A: memref<2xi32, #global>, %n: index",
        """
    %one = arith.constant 1 : i32
    memref.store %one, %A[%bx] : memref<2xi32, #global>
""",
        grid="%n",
    )
    a = np.zeros(2, np.int32)
    with pytest.raises(TileFault, match=r"negative grid extent: \(-2\)"):
        run(text, a, -2)
    assert not a.any()
    run(text, a, 0)
    assert not a.any()
    run(text, a, 2)
    assert a.tolist() == [1, 1]


def _swizzled(gx: int, gy: int, panel: int) -> list[tuple[int, int]]:
    """Blocks in launch order under `T.use_swizzle` with order row."""
    found: list[tuple[int, int]] = []
    for b in range(gx * gy):
        p, o = divmod(b, panel * gx)
        s = min(panel, gy - p * panel)
        column = o // s
        found.append((gx - 1 - column if p % 2 else column, o % s + p * panel))
    return found


@pytest.mark.parametrize("panel", [1, 2, 3, 10])
def test_raster_in_rows(panel: int) -> None:
    text = block(ORDER_ARGUMENTS, ORDER, grid="5, 4").replace(
        "threads(128)", f"threads(128) raster #tile.raster<row, {panel}>"
    )
    a = np.full((5, 4), -1, np.int32)
    run(text, a, np.zeros(1, np.int32))
    for number, (x, y) in enumerate(_swizzled(5, 4, panel)):
        assert a[x, y] == number


def test_raster_in_columns_visits_every_block() -> None:
    text = block(ORDER_ARGUMENTS, ORDER, grid="5, 4").replace(
        "threads(128)", "threads(128) raster #tile.raster<column, 3>"
    )
    a = np.full((5, 4), -1, np.int32)
    run(text, a, np.zeros(1, np.int32))
    assert sorted(a.reshape(-1).tolist()) == list(range(20))


def test_several_kernels_and_host_arithmetic() -> None:
    text = """
func.func @two(%A: memref<?xi32, #global>, %n: i32) attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %A, %c0 : memref<?xi32, #global>
  %g = arith.ceildivui %m, %c4 : index
  tile.kernel (%b) in (%g) threads(32) {
    %o = arith.muli %b, %c4 : index
    tile.parallel (%i) in (4) {
      %k = arith.addi %o, %i : index
      memref.store %n, %A[%k] : memref<?xi32, #global>
    }
  }
  %one = arith.constant 1 : i32
  %more = arith.addi %n, %one : i32
  tile.kernel (%b) in (1) threads(32) {
    memref.store %more, %A[%c0] : memref<?xi32, #global>
  }
  func.return
}
"""
    a = np.zeros(10, np.int32)
    report = run(text, a, 7)
    assert report.programs == 4
    assert a.tolist() == [8] + [7] * 9


def _persistent(domain: list[int], wave: int, index: int, group: int) -> list[tuple[int, ...]]:
    """Section 4.2 of the language, digit by digit."""
    g = max(1, min(group, domain[-1]))
    radices = [-(-domain[-1] // g), *domain[:-1], g]
    found: list[tuple[int, ...]] = []
    t = index
    while t < int(np.prod(radices)):
        digits = list(np.unravel_index(t, radices))
        last = int(digits[0]) * g + int(digits[-1])
        if last < domain[-1]:
            found.append((*(int(d) for d in digits[1:-1]), last))
        t += wave
    return found


@pytest.mark.parametrize("domain", [[3, 5], [4, 1], [2, 17], [2, 3, 4]])
@pytest.mark.parametrize("group", [1, 2, 8])
def test_persistent_loops(domain: list[int], group: int) -> None:
    rank = len(domain)
    names = ", ".join(f"%t{d}" for d in range(rank))
    shape = "x".join(map(str, domain))
    text = block(
        f"%A: memref<{shape}xi32, #global>, %T: memref<1xi32, #global>",
        f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    tile.persistent ({names}) in ({", ".join(map(str, domain))}) wave 3 index %bx group {group} {{
      %n = tile.atomic add %T[%c0], %c1 : memref<1xi32, #global>, i32 -> i32
      memref.store %n, %A[{names}] : memref<{shape}xi32, #global>
    }}
""",
        grid="3",
    )
    a = np.full(domain, -1, np.int32)
    run(text, a, np.zeros(1, np.int32))
    order = [tile for worker in range(3) for tile in _persistent(domain, 3, worker, group)]
    assert len(order) == a.size
    for number, tile in enumerate(order):
        assert a[tile] == number


@pytest.mark.parametrize("stages", [0, 1, 4])
def test_pipelines_are_serial_loops(stages: int) -> None:
    text = block(
        "%A: memref<6xi32, #global>, %n: i32",
        f"""
    %one = arith.constant 1 : i32
    %hi = arith.index_cast %n : i32 to index
    tile.pipeline %k = 2 to %hi num_stages({stages}) {{
      %c1 = arith.constant 1 : index
      %p = arith.subi %k, %c1 : index
      %a = memref.load %A[%p] : memref<6xi32, #global>
      %b = arith.addi %a, %one : i32
      memref.store %b, %A[%k] : memref<6xi32, #global>
    }}
""",
    )
    for n in (0, 2, 3, 6):
        a = np.full(6, 10, np.int32)
        run(text, a, n)
        assert a.tolist() == [10, 10, *range(11, 11 + max(n - 2, 0))] + [10] * (6 - max(n, 2))


def test_scalar_arguments_take_their_types() -> None:
    text = block(
        "%A: memref<3xf32, #global>, %h: f16, %i: i8, %b: i1",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %x = arith.extf %h : f16 to f32
    memref.store %x, %A[%c0] : memref<3xf32, #global>
    %y = arith.sitofp %i : i8 to f32
    memref.store %y, %A[%c1] : memref<3xf32, #global>
    %z = arith.select %b, %x, %y : f32
    memref.store %z, %A[%c2] : memref<3xf32, #global>
""",
    )
    a = np.zeros(3, np.float32)
    run(text, a, 0.1, 200, True)
    assert a.tolist() == [float(np.float16(0.1)), -56.0, float(np.float16(0.1))]
    run(text, a, np.float16(2), np.int8(3), False)
    assert a.tolist() == [2, 3, 3]


# Output and checks.


def test_print() -> None:
    text = block(
        "%A: memref<2x2xf32, #global>",
        """
    %c1 = arith.constant 1 : index
    %two = arith.constant 2.5 : f32
    tile.print "x {value}", %two : f32
    tile.print "%d of %5.2f!", %c1, %two : index, f32
    %s = tile.alloc "tile" : memref<2x2xf32, #shared>
    tile.copy %A -> %s : memref<2x2xf32, #global> -> memref<2x2xf32, #shared>
    tile.print "", %s : memref<2x2xf32, #shared>
    tile.parallel (%i) in (3) {
      %c = arith.cmpi uge, %i, %c1 : index
      scf.if %c {
        tile.print "i", %i : index
      }
    }
""",
        grid="2",
    )
    lines: list[str] = []
    run(text, np.eye(2, dtype=np.float32), output=lines.append)
    assert lines[0] == "block (0, 0, 0): x {value} 2.5"
    assert lines[1] == "block (0, 0, 0): 1 of 2.5!"
    assert lines[2] == "block (0, 0, 0): tile =\n[[1. 0.]\n [0. 1.]]"
    assert lines[3:5] == ["block (0, 0, 0): i 1", "block (0, 0, 0): i 2"]
    assert lines[5] == "block (1, 0, 0): x {value} 2.5"


def test_assertions() -> None:
    text = block(
        "%A: memref<4xi32, #global>",
        """
    %zero = arith.constant 0 : i32
    tile.parallel (%i) in (4) {
      %a = memref.load %A[%i] : memref<4xi32, #global>
      %ok = arith.cmpi sge, %a, %zero : i32
      tile.assert %ok, "not {negative}"
    }
""",
    )
    run(text, np.zeros(4, np.int32))
    with pytest.raises(TileFault) as caught:
        run(text, np.array([1, 2, -3, 4], np.int32))
    assert caught.value.kind == "assertion"
    assert "assertion failed: not {negative}" in str(caught.value)
    assert "in iteration (2) of T.Parallel" in str(caught.value)


def test_assumptions_are_looked_at_in_checked_runs_only() -> None:
    text = block(
        "%A: memref<4xi32, #global>, %c: i1",
        """
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    tile.assume %c
    memref.store %one, %A[%c0] : memref<4xi32, #global>
""",
    )
    a = np.zeros(4, np.int32)
    with pytest.raises(TileFault, match=r"TW6124.*T\.assume does not hold") as caught:
        run(text, a, False)
    assert "c is False" in str(caught.value)
    run(text, a, False, checked=False)
    assert a[0] == 1


def test_progress_counts_blocks() -> None:
    seen: list[tuple[int, int]] = []
    text = block(
        "%A: memref<4xi32, #global>", "    %s = tile.alloc : memref<4xi32, #shared>", grid="3"
    )
    run(text, np.zeros(4, np.int32), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


# Source.


def test_source_reads_like_the_kernel() -> None:
    source = compiled(block(ORDER_ARGUMENTS, ORDER, grid="5, 4")).source
    assert "def main(rt, A, T):" in source
    body: list[Any] = [line.partition("  #")[0].strip() for line in source.splitlines()]
    assert "def kernel(bx, by):" in body
    assert "n = atomic(None, 'add', T, i32_1, i64_0, returns=True)" in body
    assert "put(A, n, bx, by)" in body
    assert "rt.launch(kernel, (5, 4), (128,), written=(T, A))" in body
    (line,) = [line for line in source.splitlines() if "put(A" in line]
    assert line.endswith("# kernel.mlir:15")


def test_modules_need_one_entry() -> None:
    with pytest.raises(
        Unsupported, match=r"one function marked tile\.entry in the module, found 0"
    ):
        compiled("\n")


def test_failures_of_generated_code_are_placed() -> None:
    text = block(
        "%A: memref<4xf32, #global>, %n: i32",
        """
    %m = arith.index_cast %n : i32 to index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc "s" : memref<4xf32, #shared>
    scf.for %k = %c1 to %c4 step %m {
      tile.copy %A -> %s : memref<4xf32, #global> -> memref<4xf32, #shared>
    }
""",
    )
    with pytest.raises(TileFault, match="the step of a loop must be positive, got 0"):
        run(text, np.zeros(4, np.float32), 0)


def test_loop_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MAX_TRIP_COUNT", 1000)
    text = block(
        "%A: memref<1xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %x = tile.atomic load %A[%c0] : memref<1xi32, #global> -> i32
      %c = arith.cmpi eq, %x, %zero : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
""",
    )
    run(text, np.ones(1, np.int32))
    with pytest.raises(TileFault) as caught:
        run(text, np.zeros(1, np.int32), checked=False)
    assert caught.value.kind == "endless"
    assert "a block cannot wait for a later block" in str(caught.value)
