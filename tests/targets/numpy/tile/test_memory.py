"""Buffers: views, shared storage, elements outside of loops, and uninitialised memory."""

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import block, compiled, random, run
from tilewright.targets.numpy import Unsupported
from tilewright.targets.numpy.tile import TileFault


def test_reshape() -> None:
    text = block(
        "%A: memref<4x6xf32, #global>, %B: memref<8x3xf32, #global>",
        """
    %s = tile.alloc "s" : memref<4x6xf32, #shared>
    tile.copy %A -> %s : memref<4x6xf32, #global> -> memref<4x6xf32, #shared>
    %v = tile.view %s : memref<4x6xf32, #shared> to memref<8x3xf32, #shared>
    tile.copy %v -> %B : memref<8x3xf32, #shared> -> memref<8x3xf32, #global>
""",
    )
    a, b = random((4, 6), "f32"), np.zeros((8, 3), np.float32)
    run(text, a, b)
    assert np.array_equal(b, a.reshape(8, 3))


def test_view_of_another_type() -> None:
    text = block(
        "%A: memref<8xf32, #global>, %B: memref<32xi8, #global>, %C: memref<8xf32, #global>",
        """
    %c3 = arith.constant 3 : index
    %minus = arith.constant -65 : i8
    %s = tile.alloc "s" : memref<8xf32, #shared>
    tile.copy %A -> %s : memref<8xf32, #global> -> memref<8xf32, #shared>
    %v = tile.view %s : memref<8xf32, #shared> to memref<32xi8, #shared>
    tile.copy %v -> %B : memref<32xi8, #shared> -> memref<32xi8, #global>
    memref.store %minus, %v[%c3] : memref<32xi8, #shared>
    tile.copy %s -> %C : memref<8xf32, #shared> -> memref<8xf32, #global>
""",
    )
    a = np.full(8, 1, np.float32)
    b, c = np.zeros(32, np.int8), np.zeros(8, np.float32)
    run(text, a, b, c)
    assert np.array_equal(b, a.view(np.int8))
    # 0x3f800000 became 0xbf800000
    assert c.tolist() == [-1, 1, 1, 1, 1, 1, 1, 1]


def test_view_of_uninitialised_bytes() -> None:
    text = block(
        "%B: memref<8xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i8
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %v = tile.view %s : memref<8xf32, #shared> to memref<32xi8, #shared>
    memref.store %z, %v[%c0] : memref<32xi8, #shared>
    %x = memref.load %s[%c0] : memref<8xf32, #shared>
    memref.store %x, %B[%c0] : memref<8xf32, #global>
""",
    )
    with pytest.raises(TileFault, match=r"read of uninitialised s\[0\]"):
        run(text, np.zeros(8, np.float32))


def test_packed_pairs_through_a_view() -> None:
    """Two 16-bit elements in 32 bits, as dequantisation reads them."""
    text = block(
        "%A: memref<8xi32, #global>, %B: memref<16xbf16, #global>",
        """
    %s = tile.alloc "s" : memref<8xi32, #shared>
    tile.copy %A -> %s : memref<8xi32, #global> -> memref<8xi32, #shared>
    %v = tile.view %s : memref<8xi32, #shared> to memref<16xbf16, #shared>
    tile.copy %v -> %B : memref<16xbf16, #shared> -> memref<16xbf16, #global>
""",
    )
    halves = random((16,), "bf16", 3)
    b = np.zeros(16, ml_dtypes.bfloat16)
    run(text, halves.view(np.int32), b)
    assert np.array_equal(b, halves)


# Shared storage.

ALIASED = """
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %half = arith.constant 2.0 : f16
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    %p = tile.alloc "p" alias %spec offset 0 : memref<16xf32, #shared>
    %q = tile.alloc "q" alias %spec offset {offset} : memref<16xf16, #shared>
    tile.fill %p, %one : memref<16xf32, #shared>, f32
    tile.fill %q, %half : memref<16xf16, #shared>, f16
    tile.copy %q -> %B : memref<16xf16, #shared> -> memref<16xf16, #global>
    tile.copy %p -> %A : memref<16xf32, #shared> -> memref<16xf32, #global>
"""
ALIAS_ARGUMENTS = "%A: memref<16xf32, #global>, %B: memref<16xf16, #global>"


def test_buffers_that_do_not_overlap_in_storage() -> None:
    a, b = np.zeros(16, np.float32), np.zeros(16, np.float16)
    run(block(ALIAS_ARGUMENTS, ALIASED.replace("{offset}", "64")), a, b)
    assert (a == 1).all() and (b == 2).all()


def test_overwritten_by_a_buffer_of_the_same_storage() -> None:
    a, b = np.zeros(16, np.float32), np.zeros(16, np.float16)
    with pytest.raises(TileFault) as caught:
        run(block(ALIAS_ARGUMENTS, ALIASED.replace("{offset}", "48")), a, b)
    shown = str(caught.value)
    assert caught.value.kind == "uninitialised"
    assert "read of p[12], which q has overwritten" in shown
    assert "4 of 16 elements read do not have values of p" in shown
    assert "p and q share these bytes: read p before q is written" in shown
    assert (b == 2).all()


def test_aliasing_is_real_without_checks() -> None:
    a, b = np.zeros(16, np.float32), np.zeros(16, np.float16)
    run(block(ALIAS_ARGUMENTS, ALIASED.replace("{offset}", "0")), a, b, checked=False)
    halves = np.full(16, 2, np.float16)
    assert np.array_equal(a[:8], halves.view(np.float32))
    assert (a[8:] == 1).all()


def test_storage_is_fresh_in_every_block() -> None:
    text = block(
        "%A: memref<4xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    %p = tile.alloc "p" alias %spec offset 0 : memref<4xf32, #shared>
    %first = arith.cmpi eq, %bx, %c0 : index
    scf.if %first {
      tile.fill %p, %one : memref<4xf32, #shared>, f32
    }
    tile.copy %p -> %A : memref<4xf32, #shared> -> memref<4xf32, #global>
""",
        grid="2",
    )
    with pytest.raises(TileFault) as caught:
        run(text, np.zeros(4, np.float32))
    assert caught.value.program == (1, 0, 0)
    assert "block (1, 0, 0)" in str(caught.value)


