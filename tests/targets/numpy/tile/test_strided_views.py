"""Views with strides in the NumPy target: what they share with the tensor that they view."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import block, compiled, run
from tilewright.targets.numpy import Buffer, Unsupported
from tilewright.targets.numpy.tile import TileFault, TileOptions

VECTOR = '%p: memref<?xf32, #global> {tile.name = "p"}'
ROWS = "memref<?x?xf32, strided<[?, 1]>, #global>"


def viewed(body: str, arguments: str = VECTOR, grid: str = "1") -> str:
    """A kernel with `%A`, the view of `%p` with extents `%m`, `%n` and stride `%s`."""
    view = f"""
    %mi = arith.index_cast %m : i32 to index
    %ni = arith.index_cast %n : i32 to index
    %si = arith.index_cast %s : i32 to index
    %A = tile.view %p sizes(%mi, %ni) strides(%si) : memref<?xf32, #global> to {ROWS}
"""
    return block(f"{arguments}, %m: i32, %n: i32, %s: i32", view + body, grid)


FILL_REGION = f"""
    %one = arith.constant 1.0 : f32
    %r = tile.region %A[0, 0] [4, 8] : {ROWS} to !tile.region<4x8xf32, #global>
    tile.fill %r, %one : !tile.region<4x8xf32, #global>, f32
"""


def test_what_is_between_rows_stays() -> None:
    p = np.zeros(40, np.float32)
    run(viewed(FILL_REGION), p, 3, 5, 10)
    expected = np.zeros((4, 10), np.float32)
    expected[:3, :5] = 1
    assert np.array_equal(p.reshape(4, 10), expected)


@pytest.mark.parametrize(("stride", "reads"), [(0, [0, 1, 0, 1]), (1, [0, 1, 1, 2])])
def test_rows_may_overlap(stride: int, reads: list[int]) -> None:
    text = viewed(
        f"""
    %f = tile.alloc "f" : memref<2x2xf32, #fragment>
    %r = tile.region %A[0, 0] [2, 2] : {ROWS} to !tile.region<2x2xf32, #global>
    tile.copy %r -> %f : !tile.region<2x2xf32, #global> -> memref<2x2xf32, #fragment>
    tile.copy %f -> %q : memref<2x2xf32, #fragment> -> memref<2x2xf32, #global>
""",
        f"{VECTOR}, %q: memref<2x2xf32, #global>",
    )
    q = np.zeros((2, 2), np.float32)
    run(text, np.arange(4, dtype=np.float32), q, 2, 2, stride)
    assert q.reshape(-1).tolist() == reads


def test_elements_that_no_memory_backs_may_not_be_read() -> None:
    text = viewed(
        f"""
    tile.parallel (%i, %j) in (4, 8) {{
      %v = memref.load %A[%i, %j] : {ROWS}
      memref.store %v, %A[%i, %j] : {ROWS}
    }}
"""
    )
    run(text, np.zeros(38, np.float32), 4, 8, 10)  # the last element is 37
    with pytest.raises(TileFault) as fault:
        run(text, np.zeros(37, np.float32), 4, 8, 10)
    assert "read of p[3, 7], which is element 37 of the memory of p: it has 37" in str(fault.value)
    assert "the view has extents (4, 8) and strides (10, 1), and starts at element 0" in str(
        fault.value
    )


def test_elements_that_no_memory_backs_may_not_be_written() -> None:
    with pytest.raises(TileFault, match=r"write to p\[3, 7\], which is element 37 of the memory"):
        run(viewed(FILL_REGION), np.zeros(37, np.float32), 4, 8, 10)


def test_a_view_may_be_larger_than_what_is_accessed_of_it() -> None:
    """Also by iterations that take no part, and where the view starts past the end."""
    text = block(
        f"{VECTOR}, %q: memref<8xf32, #global>, %n: i32",
        """
    %c8 = arith.constant 8 : index
    %c1000 = arith.constant 1000 : index
    %zero = arith.constant 0.0 : f32
    %ni = arith.index_cast %n : i32 to index
    %off = arith.muli %bx, %c1000 : index
    %pp = tile.ptr_of r %p[%off] : memref<?xf32, #global>
    %A = tile.view %pp sizes(%c1000) : !tile.ptr<f32, #global> to memref<?xf32, #global>
    tile.parallel (%i) in (8) {
      %j = arith.addi %off, %i : index
      %in = arith.cmpi slt, %j, %ni : index
      %w = scf.if %in -> (f32) {
        %v = memref.load %A[%i] : memref<?xf32, #global>
        memref.store %v, %q[%i] : memref<8xf32, #global>
        scf.yield %v : f32
      } else {
        scf.yield %zero : f32
      }
    }
""",
        grid="2",
    )
    q = np.full(8, -1, np.float32)
    run(text, np.arange(5, dtype=np.float32), q, 5)
    assert q.tolist() == [0, 1, 2, 3, 4, -1, -1, -1]


def test_a_view_starts_before_its_memory_if_nothing_there_is_read() -> None:
    text = block(
        f"{VECTOR}, %q: memref<8xf32, #global>, %o: i32",
        """
    %oi = arith.index_cast %o : i32 to index
    %c3 = arith.constant 3 : index
    %c20 = arith.constant 20 : index
    %pp = tile.ptr_of r %p[%oi] : memref<?xf32, #global>
    %A = tile.view %pp sizes(%c20) : !tile.ptr<f32, #global> to memref<?xf32, #global>
    %v = memref.load %A[%c3] : memref<?xf32, #global>
    memref.store %v, %q[%c3] : memref<8xf32, #global>
