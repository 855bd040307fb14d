"""TMA is chosen by the view that a copy names, not by the tensor that is viewed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.gpu.tile_text import at_all_levels, by_threads, cuda_text, remarks

COPY = """
func.func public @k(%p: memref<MEMORYxf16, #global>, %q: memref<?xf16, #global>, %N: i32)
    attributes {tile.entry} {
  %n = arith.index_cast %N : i32 to index
  HOST
  tile.kernel (%bx) in (1) threads(128) {
    DEVICE
    %c32 = arith.constant 32 : index
    %s = tile.alloc "s" : memref<32x64xf16, #shared>
    %f = tile.alloc "f" : memref<32x64xf16, #fragment>
    tile.pipeline %t = 0 to 2 num_stages(2) {
      %o = arith.muli %t, %c32 : index
      %r = tile.region %A[%o, 0] [32, 64] : TYPE to !tile.region<32x64xf16, #global>
      tile.copy %r -> %s : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
      tile.copy %s -> %f : memref<32x64xf16, #shared> -> memref<32x64xf16, #fragment>
      %B = tile.view %q sizes(%n) : memref<?xf16, #global> to memref<?x64xf16, #global>
      %w = tile.region %B[%o, 0] [32, 64] : memref<?x64xf16, #global> to !tile.region<32x64xf16, #global>
      tile.copy %f -> %w : memref<32x64xf16, #fragment> -> !tile.region<32x64xf16, #global>
    }
  }
  func.return
}
"""


def copy(type: str, view: str, memory: str = "?", *, in_kernel: bool = False) -> str:
    text = COPY.replace("MEMORY", memory).replace("TYPE", type)
    line = f"%A = tile.view {view} to {type}"
    return text.replace("HOST", "" if in_kernel else line).replace(
        "DEVICE", line if in_kernel else ""
    )


def strided(stride: int) -> str:
    type = f"memref<?x64xf16, strided<[{stride}, 1]>, #global>"
    return copy(type, "%p sizes(%n) : memref<?xf16, #global>")


@pytest.mark.parametrize(("stride", "uses_tma"), [(72, True), (173, False), (68, False)])
def test_a_view_is_judged_by_its_own_stride(stride: int, uses_tma: bool) -> None:
    text = strided(stride)
    assert ("tw::tma_load" in cuda_text(text)) == uses_tma
    if not uses_tma:
        (message,) = remarks(text, "TW4020")
        size = 2 * stride
        assert f"the stride of dimension 0 of A is {size} bytes, not a multiple of 16" in message
    memory = np.arange(45 * stride).astype(np.float16)
    _, found = at_all_levels(text, memory, np.zeros(45 * 64, np.float16), 45)
    expected = memory.reshape(45, stride)[:, :64]
    np.testing.assert_array_equal(found.reshape(45, 64), expected)


def test_a_view_that_a_kernel_could_leave_to_the_host_uses_tma() -> None:
    type = "memref<?x64xf16, strided<[72, 1]>, #global>"
    text = copy(type, "%p sizes(%n) : memref<?xf16, #global>", in_kernel=True)
    assert "tw::tma_load" in cuda_text(text)
    memory = np.arange(45 * 72).astype(np.float16)
    found = by_threads(text, memory, np.zeros(45 * 64, np.float16), 45)[1]
    np.testing.assert_array_equal(found.reshape(45, 64), memory.reshape(45, 72)[:, :64])


def test_a_view_that_depends_on_the_block_does_not() -> None:
    type = "memref<?x64xf16, #global>"
    text = copy(type, "%at sizes(%n) : !tile.ptr<f16, #global>", in_kernel=True)
    text = text.replace(
        "%A = tile.view", "%at = tile.ptr_of r %p[%bx] : memref<?xf16, #global>\n    %A = tile.view"
    )
    assert "tw::tma_load" not in cuda_text(text)
    (message,) = remarks(text, "TW4020")
    assert "A is a view that depends on what the kernel computes" in message


@pytest.mark.parametrize(("origin", "uses_tma"), [(8, True), (4, False)])
def test_a_view_is_judged_by_its_own_address(origin: int, uses_tma: bool) -> None:
    type = "memref<?x64xf16, #global>"
    text = copy(type, "%at sizes(%n) : !tile.ptr<f16, #global>")
    first = f"%first = arith.constant {origin} : index\n  "
    at = "%at = tile.ptr_of r %p[%first] : memref<?xf16, #global>\n  "
    text = text.replace("%A = tile.view", f"{first}{at}%A = tile.view")
    assert ("tw::tma_load" in cuda_text(text)) == uses_tma
    memory = np.arange(45 * 64 + origin).astype(np.float16)
    _, found = at_all_levels(text, memory, np.zeros(45 * 64, np.float16), 45)
    np.testing.assert_array_equal(found, memory[origin:])


def test_a_tensor_of_many_dimensions_is_copied_through_a_view_of_few() -> None:
    memory = "2x2x2x2x2x2x64"
    type = "memref<64x64xf16, #global>"
    text = copy(type, f"%p : memref<{memory}xf16, #global>", memory)
    assert "tw::tma_load" in cuda_text(text)
    a = np.arange(64 * 64).astype(np.float16)
    found = by_threads(text, a.reshape(2, 2, 2, 2, 2, 2, 64), np.zeros(64 * 64, np.float16), 64)
    np.testing.assert_array_equal(found[1], a)
