"""Ops that move elements: copies that convert and cross borders, fills, transposes, im2col."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import DTYPES, block, random, run
from tilewright.targets.numpy.tile import TileFault


def _copies(source: str, target: str, via: str = "fragment") -> str:
    """A kernel that copies 8x16 elements through shared memory of the target's type."""
    return block(
        f'%A: memref<8x16x{source}, #global> {{tile.name = "A"}}, '
        f'%B: memref<8x16x{target}, #global> {{tile.name = "B"}}',
        f"""
    %x = tile.alloc "x" : memref<8x16x{target}, #{via}>
    tile.copy %A -> %x : memref<8x16x{source}, #global> -> memref<8x16x{target}, #{via}>
    tile.copy %x -> %B : memref<8x16x{target}, #{via}> -> memref<8x16x{target}, #global>
""",
    )


@pytest.mark.parametrize("source", ["f32", "f16", "bf16", "f64", "f8E4M3FN", "i8", "i32"])
@pytest.mark.parametrize("target", ["f32", "f16", "bf16", "f64", "f8E5M2", "i8", "i32"])
def test_copy_converts(source: str, target: str) -> None:
    a = random((8, 16), source, 3)
    b = np.ones((8, 16), DTYPES[target])
    run(_copies(source, target), a, b)
    wide = a.astype(np.float64)
    expected = (np.trunc(wide) if target.startswith("i") else wide).astype(DTYPES[target])
    assert np.array_equal(b.astype(np.float64), expected.astype(np.float64))


def test_copy_rounds_once_to_nearest_even() -> None:
    halfway = np.float32(1 + 2**-8)  # between two bf16, the lower one is even
    a = np.full((8, 16), halfway, np.float32)
    b = np.zeros((8, 16), ml_dtypes.bfloat16)
    run(_copies("f32", "bf16"), a, b)
    assert (b.astype(np.float32) == 1.0).all()
    # Through float32 this double would become a tie and round down.
    a = np.full((8, 16), 1 + 2**-8 + 2**-30, np.float64)
    run(_copies("f64", "bf16"), a, b)
    assert (b.astype(np.float32) == 1 + 2**-7).all()


def test_copy_saturates_in_eight_bits() -> None:
    a = np.full((8, 16), 1e6, np.float32)
    b = np.zeros((8, 16), ml_dtypes.float8_e4m3fn)
    run(_copies("f32", "f8E4M3FN"), a, b)
    assert (b.astype(np.float32) == 448.0).all()


def test_unsigned_bytes_widen_without_sign() -> None:
    text = block(
        '%A: memref<64xi8, #global> {tile.name = "A", tile.dtype = "uint8"}, '
        '%B: memref<64xi32, #global> {tile.name = "B"}, %C: memref<64xf32, #global>',
        """
    %x = tile.alloc "x" {dtype = "uint8"} : memref<64xi8, #shared>
    tile.copy %A -> %x : memref<64xi8, #global> -> memref<64xi8, #shared>
    tile.copy %x -> %B : memref<64xi8, #shared> -> memref<64xi32, #global>
    tile.copy %x -> %C : memref<64xi8, #shared> -> memref<64xf32, #global>
""",
    )
    a = np.arange(192, 256, dtype=np.uint8)
    b, c = np.zeros(64, np.int32), np.zeros(64, np.float32)
    run(text, a, b, c)
    assert np.array_equal(b, a.astype(np.int32))
    assert np.array_equal(c, a.astype(np.float32))


RAGGED = """
func.func @main(%A: memref<?x?xf32, #global> {tile.name = "A"}, %B: memref<?x?xf32, #global> {tile.name = "B"}) attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %A, %c0 : memref<?x?xf32, #global>
  %n = memref.dim %A, %c1 : memref<?x?xf32, #global>
  %gx = arith.ceildivui %n, %c8 : index
  %gy = arith.ceildivui %m, %c8 : index
  tile.kernel (%bx, %by) in (%gx, %gy) threads(128) {
    %x = arith.muli %bx, %c8 : index
    %y = arith.muli %by, %c8 : index
    %s = tile.alloc "s" : memref<8x8xf32, #shared>
    %a = tile.region %A[%y, %x] [8, 8] : memref<?x?xf32, #global> to !tile.region<8x8xf32, #global>
    tile.copy %a -> %s : !tile.region<8x8xf32, #global> -> memref<8x8xf32, #shared>
    %b = tile.region %B[%y, %x] [8, 8] : memref<?x?xf32, #global> to !tile.region<8x8xf32, #global>
    tile.copy %s -> %b : memref<8x8xf32, #shared> -> !tile.region<8x8xf32, #global>
  }
  func.return
}
"""