""",
    )
    q = np.zeros(8, np.float32)
    run(text, np.arange(9, dtype=np.float32), q, -2)
    assert q[3] == 1
    with pytest.raises(TileFault, match=r"read of p\[3\], which is element -1 of the memory of p"):
        run(text, np.arange(9, dtype=np.float32), q, -4)


def test_blocks_that_write_one_element_through_two_views_race() -> None:
    text = block(
        VECTOR,
        """
    %c5 = arith.constant 5 : index
    %one = arith.constant 1.0 : f32
    %off = arith.muli %bx, %c5 : index
    %pp = tile.ptr_of rw %p[%off] : memref<?xf32, #global>
    %A = tile.view %pp : !tile.ptr<f32, #global> to memref<2x3xf32, strided<[3, 1]>, #global>
    tile.fill %A, %one : memref<2x3xf32, strided<[3, 1]>, #global>, f32
""",
        grid="2",
    )
    with pytest.raises(TileFault, match=r"data race between blocks: block \(1, 0, 0\) writes p"):
        run(text, np.zeros(11, np.float32))
    p = np.zeros(12, np.float32)
    run(text.replace("constant 5", "constant 6"), p)
    assert (p == 1).all()


def test_uninitialised_elements_are_found_through_a_view() -> None:
    text = viewed(
        f"""
    %f = tile.alloc "f" : memref<2x4xf32, #fragment>
    %r = tile.region %A[0, 0] [2, 4] : {ROWS} to !tile.region<2x4xf32, #global>
    tile.copy %r -> %f : !tile.region<2x4xf32, #global> -> memref<2x4xf32, #fragment>
    tile.copy %f -> %q : memref<2x4xf32, #fragment> -> memref<2x4xf32, #global>
""",
        f"{VECTOR}, %q: memref<2x4xf32, #global>",
    )
    q = np.zeros((2, 4), np.float32)
    with pytest.raises(TileFault, match=r"read of uninitialised"):
        run(text, np.zeros(20, np.float32), q, 2, 4, 10, fresh=(0,))


def test_a_strided_argument_is_viewed_with_its_gaps() -> None:
    text = block(
        '%p: memref<4x6xf32, strided<[8, 1]>, #global> {tile.name = "p"}, %q: memref<30xf32, #global>',
        """
    %v = tile.view %p : memref<4x6xf32, strided<[8, 1]>, #global>
      to memref<5x6xf32, #global>
    %w = tile.view %q : memref<30xf32, #global> to memref<5x6xf32, #global>
    tile.copy %v -> %w : memref<5x6xf32, #global> -> memref<5x6xf32, #global>
""",
    )
    memory, q = np.arange(32, dtype=np.float32), np.zeros(30, np.float32)
    run(text, memory.reshape(4, 8)[:, :6], q)
    assert np.array_equal(q, memory[:30])


def test_a_view_of_small_floats_has_strides() -> None:
    type = "memref<2x2xf8E5M2, strided<[3, 1]>, #global>"
    text = block(
        "%p: memref<5xf8E5M2, #global>, %q: memref<2x2xf8E5M2, #global>",
        f"""
    %v = tile.view %p : memref<5xf8E5M2, #global> to {type}
    tile.copy %v -> %q : {type} -> memref<2x2xf8E5M2, #global>
""",
    )
    p = np.arange(5).astype(ml_dtypes.float8_e5m2)
    q = np.zeros((2, 2), ml_dtypes.float8_e5m2)
    run(text, p, q)
    assert q.astype(np.float32).tolist() == [[0, 1], [3, 4]]


def test_iterations_cannot_have_views_of_their_own() -> None:
    text = block(
        VECTOR,
        """
    %c1 = arith.constant 1 : index
    tile.parallel (%i) in (4) {
      %pp = tile.ptr_of rw %p[%i] : memref<?xf32, #global>
      %A = tile.view %pp sizes(%c1) : !tile.ptr<f32, #global> to memref<?xf32, #global>
      %v = memref.load %A[%i] : memref<?xf32, #global>
      memref.store %v, %A[%i] : memref<?xf32, #global>
    }
""",
    )
    with pytest.raises(Unsupported, match="the address of a view differs between iterations"):
        compiled(text)


def test_a_raw_address_is_refused() -> None:
    text = block(
        "%p: !tile.ptr<f32, #global>",
        "    %A = tile.view %p : !tile.ptr<f32, #global> to memref<4xf32, #global>",
    )
    with pytest.raises(Unsupported, match="a kernel argument cannot have type"):
        compiled(text)


def test_all_schedules_see_one_memory() -> None:
    kernel = compiled(viewed(FILL_REGION))
    p = np.zeros(40, np.float32)
    kernel.launch([Buffer("p", p), 3, 5, 10], TileOptions(schedules=2))
    assert p.sum() == 15