# Elements.


def test_element_by_element_in_a_serial_loop() -> None:
    text = block(
        "%A: memref<6xi32, #global>, %B: memref<1xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %zero = arith.constant 0 : i32
    %v = tile.alloc "v" : memref<1xi32, #var>
    memref.store %zero, %v[%c0] : memref<1xi32, #var>
    scf.for %k = %c0 to %c6 step %c1 {
      %a = memref.load %A[%k] : memref<6xi32, #global>
      %o = memref.load %v[%c0] : memref<1xi32, #var>
      %big = arith.cmpi sgt, %a, %o : i32
      scf.if %big {
        memref.store %a, %v[%c0] : memref<1xi32, #var>
      }
    }
    %r = memref.load %v[%c0] : memref<1xi32, #var>
    memref.store %r, %B[%c0] : memref<1xi32, #global>
""",
    )
    a, b = np.array([3, -1, 9, 4, 9, 0], np.int32), np.zeros(1, np.int32)
    run(text, a, b)
    assert b[0] == 9


def test_constant_index_below_zero_is_outside() -> None:
    """The language counts `A[-1]` from the end while it is traced; here it is no element."""
    text = block(
        "%A: memref<?xf32, #global>, %B: memref<2xf32, #global>",
        """
    %last = arith.constant -1 : index
    %c0 = arith.constant 0 : index
    %a = memref.load %A[%last] : memref<?xf32, #global>
    memref.store %a, %B[%last] : memref<2xf32, #global>
    memref.store %a, %B[%c0] : memref<2xf32, #global>
""",
    )
    b = np.full(2, 7, np.float32)
    run(text, np.arange(1, 6, dtype=np.float32), b)
    assert b.tolist() == [0, 7]


def test_out_of_bounds_element_of_shared_memory() -> None:
    text = block(
        "%A: memref<4xf32, #global>",
        """
    %c4 = arith.constant 4 : index
    %i = arith.addi %bx, %c4 : index
    %s = tile.alloc "s" : memref<2x4xf32, #shared>
    %a = memref.load %s[%bx, %i] : memref<2x4xf32, #shared>
    memref.store %a, %A[%bx] : memref<4xf32, #global>
""",
    )
    with pytest.raises(TileFault, match=r"read out of bounds: s\[0, 4\], but axis 1 of s has 4"):
        run(text, np.zeros(4, np.float32))


def test_output_that_is_read_before_it_is_written() -> None:
    text = block(
        '%A: memref<4xf32, #global> {tile.name = "A"}, %B: memref<4xf32, #global> {tile.name = "B"}',
        """
    %s = tile.alloc "s" : memref<4xf32, #shared>
    tile.copy %A -> %s : memref<4xf32, #global> -> memref<4xf32, #shared>
    tile.copy %s -> %B : memref<4xf32, #shared> -> memref<4xf32, #global>
    tile.copy %B -> %s : memref<4xf32, #global> -> memref<4xf32, #shared>
""",
    )
    a, b = np.ones(4, np.float32), np.zeros(4, np.float32)
    run(text, a, b, fresh=(1,))
    assert (b == 1).all()
    with pytest.raises(TileFault, match=r"read of uninitialised A\[0\]"):
        run(text, a, b, fresh=(0,))


def test_nothing_copied_is_reported_at_once_and_parts_later() -> None:
    """A copy forwards what is defined; only a source without anything is wrong for sure."""
    body = """
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %f = tile.alloc "f" : memref<8xf32, #fragment>
    {fill}
    tile.copy %s -> %f : memref<8xf32, #shared> -> memref<8xf32, #fragment>
    %g = tile.region %f[0] [4] : memref<8xf32, #fragment> to !tile.region<4xf32, #fragment>
    %b = tile.region %B[0] [4] : memref<8xf32, #global> to !tile.region<4xf32, #global>
    tile.copy %g -> %b : !tile.region<4xf32, #fragment> -> !tile.region<4xf32, #global>
    {rest}
"""
    fill = """
    %r = tile.region %s[0] [4] : memref<8xf32, #shared> to !tile.region<4xf32, #shared>
    tile.fill %r, %one : !tile.region<4xf32, #shared>, f32"""
    rest = "tile.copy %f -> %B : memref<8xf32, #fragment> -> memref<8xf32, #global>"
    arguments = "%B: memref<8xf32, #global>"

    def text(fill: str, rest: str) -> str:
        return block(arguments, body.replace("{fill}", fill).replace("{rest}", rest))

    b = np.zeros(8, np.float32)
    run(text(fill, ""), b)
    assert b.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    with pytest.raises(TileFault, match=r"read of uninitialised f\[4\]"):
        run(text(fill, rest), b)
    with pytest.raises(TileFault, match=r"read of uninitialised s\[0\]"):
        run(text("", ""), b)
    run(text("", ""), b, checked=False)
    run(text("", ""), b, check_uninitialised=False)


def test_arguments_are_checked() -> None:
    text = block(
        "%A: memref<4xf32, #global>, %n: i32", "    %s = tile.alloc : memref<4xf32, #shared>"
    )
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        compiled(text).launch([np.int32(1)])
    with pytest.raises(TypeError, match="1 dimensions, got 2"):
        run(text, np.zeros((2, 2), np.float32), 1)
    with pytest.raises(TypeError, match="has element type float32, got float64"):
        run(text, np.zeros(4, np.float64), 1)
    with pytest.raises(TypeError, match="n must be a scalar"):
        run(text, np.zeros(4, np.float32), np.zeros(4, np.float32))
    run(text, None, 1)


def test_foreign_code_is_not_run() -> None:
    text = block(
        "%A: memref<4xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %a = memref.load %A[%c0] : memref<4xf32, #global>
    %b = tile.extern "twice"(%a) : (f32) -> f32
    memref.store %b, %A[%c0] : memref<4xf32, #global>
""",
    )
    with pytest.raises(
        Unsupported, match="'twice' is CUDA source, which the NumPy target cannot run"
    ):
        compiled(text)


def test_workspace_is_shared_by_all_blocks_and_kernels() -> None:
    text = """
func.func @main(%A: memref<4xf32, #global>) attributes {tile.entry} {
  %one = arith.constant 1.0 : f32
  %w = tile.alloc "w" : memref<4xf32, #global>
  tile.kernel (%b) in (4) threads(32) {
    memref.store %one, %w[%b] : memref<4xf32, #global>
  }
  tile.kernel (%b) in (1) threads(32) {
    tile.copy %w -> %A : memref<4xf32, #global> -> memref<4xf32, #global>
  }
  func.return
}
"""
    a = np.zeros(4, np.float32)
    run(text, a)
    assert (a == 1).all()
    with pytest.raises(TileFault, match=r"read of uninitialised w\[3\]"):
        run(text.replace("in (4)", "in (3)"), a)


def test_view_of_an_array_with_gaps() -> None:
    text = block(
        '%A: memref<4x4xf32, #global> {tile.name = "A"}, %B: memref<16xf32, #global>',
        """
    %v = tile.view %A : memref<4x4xf32, #global> to memref<16xf32, #global>
    tile.copy %v -> %B : memref<16xf32, #global> -> memref<16xf32, #global>
""",
    )
    a, b = random((4, 8), "f32"), np.zeros(16, np.float32)
    run(text, a[:, :4].copy(), b)
    assert np.array_equal(b, a[:, :4].reshape(-1))
    with pytest.raises(TileFault, match="pass a contiguous array for A"):
        run(text, a[:, :4], b)


def test_other_checks_go_on_without_that_of_uninitialised_reads() -> None:
    text = block(
        "%A: memref<4xf32, #global>",
        """
    %c4 = arith.constant 4 : index
    %s = tile.alloc "s" : memref<4xf32, #shared>
    %k = arith.addi %bx, %c4 : index
    %x = memref.load %s[%bx] : memref<4xf32, #shared>
    memref.store %x, %A[%bx] : memref<4xf32, #global>
    %y = memref.load %s[%k] : memref<4xf32, #shared>
    memref.store %y, %A[%bx] : memref<4xf32, #global>
""",
    )
    with pytest.raises(TileFault, match="read out of bounds"):
        run(text, np.zeros(4, np.float32), check_uninitialised=False)
