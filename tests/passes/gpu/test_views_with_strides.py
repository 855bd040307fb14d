"""Views of memory with strides, and views at the address of an element, at every level."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.gpu.tile_text import at_all_levels, cuda_text, lowered, remarks
from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.tile.device import Address, plan
from tilewright.targets.host.read import host_steps

PADDED = """
func.func public @k(%p: memref<?xf32, #global>, %q: memref<?xf32, #global>,
                    %m: i32, %n: i32, %s: i32) attributes {tile.entry} {
  %mi = arith.index_cast %m : i32 to index
  %ni = arith.index_cast %n : i32 to index
  %si = arith.index_cast %s : i32 to index
  %A = tile.view %p sizes(%mi, %ni) strides(%si)
    : memref<?xf32, #global> to memref<?x?xf32, strided<[?, 1]>, #global>
  %B = tile.view %q sizes(%ni, %mi) strides(%si)
    : memref<?xf32, #global> to memref<?x?xf32, strided<[1, ?]>, #global>
  tile.kernel (%bx, %by) in (2, 2) threads(64) {
    %c16 = arith.constant 16 : index
    %x = arith.muli %bx, %c16 : index
    %y = arith.muli %by, %c16 : index
    %a = tile.alloc "a" : memref<16x16xf32, #shared>
    %t = tile.alloc "t" : memref<16x16xf32, #fragment>
    %ra = tile.region %A[%x, %y] [16, 16]
      : memref<?x?xf32, strided<[?, 1]>, #global> to !tile.region<16x16xf32, #global>
    tile.copy %ra -> %a : !tile.region<16x16xf32, #global> -> memref<16x16xf32, #shared>
    tile.parallel (%i, %j) in (16, 16) {
      %v = memref.load %a[%j, %i] : memref<16x16xf32, #shared>
      memref.store %v, %t[%i, %j] : memref<16x16xf32, #fragment>
    }
    %rb = tile.region %B[%y, %x] [16, 16]
      : memref<?x?xf32, strided<[1, ?]>, #global> to !tile.region<16x16xf32, #global>
    tile.copy %t -> %rb : memref<16x16xf32, #fragment> -> !tile.region<16x16xf32, #global>
  }
  func.return
}
"""


@pytest.mark.parametrize(("rows", "columns", "stride"), [(13, 29, 37), (32, 32, 32), (1, 1, 1)])
def test_a_padded_matrix_is_copied_within_its_rows(rows: int, columns: int, stride: int) -> None:
    memory = np.arange(rows * stride, dtype=np.float32) + 1
    memory = memory[: (rows - 1) * stride + columns]  # the last row has no padding
    out = np.full(memory.size, -1, np.float32)
    _, found = at_all_levels(PADDED, memory, out, rows, columns, stride, compiles=rows == 1)
    expected = np.full(rows * stride, -1, np.float32)
    for row in range(rows):
        start = row * stride
        expected[start : start + columns] = memory[start : start + columns]
    np.testing.assert_array_equal(found, expected[: found.size])


LOCAL = """
func.func public @k(%p: memref<?xf32, #global>, %q: memref<?xf32, #global>,
                    %starts: memref<3xi32, #global>, %n: i32) attributes {tile.entry} {
  %ni = arith.index_cast %n : i32 to index
  tile.kernel (%bx) in (3) threads(64) {
    %c100 = arith.constant 100 : index
    %start = memref.load %starts[%bx] : memref<3xi32, #global>
    %at = arith.index_cast %start : i32 to index
    %from = tile.ptr_of r %p[%at] : memref<?xf32, #global>
    %A = tile.view %from sizes(%ni) : !tile.ptr<f32, #global> to memref<?xf32, #global>
    %off = arith.muli %bx, %c100 : index
    %to = tile.ptr_of rw %q[%off] : memref<?xf32, #global>
    %B = tile.view %to sizes(%ni) strides(%c2)
      : !tile.ptr<f32, #global> to memref<?xf32, strided<[?]>, #global>
    tile.parallel (%i) in (64) {
      %v = memref.load %A[%i] : memref<?xf32, #global>
      memref.store %v, %B[%i] : memref<?xf32, strided<[?]>, #global>
    }
  }
  func.return
}
""".replace("%c100 = ", "%c2 = arith.constant 2 : index\n    %c100 = ")


def test_a_view_at_an_address_that_a_block_reads() -> None:
    memory = np.arange(200, dtype=np.float32)
    out = np.full(300, -1, np.float32)
    starts = np.array([7, 100, 31], np.int32)
    _, found, _ = at_all_levels(LOCAL, memory, out, starts, 45, compiles=True)
    expected = np.full(300, -1, np.float32)
    for block, start in enumerate(starts):
        expected[100 * block : 100 * block + 90 : 2] = memory[start : start + 45]
    np.testing.assert_array_equal(found, expected)


def test_extents_of_a_view_in_a_kernel_are_its_operands() -> None:
    text = cuda_text(LOCAL)
    assert "ni" in text.partition("{")[0]
    assert "< ni" in text


ORIGIN = """
func.func public @k(%p: memref<?xf32, #global>, %q: memref<512xf32, #global>,
                    %o: i32) attributes {tile.entry} {
  %oi = arith.index_cast %o : i32 to index
  %pp = tile.ptr_of r %p[%oi] : memref<?xf32, #global>
  %A = tile.view %pp : !tile.ptr<f32, #global> to memref<16x32xf32, #global>
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x32xf32, #space>
    tile.copy %A -> %a : memref<16x32xf32, #global> -> memref<16x32xf32, #space>
    %r = tile.view %q : memref<512xf32, #global> to memref<16x32xf32, #global>
    tile.copy %a -> %r : memref<16x32xf32, #space> -> memref<16x32xf32, #global>
  }
  func.return
}
"""


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("origin", [0, 3, 16])
def test_a_view_that_the_host_makes_at_an_address(space: str, origin: int) -> None:
    memory, out = np.arange(600, dtype=np.float32), np.full(512, -1, np.float32)
    _, found = at_all_levels(ORIGIN.replace("#space", f"#{space}"), memory, out, origin)
    np.testing.assert_array_equal(found, memory[origin : origin + 512])


def test_accesses_to_a_view_at_an_unknown_address_are_narrow() -> None:
    (message,) = remarks(ORIGIN.replace("#space", "#fragment"), "TW3010")
    assert message.startswith("access to A not fully vectorised: read 1 element (4 bytes)")
    assert message.endswith("the address of an element of p is not known to be a multiple of 16")


def test_the_host_passes_the_address_of_the_element() -> None:
    module = lowered(ORIGIN.replace("#space", "#fragment"))[0]
    hosts = [
        op
        for op in module.body.ops
        if isinstance(op, FuncOp) and simt_names.KERNEL not in op.attributes
    ]
    arrays = [DeviceArray(4096, "f32", (size,), (1,), 4, 0, None) for size in (600, 512)]
    (launch,) = plan(host_steps(hosts[0]), [*arrays, 5]).launches
    assert Address(0, (16, 32), (32, 1), 20) in launch.arguments
