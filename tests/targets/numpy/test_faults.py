"""Messages of memory faults: the whole text, and the values in it."""

from __future__ import annotations

import numpy as np

from tests.targets.numpy.memory_support import expect, fails, memory_of, site


def block_load(size: int, lanes: int, programs: int, mask=(), **options):
    """Each program loads its block of x."""
    x = np.arange(size, dtype=np.float32)
    memory = memory_of(
        [site("load", "f4", (lanes,), masked=bool(mask))], x, grid=(programs, 1, 1), **options
    )
    pid = np.arange(programs)[:, None] * lanes * 4
    return fails(
        lambda: memory.load(0, (memory.address_of(0), pid, np.arange(lanes)[None] * 4), mask, None)
    )


def test_a_block_that_passes_the_end():
    fault = block_load(1000, 128, 8)
    expect(
        fault,
        """
        kernel.py:4:9: error[TW6101]: load out of bounds: x[1000], but x has 1000 elements
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (7, 0, 0), lane 104 of 128; 24 lanes of 1 program affected
          note: x is float32 with shape (1000,)
          note: the block extends 24 elements past the end of x: load with `mask=offsets < 1000`, where offsets are the offsets added to x
        """,
    )
    assert (fault.kind, fault.program, fault.lane, fault.index) == (
        "out of bounds",
        (7, 0, 0),
        104,
        (1000,),
    )
    assert (fault.argument, fault.lanes, fault.programs) == ("x", 24, 1)


def test_a_grid_that_is_too_large():
    expect(
        block_load(256, 128, 4),
        """
        kernel.py:4:9: error[TW6101]: load out of bounds: x[256], but x has 256 elements
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (2, 0, 0), lane 0 of 128; 256 lanes of 2 programs affected
          note: x is float32 with shape (256,)
          note: program 2 starts past the end: 2 of the 4 programs of the grid cover x; launch 2, or mask with `offsets < 256`
        """,
    )


def test_a_mask_that_lets_a_bad_lane_through():
    offsets = np.arange(2)[:, None] * 8 + np.arange(8)
    expect(
        block_load(10, 8, 2, (offsets < 12,)),
        """
        kernel.py:4:9: error[TW6101]: load out of bounds: x[10], but x has 10 elements
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (1, 0, 0), lane 2 of 8; 2 lanes of 1 program affected
          note: x is float32 with shape (10,)
          note: the mask is true for this lane: it must be false from element 10 of x on; check the size it compares with, and the strides passed
        """,
    )


def test_a_block_pointer_with_the_wrong_shape():
    """The op checks bounds, but it has no user-defined mask."""
    x = np.zeros(10, np.float32)
    memory = memory_of([site("load", "f4", (8,))], x, grid=(2, 1, 1))
    offsets = np.arange(2)[:, None] * 8 + np.arange(8)
    fault = fails(
        lambda: memory.load(0, (memory.address_of(0), offsets * 4), (offsets < 12,), None)
    )
    assert fault.diagnostic.notes[-1].message == (
        "the bounds check uses a shape other than that of x: keep the shape and strides of the "
        "block pointer or descriptor within 10 elements"
    )


def test_a_negative_offset():
    x = np.zeros(8, np.float32)
    memory = memory_of([site("load", "f4", (4,))], x)
    expect(
        fails(lambda: memory.load(0, (memory.address_of(0), np.arange(-2, 2)[None] * 4), (), None)),
        """
        kernel.py:4:9: error[TW6101]: load out of bounds: 2 elements before the first of x
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0), lane 0 of 4; 2 lanes of 1 program affected
          note: x is float32 with shape (8,)
          note: offsets are negative: mask these lanes, or check what is subtracted from x
        """,
    )


