"""Copies from regions that reach out of their tensor: what is there reads as the fill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.gpu.tile_text import at_all_levels, cuda_text, parsed, remarks
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline

COPIES = """
func.func public @k(%A: memref<?x?xf16, #global>, %B: memref<96x64xf32, #global>, %v: f16)
    attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %c32 = arith.constant 32 : index
    %left = arith.constant -8 : index
    %a = tile.alloc "a" : memref<32x64xf16, #space>
    %f = tile.alloc "f" : memref<32x64xf32, #fragment>
    tile.pipeline %t = 0 to 3 num_stages(2) {
      %o = arith.muli %t, %c32 : index
      %ra = tile.region %A[%o, %left] [32, 64]
        : memref<?x?xf16, #global> to !tile.region<32x64xf16, #global>
      tile.copy %ra -> %a fill(%v) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #space>
      tile.copy %a -> %f : memref<32x64xf16, #space> -> memref<32x64xf32, #fragment>
      %rb = tile.region %B[%o, 0] [32, 64]
        : memref<96x64xf32, #global> to !tile.region<32x64xf32, #global>
      tile.copy %f -> %rb : memref<32x64xf32, #fragment> -> !tile.region<32x64xf32, #global>
    }
  }
  func.return
}
"""


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize(("shape", "fill"), [((70, 40), -np.inf), ((96, 64), -3), ((1, 1), 2)])
def test_the_fill_is_outside_at_every_level(
    space: str, shape: tuple[int, int], fill: float
) -> None:
    a = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float16)
    out = np.full((96, 64), 77, np.float32)
    _, found = at_all_levels(COPIES.replace("#space", f"#{space}"), a, out, np.float16(fill))
    expected = np.full((96, 64), fill, np.float32)
    part = expected[: shape[0], 8 : 8 + shape[1]]
    part[...] = a[:, : part.shape[1]]
    np.testing.assert_array_equal(found, expected)


def test_a_remark_gives_the_reason_of_a_synchronous_copy() -> None:
    text = COPIES.replace("#space", "#shared")
    expected = "asynchronous copy not used: elements outside of A read as a run-time value"
    assert any(each.startswith(expected) for each in remarks(text, "TW3053"))
    assert "cp_async" not in cuda_text(text, "cuda:sm_80")


TILES = """
func.func public @k(%A: memref<ROWSx64xf16, #global> SAFE, %B: memref<128x64xf16, #global>)
    attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %c32 = arith.constant 32 : index
    %fill = arith.constant VALUE : f16
    %a = tile.alloc "a" : memref<32x64xf16, #shared>
    %f = tile.alloc "f" : memref<32x64xf16, #fragment>
    tile.pipeline %t = 0 to 4 num_stages(2) {
      %o = arith.muli %t, %c32 : index
      %ra = tile.region %A[%o, 0] [32, 64]
        : memref<ROWSx64xf16, #global> to !tile.region<32x64xf16, #global>
      tile.copy %ra -> %a FILL : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
      tile.parallel (%i, %j) in (32, 64) {
        %x = memref.load %a[%i, %j] : memref<32x64xf16, #shared>
        %y = arith.addf %x, %x : f16
        memref.store %y, %f[%i, %j] : memref<32x64xf16, #fragment>
      }
      %rb = tile.region %B[%o, 0] [32, 64]
        : memref<128x64xf16, #global> to !tile.region<32x64xf16, #global>
      tile.copy %f -> %rb : memref<32x64xf16, #fragment> -> !tile.region<32x64xf16, #global>
    }
  }
  func.return
}
"""


def tiles(rows: int, *, safe: str = "", fill: str = "", value: str = "0.0") -> str:
    text = TILES.replace("ROWS", str(rows)).replace("VALUE", value)
    attribute = f"{{tile.safe_value = {safe} : f16}}" if safe else ""
    return text.replace("SAFE", attribute).replace("FILL", fill)


@pytest.mark.parametrize(
    ("options", "outside"),
    [
        ({"safe": "5.0"}, 5.0),
        ({"fill": "fill(%fill)", "value": "2.0"}, 2.0),
        ({"safe": "5.0", "fill": "fill(%fill)", "value": "0.0"}, 0.0),
        ({"fill": "fill(%fill)", "value": "-0.0"}, -0.0),
    ],
)
def test_tma_and_cp_async_do_not_fill_with_zeros_what_is_not_zero(
    options: dict[str, str], outside: float
) -> None:
    text = tiles(45, **options)
    a = np.random.default_rng(1).integers(1, 9, (45, 64)).astype(np.float16)
    _, found = at_all_levels(text, a, np.zeros((128, 64), np.float16))
    expected = np.full((128, 64), outside, np.float16)
    expected[:45] = a
    np.testing.assert_array_equal((expected + expected).view("i2"), found.view("i2"))


@pytest.mark.parametrize(
    "text",
    [
        tiles(45, fill="fill(%fill)", value="0.0"),
        tiles(128, fill="fill(%fill)", value="2.0"),
        tiles(128, safe="2.0"),
    ],
)
def test_copies_that_need_no_fill_use_tma_and_cp_async(text: str) -> None:
    assert "tw::tma_load" in cuda_text(text, compiles=False)
    assert "tw::cp_async" in cuda_text(text, "cuda:sm_80", compiles=False)
    assert not remarks(text, "TW3053", "cuda:sm_80")


REQUESTED = """
func.func public @k(%A: memref<ROWSx64xf16, #global> {tile.safe_value = 5.0 : f16},
                    %B: memref<32x64xf16, #global>) attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32x64xf16, #shared>
    %ra = tile.region %A[0, 0] [32, 64]
      : memref<ROWSx64xf16, #global> to !tile.region<32x64xf16, #global>
    COPY
    tile.copy %a -> %B : memref<32x64xf16, #shared> -> memref<32x64xf16, #global>
  }
  func.return
}
"""
GROUP = """
    tile.async_copy %ra -> %a {instruction = "cp_async"}
      : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
    nv.cp_async.commit
    nv.cp_async.wait 0
    tile.sync
