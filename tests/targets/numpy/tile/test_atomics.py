"""Atomic updates and reducers: of elements, by iterations, of regions."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import DTYPES, block, random, run
from tilewright.targets.numpy.tile import TileFault

COMBINE: dict[str, Any] = {
    "add": lambda old, new: old + new,
    "max": np.maximum,
    "min": np.minimum,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "exch": lambda old, new: new,
}


@pytest.mark.parametrize("kind", sorted(COMBINE))
@pytest.mark.parametrize("dtype", ["i32", "f32", "f16", "bf16"])
@pytest.mark.parametrize("returns", [False, True])
def test_many_iterations_update_few_elements(kind: str, dtype: str, returns: bool) -> None:
    if kind in ("and", "or", "xor") and dtype != "i32":
        return
    result = f"-> {dtype}" if returns else ""
    name = "%p = " if returns else ""
    keep = f"memref.store %p, %P[%i] : memref<24x{dtype}, #global>" if returns else ""
    text = block(
        f"%A: memref<24x{dtype}, #global>, %B: memref<5x{dtype}, #global>, %P: memref<24x{dtype}, #global>",
        f"""
    %c5 = arith.constant 5 : index
    tile.parallel (%i) in (24) {{
      %a = memref.load %A[%i] : memref<24x{dtype}, #global>
      %k = arith.remui %i, %c5 : index
      {name}tile.atomic {kind} %B[%k], %a : memref<5x{dtype}, #global>, {dtype} {result}
      {keep}
    }}
""",
    )
    a, b = random((24,), dtype, 1), random((5,), dtype, 2)
    p = np.zeros(24, DTYPES[dtype])
    expected, before = b.copy(), p.copy()
    for i in range(24):
        before[i] = expected[i % 5]
        expected[i % 5] = COMBINE[kind](expected[i % 5], a[i])
    run(text, a, b, p)
    assert np.array_equal(b, expected)
    if returns:
        assert np.array_equal(p, before)


def test_unsigned_extremes() -> None:
    text = block(
        '%A: memref<2xi32, #global> {tile.dtype = "uint32"}',
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = arith.constant -5 : i32
    tile.atomic max %A[%c0], %v : memref<2xi32, #global>, i32
    tile.atomic min %A[%c1], %v : memref<2xi32, #global>, i32
""",
    )
    a = np.array([7, 7], np.uint32)
    run(text, a)
    assert a.tolist() == [2**32 - 5, 7]


def test_masked_and_out_of_range_updates_do_not_happen() -> None:
    text = block(
        "%B: memref<4xi32, #global>",
        """
    %one = arith.constant 1 : i32
    %c2 = arith.constant 2 : index
    tile.parallel (%i) in (8) {
      %c = arith.cmpi uge, %i, %c2 : index
      scf.if %c {
        tile.atomic add %B[%i], %one : memref<4xi32, #global>, i32
      }
    }
""",
    )
    b = np.zeros(4, np.int32)
    run(text, b)
    assert b.tolist() == [0, 0, 1, 1]


def test_out_of_range_in_shared_memory() -> None:
    text = block(
        "%B: memref<4xi32, #global>",
        """
    %one = arith.constant 1 : i32
    %s = tile.alloc "s" : memref<4xi32, #shared>
    tile.fill %s, %one : memref<4xi32, #shared>, i32
    tile.parallel (%i) in (8) {
      tile.atomic add %s[%i], %one : memref<4xi32, #shared>, i32
    }
""",
    )
    with pytest.raises(TileFault, match=r"atomic update out of bounds: s\[4\]"):
        run(text, np.zeros(4, np.int32))