def test_rows_beyond_the_last_one():
    x = np.zeros((10, 6), np.float16)
    memory = memory_of([site("store", "f2", (4, 4))], x, grid=(2, 3, 1))
    pid = np.arange(6)
    rows = (pid // 2 * 4).reshape(-1, 1, 1) + np.arange(4).reshape(1, -1, 1)
    columns = (pid % 2 * 2).reshape(-1, 1, 1) + np.arange(4).reshape(1, 1, -1)
    address = (memory.address_of(0), rows * 12, columns * 2)
    fault = fails(lambda: memory.store(0, address, np.zeros((1, 1, 1), np.float16), ()))
    expect(
        fault,
        """
        kernel.py:4:9: error[TW6101]: store out of bounds: x[10, 0], but x has shape (10, 6)
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 2, 0), lane [2, 0] of 4x4; 16 lanes of 2 programs affected
          note: x is float16 with shape (10, 6)
          note: the block extends 10 elements past the end of x: store with a mask that is false where the index along axis 0 of x is 10 or more
        """,
    )
    assert fault.index == (10, 0)
    assert not x.any()


def test_an_address_of_another_argument():
    whole = np.arange(20, dtype=np.int32)
    memory = memory_of([site("load", "i4")], whole[:4], whole[8:])
    expect(
        fails(lambda: memory.load(0, (memory.address_of(0) + 40,), (), None)),
        """
        kernel.py:4:9: error[TW6101]: load out of bounds: x[10], but x has 4 elements
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0)
          note: x is int32 with shape (4,)
          note: the address is inside y, which is not part of x
          note: check the strides and offsets: they must stay below 4 elements
        """,
    )


def test_a_view_taken_for_contiguous():
    x = np.arange(32, dtype=np.float32).reshape(4, 8)[:, ::2]
    memory = memory_of([site("load", "f4", (16,))], x)
    fault = fails(lambda: memory.load(0, (memory.address_of(0), np.arange(16)[None] * 4), (), None))
    expect(
        fault,
        """
        kernel.py:4:9: error[TW6102]: load between the elements of x: 4 bytes after x[0, 0]
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0), lane 1 of 16; 8 lanes of 1 program affected
          note: x is float32 with shape (4, 4) and strides (8, 2) in elements: it is not contiguous
          note: pass the strides of x to the kernel and use them, or pass np.ascontiguousarray(x)
        """,
    )


def test_a_store_to_a_view_taken_for_contiguous_must_be_copied_back():
    x = np.zeros((4, 8), np.float32)[:, ::2]
    memory = memory_of([site("store", "f4", (16,))], x)
    address = (memory.address_of(0), np.arange(16)[None] * 4)
    fault = fails(lambda: memory.store(0, address, np.float32(1), ()))
    assert str(fault).endswith("or pass np.ascontiguousarray(x) and copy the result back")


def test_a_misaligned_address():
    memory = memory_of([site("load", "f4")], np.zeros(4, np.float32))
    expect(
        fails(lambda: memory.load(0, (memory.address_of(0) + 6,), (), None)),
        """
        kernel.py:4:9: error[TW6103]: misaligned load of float32: 2 bytes after x[1]; the address must be a multiple of 4 bytes
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0)
          note: x is float32 with shape (4,)
          note: help: make the byte offset from x a multiple of 4, the size of float32 (this access is at byte 6), or load bytes and combine them
        """,
    )


def test_an_unmapped_address():
    x = np.zeros(4, np.float32)
    memory = memory_of([site("load", "f4", (), None)], x)
    fault = fails(lambda: memory.load(0, (memory.address_of(0) + (1 << 40),), (), None))
    expect(
        fault,
        f"""
        kernel.py:4:9: error[TW6104]: load at an unmapped address: {x.ctypes.data + (1 << 40):#x} is in no array
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0)
          note: the nearest array below is x, which ends {(1 << 40) - 16} bytes earlier
          note: only arrays passed to the launch are mapped: pass arrays whose addresses are stored in memory as reachable=...
        """,
    )
    assert fault.argument is None


def test_a_null_pointer():
    memory = memory_of([site("load", "f4", (4,), None)], np.zeros(4, np.float32))
    expect(
        fails(lambda: memory.load(0, (np.int64(64), np.arange(4)[None] * 4), (), None)),
        """
        kernel.py:4:9: error[TW6105]: load through a null pointer
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0), lane 0 of 4; 4 lanes of 1 program affected
          note: an argument is None, or a pointer loaded from memory is zero: pass an array, or mask the access
        """,
    )


def test_a_read_only_array():
    x = np.arange(4, dtype=np.int32)
    x.flags.writeable = False
    sites = [
        site("store", "i4", (2,)),
        site("load", "i4", (2,)),
        site("atomic_rmw", "i4", (2,), rmw="add"),
    ]
    memory = memory_of(sites, x)
    address = (memory.address_of(0), np.array([[4, 8]]))
    assert memory.load(1, address, (), None).tolist() == [[1, 2]]
    expect(
        fails(lambda: memory.store(0, address, np.ones((1, 2), np.int32), ())),
        """
        kernel.py:4:9: error[TW6106]: store to x[1], but x is read-only
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0), lane 0 of 2; 2 lanes of 1 program affected
          note: x is int32 with shape (4,)
          note: pass a writable array, for example x.copy()
        """,
    )
    assert "atomic update to x[1]" in str(
        fails(lambda: memory.atomic_rmw(2, address, np.int32(1), ()))
    )
    assert x.tolist() == [0, 1, 2, 3]


def test_programs_are_named_in_three_dimensions():
    x = np.zeros(5, np.int32)
    memory = memory_of([site("load", "i4")], x, grid=(2, 3, 2))
    fault = fails(lambda: memory.load(0, (memory.address_of(0), np.arange(12) * 4), (), None))
    assert fault.program == (1, 2, 0)
    assert "note: program (1, 2, 0); 7 programs affected" in str(fault)


def test_masked_and_inactive_lanes_are_not_looked_at():
    x = np.zeros(4, np.int32)
    memory = memory_of([site("load", "i4", (4,))], x, grid=(3, 1, 1))
    address = (memory.address_of(0), np.arange(3)[:, None] * 16, np.arange(4)[None] * 4)
    memory.active = np.array([True, False, True])
    fault = fails(lambda: memory.load(0, address, (np.array([[True, True, False, True]]),), None))
    assert (fault.program, fault.lanes) == ((2, 0, 0), 3)
    memory.active = np.array([True, False, False])
    assert memory.load(0, address, (), None).shape == (3, 4)


def test_a_bad_lane_stops_the_whole_store():
    x, y = np.zeros(4, np.int32), np.zeros(4, np.int32)
    memory = memory_of([site("store", "i4", (3,), None)], x, y)
    here, there = memory.address_of(0), memory.address_of(1)
    fails(
        lambda: memory.store(
            0, (np.array([[here, there, there + 400000]]),), np.ones((1, 3), np.int32), ()
        )
    )
    assert not x.any()
    assert not y.any()


# Uninitialised memory.


def test_uninitialised_load():
    x = np.empty((2, 4), np.float32)
    sites = [site("store", "f4", (3,)), site("load", "f4", (4,)), site("load", "i2", (4,))]
    memory = memory_of(sites, x, initialised=False)
    base = memory.address_of(0)
    memory.store(0, (base, np.arange(3)[None] * 4), np.ones((1, 3), np.float32), ())
    four = np.arange(4)[None] * 4
    assert memory.load(1, (base, four), (four < 12,), None).tolist() == [[1, 1, 1, 0]]
    assert memory.load(2, (base, four), (four < 12,), None).shape == (1, 4)
    expect(
        fails(lambda: memory.load(1, (base, four), (), None)),
        """
        kernel.py:4:9: error[TW6107]: uninitialised load: x[0, 3] has not been written
          4 |     x = tl.load(x_ptr + offs)
            |         ^
          note: program (0, 0, 0), lane 3 of 4
          note: x is float32 with shape (2, 4)
          note: x was allocated without values: allocate it with zeros(...), or store to it first and mask the lanes that no store covers
        """,
    )
    assert fails(lambda: memory.load(2, (base, four), (), None)).lane == 3


def test_an_atomic_reads_too():
    memory = memory_of(
        [site("atomic_rmw", "i4", rmw="add")], np.empty(1, np.int32), initialised=False
    )
    fault = fails(lambda: memory.atomic_rmw(0, (memory.address_of(0),), np.int32(1), ()))
    assert fault.kind == "uninitialised"


def test_uninitialised_memory_may_be_read_without_the_check():
    memory = memory_of(
        [site("load", "i4")], np.empty(1, np.int32), initialised=False, check_uninitialised=False
    )
    assert memory.load(0, (memory.address_of(0),), (), None).dtype == np.int32


def test_a_batch_that_is_undone_has_not_written():
    x = np.empty(8, np.int32)
    sites = [site("store", "i4"), site("load", "i4", index=1)]
    memory = memory_of(sites, x, initialised=False, grid=(2, 1, 1))
    address = (memory.address_of(0), np.arange(2) * 4)
    memory.store(0, address, np.int32(1), ())
    assert memory.load(1, address, (), None).tolist() == [1, 1]
    assert memory.rollback()
    memory.begin(np.arange(2))
    assert fails(lambda: memory.load(1, address, (), None)).kind == "uninitialised"


# Elements that no program wrote.


def covered(size, lanes, programs, stored):
    out = np.empty(size, np.float32)
    memory = memory_of(
        [site("store", "f4", (lanes,))], out, grid=(programs, 1, 1), initialised=False
    )
    pid = np.arange(programs)[:, None] * lanes
    mask = (pid + np.arange(lanes) < stored,)
    memory.store(
        0, (memory.address_of(0), pid * 4, np.arange(lanes)[None] * 4), np.float32(1), mask
    )
    memory.close()
    return memory._report.warnings


def test_an_output_that_is_covered():
    assert covered(100, 32, 4, 100) == []


def test_a_grid_that_is_too_small():
    (warning,) = covered(100, 32, 3, 100)
    assert warning.message == "4 of 100 elements of x were never written, from x[96] on"
    assert [note.message for note in warning.notes] == [
        "x is float32 with shape (100,)",
        "the grid has 3 programs of 32 lanes each: launch 4, cdiv(100, 32)",
    ]
    assert warning.code == "TW6109"


def test_a_mask_that_leaves_out_too_much():
    (warning,) = covered(100, 32, 4, 90)
    assert warning.message == "10 of 100 elements of x were never written, from x[90] on"
    assert (
        warning.notes[-1].message == "check the grid, the mask of the store and the strides passed"
    )


def test_a_lane_keeps_its_index_where_the_mask_crops_the_block():
    lane = np.arange(4096)[None]
    fault = block_load(2500, 4096, 1, mask=((lane >= 100) & (lane < 3000),))
    assert (fault.lane, fault.index, fault.lanes) == (2500, (2500,), 500)