"""


def test_requested_cp_async_has_the_safe_value_of_its_tensor() -> None:
    text = REQUESTED.replace("ROWS", "30").replace("COPY", GROUP)
    a = np.ones((30, 64), np.float16)
    targets = ("cuda:sm_90a", "cuda:sm_80")
    _, found = at_all_levels(text, a, np.zeros((32, 64), np.float16), targets=targets)
    assert (found[:30] == 1).all() and (found[30:] == 5).all()
    assert remarks(text, "TW3053") == [
        "cp.async not used: elements outside of A read as 5.0, not as zero"
    ]


def requested_tma(rows: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((rows, 64), "float16"), B: T.Tensor((32, 64), "float16")):
        with T.Kernel(1, threads=128):
            T.annotate_safe_value({A: 5.0})
            tile = T.alloc_shared((32, 64), "float16")
            full = T.alloc_barrier(1)
            T.tma_copy(A[0, 0], tile, barrier=full)
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive(full)
            T.mbarrier_wait_parity(full, 0)
            T.copy(tile, B)

    return kernel


def test_requested_tma_cannot_have_another_safe_value() -> None:
    module, engine = requested_tma(30).module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    (error,) = [each for each in engine.diagnostics if each.code == "TW3017"]
    expected = "TMA load not possible: elements outside of A read as 5.0, not as zero"
    assert error.message == expected


def test_requested_tma_that_stays_inside_is_allowed() -> None:
    module, engine = requested_tma(32).module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()


def test_tenstorrent_selects_a_fill_that_is_needed() -> None:
    """Blocks are padded with zeros; other values are selected (`select-fills`)."""

    def compiled(extent: int, value: str) -> str:
        text = tiles(extent, fill="fill(%fill)", value=value)
        module, engine = parsed(text), DiagnosticEngine()
        TenstorrentPipeline().run(module, engine)
        assert not [each.message for each in engine.diagnostics if each.code == "TW7070"]
        return str(module)

    assert compiled(45, "2.0") != compiled(45, "0.0")
    assert compiled(128, "2.0") == compiled(128, "0.0")