def test_load_and_store() -> None:
    text = block(
        "%A: memref<3xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %nine = arith.constant 9 : i32
    %x = tile.atomic load %A[%c0] {memory_order = "acquire"} : memref<3xi32, #global> -> i32
    tile.atomic store %A[%c1], %x {memory_order = "release"} : memref<3xi32, #global>, i32
    tile.atomic store %A[%c0], %nine : memref<3xi32, #global>, i32
""",
    )
    a = np.array([4, 5, 6], np.int32)
    run(text, a)
    assert a.tolist() == [9, 4, 6]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_regions_of_several_blocks_add_up(dtype: str) -> None:
    """Split-K: every block adds its part, the last tile is ragged."""
    text = block(
        f"%A: memref<3x6x5xf32, #global>, %C: memref<6x5x{dtype}, #global>",
        f"""
    %x = tile.alloc "x" : memref<8x8xf32, #fragment>
    %a = tile.region %A[%bx, 0, 0] [1, 8, 8] : memref<3x6x5xf32, #global> to !tile.region<1x8x8xf32, #global>
    tile.copy %a -> %x : !tile.region<1x8x8xf32, #global> -> memref<8x8xf32, #fragment>
    %c = tile.region %C[0, 0] [8, 8] : memref<6x5x{dtype}, #global> to !tile.region<8x8x{dtype}, #global>
    tile.atomic add %c, %x : !tile.region<8x8x{dtype}, #global>, memref<8x8xf32, #fragment>
""",
        grid="3",
    )
    a = random((3, 6, 5), "f32", 3)
    c = np.zeros((6, 5), DTYPES[dtype])
    run(text, a, c)
    assert np.array_equal(c.astype(np.float32), a.sum(0))


def test_one_value_for_a_region() -> None:
    text = block(
        "%C: memref<2x3xf32, #global>",
        """
    %v = arith.constant 1.5 : f32
    tile.atomic add %C, %v : memref<2x3xf32, #global>, f32
""",
        grid="4",
    )
    c = np.ones((2, 3), np.float32)
    run(text, c)
    assert (c == 7).all()


# Reducers.


@pytest.mark.parametrize(
    ("op", "arith"), [("sum", "addf"), ("max", "maximumf"), ("min", "minimumf")]
)
def test_reducer(op: str, arith: str) -> None:
    text = block(
        "%A: memref<6x40xf32, #global>, %B: memref<6xf32, #global>",
        f"""
    %zero = arith.constant 0.0 : f32
    %r = tile.reducer.alloc "r" {op} replication(all) : memref<6xf32, #fragment>
    %d = tile.alloc "d" : memref<6xf32, #fragment>
    tile.fill %r, %zero : memref<6xf32, #fragment>, f32
    tile.parallel (%i, %j) in (6, 40) {{
      %a = memref.load %A[%i, %j] : memref<6x40xf32, #global>
      %o = memref.load %r[%i] : memref<6xf32, #fragment>
      %n = arith.{arith} %o, %a : f32
      memref.store %n, %r[%i] : memref<6xf32, #fragment>
    }}
    tile.reducer.finalize %r -> %d : memref<6xf32, #fragment> -> memref<6xf32, #fragment>
    tile.copy %d -> %B : memref<6xf32, #fragment> -> memref<6xf32, #global>
""",
    )
    a, b = random((6, 40), "f32", 8), np.ones(6, np.float32)
    run(text, a, b)
    if op == "sum":
        expected = a.sum(1)
    else:
        expected = getattr(a, op)(1)
        expected = np.maximum(expected, 0) if op == "max" else np.minimum(expected, 0)
    assert np.array_equal(b, expected)


def test_small_floats_add_in_single_precision_and_round() -> None:
    text = block(
        "%B: memref<1xbf16, #global>",
        """
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : bf16
    tile.parallel (%i) in (300) {
      tile.atomic add %B[%c0], %v : memref<1xbf16, #global>, bf16
    }
""",
    )
    b = np.zeros(1, ml_dtypes.bfloat16)
    run(text, b)
    assert float(b[0]) == 256  # 257 is no bf16 and rounds back


@pytest.mark.parametrize("returns", [False, True])
def test_updates_need_initialised_elements(returns: bool) -> None:
    """The old value counts, whether it is requested or not."""
    result, name = ("-> i32", "%p = ") if returns else ("", "")
    text = block(
        "%A: memref<4xi32, #global>",
        f"""
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %s = tile.alloc "s" : memref<4xi32, #shared>
    memref.store %one, %s[%c1] : memref<4xi32, #shared>
    tile.parallel (%i) in (3) {{
      %k = arith.addi %i, %c1 : index
      {name}tile.atomic add %s[%k], %one : memref<4xi32, #shared>, i32 {result}
    }}
""",
    )
    with pytest.raises(TileFault, match=r"read of uninitialised s\[2\]"):
        run(text, np.zeros(4, np.int32))