@pytest.mark.parametrize("shape", [(8, 8), (1, 1), (9, 7), (17, 31), (3, 40), (64, 1)])
def test_ragged_edges_are_guarded(shape: tuple[int, int]) -> None:
    a = random(shape, "f32", 5)
    around = np.full((shape[0] + 4, shape[1] + 4), np.float32(9))
    b = around[2:-2, 2:-2]
    report = run(RAGGED, a, b)
    assert report.programs == -(-shape[0] // 8) * -(-shape[1] // 8)
    assert np.array_equal(b, a)
    around[2:-2, 2:-2] = 9
    assert (around == 9).all()


def test_reads_outside_give_the_safe_value() -> None:
    text = block(
        '%A: memref<5xf32, #global> {tile.name = "A"}, %B: memref<12xf32, #global>',
        """
    %c = arith.constant -3 : index
    %k = arith.muli %c, %c : index
    %o = arith.constant 12 : index
    %l = arith.subi %k, %o : index
    %s = tile.alloc "s" : memref<12xf32, #shared>
    %a = tile.region %A[%l] [12] : memref<5xf32, #global> to !tile.region<12xf32, #global>
    tile.copy %a -> %s : !tile.region<12xf32, #global> -> memref<12xf32, #shared>
    tile.copy %s -> %B : memref<12xf32, #shared> -> memref<12xf32, #global>
""",
    )
    b = np.full(12, 7, np.float32)
    run(text, np.arange(1, 6, dtype=np.float32), b)
    assert b.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0]


def test_safe_value_of_an_argument() -> None:
    text = block(
        "%A: memref<5xf32, #global> {tile.safe_value = 2.5 : f32}, %B: memref<8xf32, #global>",
        """
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %a = tile.region %A[0] [8] : memref<5xf32, #global> to !tile.region<8xf32, #global>
    tile.copy %a -> %s : !tile.region<8xf32, #global> -> memref<8xf32, #shared>
    tile.parallel (%i) in (8) {
      %x = memref.load %s[%i] : memref<8xf32, #shared>
      %y = memref.load %A[%i] : memref<5xf32, #global>
      %z = arith.addf %x, %y : f32
      memref.store %z, %B[%i] : memref<8xf32, #global>
    }
""",
    )
    b = np.zeros(8, np.float32)
    run(text, np.arange(5, dtype=np.float32), b)
    assert b.tolist() == [0, 2, 4, 6, 8, 5, 5, 5]


def test_extents_of_one_are_left_out() -> None:
    text = block(
        '%Q: memref<2x16x3x8xf16, #global> {tile.name = "Q"}, %O: memref<16x8xf16, #global>',
        """
    %s = tile.alloc "s" : memref<16x8xf16, #shared>
    %q = tile.region %Q[1, 0, 2, 0] [1, 16, 1, 8] : memref<2x16x3x8xf16, #global> to !tile.region<1x16x1x8xf16, #global>
    tile.copy %q -> %s : !tile.region<1x16x1x8xf16, #global> -> memref<16x8xf16, #shared>
    tile.copy %s -> %O : memref<16x8xf16, #shared> -> memref<16x8xf16, #global>
""",
    )
    q, o = random((2, 16, 3, 8), "f16", 1), np.zeros((16, 8), np.float16)
    run(text, q, o)
    assert np.array_equal(o, q[1, :, 2, :])


def test_strided_arrays() -> None:
    text = _copies("f32", "f32", "shared")
    big = random((16, 64), "f32", 2)
    out = np.zeros((16, 32), np.float32)
    run(text, big[::2, ::4], out[::2, ::2])
    assert np.array_equal(out[::2, ::2], big[::2, ::4])
    assert (out[1::2] == 0).all()


def test_fill_of_a_region() -> None:
    text = block(
        "%B: memref<6x6xf16, #global>",
        """
    %two = arith.constant 2.0 : f16
    %one = arith.constant 1.0 : f16
    %s = tile.alloc "s" : memref<6x6xf16, #fragment>
    tile.fill %s, %two : memref<6x6xf16, #fragment>, f16
    %r = tile.region %s[1, 2] [3, 4] : memref<6x6xf16, #fragment> to !tile.region<3x4xf16, #fragment>
    tile.fill %r, %one : !tile.region<3x4xf16, #fragment>, f16
    tile.copy %s -> %B : memref<6x6xf16, #fragment> -> memref<6x6xf16, #global>
""",
    )
    b = np.zeros((6, 6), np.float16)
    run(text, b)
    expected = np.full((6, 6), 2, np.float16)
    expected[1:4, 2:6] = 1
    assert np.array_equal(b, expected)


