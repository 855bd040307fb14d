"""Tiles that one role writes and another reads after a named barrier of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.gpu.tile_text import at_all_levels, by_threads, cuda_text

KERNEL = """
func.func public @k(%A: memref<64x64xf16, #global>, %B: memref<64x64xf16, #global>,
    %C: memref<64x64xf16, #global>) attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<64x64xf16, #shared>
    %t = tile.alloc "t" : memref<64x64xf16, #shared>
    tile.ws
    role "writer" threads(0 to 128) {
      tile.parallel (%i, %j) in (64, 64) {
        %v = memref.load %A[%i, %j] : memref<64x64xf16, #global>
        %w = arith.addf %v, %v : f16
        memref.store %w, %s[%i, %j] : memref<64x64xf16, #shared>
      }
      BEFORE
      nv.bar MODE 3, 256
      AFTER
    }
    role "storer" threads(128 to 256) {
      nv.bar sync 3, 256
      tile.copy %SOURCE -> %B : memref<64x64xf16, #shared> -> memref<64x64xf16, #global>
    }
  }
  func.return
}
"""
REVERSED = """
      tile.parallel (%i, %j) in (64, 64) {
        %c63 = arith.constant 63 : index
        %ii = arith.subi %c63, %i : index
        %v = memref.load %s[%ii, %j] : memref<64x64xf16, #shared>
        memref.store %v, %TARGET[%i, %j] : memref<64x64xf16, #SPACE>
      }
"""
A = np.arange(4096).reshape(64, 64).astype(np.float16) / 8


def kernel(before: str = "", after: str = "", *, mode: str = "arrive", source: str = "s") -> str:
    text = KERNEL.replace("BEFORE", before).replace("AFTER", after)
    return text.replace("MODE", mode).replace("SOURCE", source)


def order_of(text: str, *names: str) -> list[str]:
    """The calls of some functions, in the order of the text."""
    lines = [line.strip() for line in cuda_text(text).splitlines()]
    return [line for line in lines if any(f"tw::{name}" in line for name in names)]


@pytest.mark.parametrize("mode", ["arrive", "sync"])
def test_what_tma_stores_is_fenced_before_the_named_barrier(mode: str) -> None:
    text = kernel(mode=mode)
    assert order_of(text, "fence_async", "named_barrier", "tma_store") == [
        "tw::fence_async();",
        f"tw::named_barrier_{mode}(3, 256);",
        "tw::named_barrier_sync(3, 256);",
        "tw::tma_store(&B_map, s, 0, 0);",
    ]
    _, stored, _ = at_all_levels(text, A, 0 * A, 0 * A, targets=("cuda:sm_90a", "cuda:sm_80"))
    np.testing.assert_array_equal(stored, 2 * A)


def test_the_barrier_of_a_role_has_an_id_that_the_kernel_does_not_use() -> None:
    inside = REVERSED.replace("TARGET", "t").replace("SPACE", "shared")
    text = kernel(inside, source="t")
    assert order_of(text, "named_barrier") == [
        "tw::named_barrier_sync(4, 128);",
        "tw::named_barrier_arrive(3, 256);",
        "tw::named_barrier_sync(3, 256);",
    ]
    _, stored, _ = by_threads(text, A, 0 * A, 0 * A)
    np.testing.assert_array_equal(stored, 2 * A[::-1])


def test_threads_that_arrive_do_not_wait_for_each_other() -> None:
    text = kernel(after=REVERSED.replace("TARGET", "C").replace("SPACE", "global"))
    assert order_of(text, "named_barrier")[:2] == [
        "tw::named_barrier_arrive(3, 256);",
        "tw::named_barrier_sync(4, 128);",
    ]
    _, stored, read = by_threads(text, A, 0 * A, 0 * A)
    np.testing.assert_array_equal(stored, 2 * A)
    np.testing.assert_array_equal(read, 2 * A[::-1])