def test_transpose() -> None:
    text = block(
        "%A: memref<8x5xf32, #global>, %B: memref<5x8xf32, #global>",
        """
    %s = tile.alloc "s" : memref<8x5xf32, #shared>
    %t = tile.alloc "t" : memref<5x8xf32, #shared>
    tile.copy %A -> %s : memref<8x5xf32, #global> -> memref<8x5xf32, #shared>
    tile.transpose %s -> %t : memref<8x5xf32, #shared> -> memref<5x8xf32, #shared>
    tile.copy %t -> %B : memref<5x8xf32, #shared> -> memref<5x8xf32, #global>
""",
    )
    a, b = random((8, 5), "f32"), np.zeros((5, 8), np.float32)
    run(text, a, b)
    assert np.array_equal(b, a.T)


def _im2col(image: Any, kernel: int, stride: int, dilation: int, pad: int) -> Any:
    n, h, w, c = image.shape
    padded = np.zeros((n, h + 2 * pad, w + 2 * pad, c), image.dtype)
    padded[:, pad : pad + h, pad : pad + w] = image
    out_h = (h + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    out_w = (w + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    rows = []
    for b in range(n):
        for y in range(out_h):
            for x in range(out_w):
                patch = [
                    padded[b, y * stride + ky * dilation, x * stride + kx * dilation]
                    for ky in range(kernel)
                    for kx in range(kernel)
                ]
                rows.append(np.concatenate(patch))
    return np.stack(rows)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "pad"),
    [(3, 1, 1, 1), (3, 2, 1, 1), (2, 1, 2, 0), (1, 1, 1, 0)],
)
def test_im2col(kernel: int, stride: int, dilation: int, pad: int) -> None:
    image = random((2, 6, 5, 4), "f32", 7)
    expected = _im2col(image, kernel, stride, dilation, pad)
    rows, columns = expected.shape
    text = block(
        f"%A: memref<2x6x5x4xf32, #global>, %B: memref<{rows}x{columns}xf32, #global>",
        f"""
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc "s" : memref<8x4xf32, #shared>
    tile.im2col %A -> %s at (%bx, %by) kernel {kernel} stride {stride} dilation {dilation} pad {pad} : memref<2x6x5x4xf32, #global> -> memref<8x4xf32, #shared>
    %y = arith.muli %bx, %c8 : index
    %x = arith.muli %by, %c4 : index
    %r = tile.region %B[%y, %x] [8, 4] : memref<{rows}x{columns}xf32, #global> to !tile.region<8x4xf32, #global>
    tile.copy %s -> %r : memref<8x4xf32, #shared> -> !tile.region<8x4xf32, #global>
""",
        grid=f"{-(-rows // 8)}, {columns // 4}",
    )
    b = np.full((rows, columns), 5, np.float32)
    run(text, image, b)
    assert np.array_equal(b, expected)


def test_region_that_leaves_shared_memory() -> None:
    text = block(
        "%A: memref<8xf32, #global>",
        """
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %c4 = arith.constant 4 : index
    %o = arith.addi %bx, %c4 : index
    %r = tile.region %s[%o] [6] : memref<8xf32, #shared> to !tile.region<6xf32, #shared>
    %a = tile.region %A[0] [6] : memref<8xf32, #global> to !tile.region<6xf32, #global>
    tile.copy %a -> %r : !tile.region<6xf32, #global> -> !tile.region<6xf32, #shared>
""",
    )
    with pytest.raises(TileFault) as caught:
        run(text, np.zeros(8, np.float32))
    assert caught.value.kind == "out of bounds"
    shown = str(caught.value)
    assert "region out of bounds: s[4:10], but axis 0 of s has 8 elements" in shown
    assert "end the region at 8, or make s larger (10 needed)" in shown
    assert "s is float32 with shape (8,) in shared memory" in shown


def test_read_only_array() -> None:
    a = np.zeros((8, 16), np.float32)
    a.flags.writeable = False
    with pytest.raises(TileFault, match="write to read-only buffer B"):
        run(_copies("f32", "f32"), np.ones((8, 16), np.float32), a)
