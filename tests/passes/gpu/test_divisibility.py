"""What divides run-time strides, extents and addresses: widths of accesses, TMA, checks at launch."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check
from tests.passes.gpu.seeds import lowered as lowered_kernel
from tests.passes.gpu.tile_text import at_all_levels, by_threads, by_tiles, cuda_text, lowered
from tilewright import T
from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.tile.device import plan
from tilewright.targets.host.read import host_steps
from tilewright.targets.numpy.simt import SimtFault
from tilewright.targets.numpy.tile import TileFault

VIEW = "memref<?x?xf16, strided<[?, 1]>, #global>"
MATMUL = f"""
func.func public @matmul(%a: memref<?xf16, #global>, %b: memref<?xf16, #global>,
    %c: memref<?xf16, #global>, %M: i32, %N: i32, %K: i32, %SA: i32 DIV, %SB: i32 DIV,
    %SC: i32 DIV) attributes {{tile.entry}} {{
  %m = arith.index_cast %M : i32 to index
  %n = arith.index_cast %N : i32 to index
  %k = arith.index_cast %K : i32 to index
  %sa = arith.index_cast %SA : i32 to index
  %sb = arith.index_cast %SB : i32 to index
  %sc = arith.index_cast %SC : i32 to index
  %c64 = arith.constant 64 : index
  ASSUME
  %A = tile.view %a sizes(%m, %k) strides(%sa) : memref<?xf16, #global> to {VIEW}
  %B = tile.view %b sizes(%k, %n) strides(%sb) : memref<?xf16, #global> to {VIEW}
  %C = tile.view %c sizes(%m, %n) strides(%sc) : memref<?xf16, #global> to {VIEW}
  %gx = arith.ceildivsi %n, %c64 : index
  %gy = arith.ceildivsi %m, %c64 : index
  tile.kernel (%bx, %by) in (%gx, %gy) threads(128) {{
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %y = arith.muli %by, %c64 : index
    %x = arith.muli %bx, %c64 : index
    %steps = arith.ceildivsi %k, %c32 : index
    %a_s = tile.alloc "a" : memref<64x32xf16, #shared>
    %b_s = tile.alloc "b" : memref<32x64xf16, #shared>
    %c_s = tile.alloc "c" : memref<64x64xf16, #shared>
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.fill %acc, %zero : memref<64x64xf32, #fragment>, f32
    tile.pipeline %t = 0 to %steps num_stages(3) {{
      %z = arith.muli %t, %c32 : index
      %ra = tile.region %A[%y, %z] [64, 32] : {VIEW} to !tile.region<64x32xf16, #global>
      tile.copy %ra -> %a_s : !tile.region<64x32xf16, #global> -> memref<64x32xf16, #shared>
      %rb = tile.region %B[%z, %x] [32, 64] : {VIEW} to !tile.region<32x64xf16, #global>
      tile.copy %rb -> %b_s : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
      tile.gemm %a_s, %b_s -> %acc : memref<64x32xf16, #shared>, memref<32x64xf16, #shared>
        -> memref<64x64xf32, #fragment>
    }}
    tile.copy %acc -> %c_s : memref<64x64xf32, #fragment> -> memref<64x64xf16, #shared>
    %rc = tile.region %C[%y, %x] [64, 64] : {VIEW} to !tile.region<64x64xf16, #global>
    tile.copy %c_s -> %rc : memref<64x64xf16, #shared> -> !tile.region<64x64xf16, #global>
  }}
  func.return
}}
"""


def remainder(value: str, divisor: int) -> str:
    return f"""
  %d{value} = arith.constant {divisor} : index
  %z{value} = arith.constant 0 : index
  %r{value} = arith.remsi %{value}, %d{value} : index
  %h{value} = arith.cmpi eq, %r{value}, %z{value} : index
  tile.assume %h{value}"""


def matmul(divisibility: int | None = None, assumed: str = "") -> str:
    attribute = "" if divisibility is None else f"{{tile.divisibility = {divisibility} : i32}}"
    return MATMUL.replace("DIV", attribute).replace("ASSUME", assumed)


DIVISIBLE = {
    "attributes": matmul(8),
    "assumptions": matmul(None, "".join(remainder(each, 8) for each in ("sa", "sb", "sc"))),
}


def operands(m: int, n: int, k: int, strides: tuple[int, int, int]) -> tuple[list[Any], np.ndarray]:
    """Arguments with poison between rows, and what the result must be."""
    rng = np.random.default_rng(m + n + k)
    sa, sb, sc = strides
    a = np.full((m, sa), np.nan, np.float16)
    b = np.full((k, sb), np.nan, np.float16)
    c = np.full((m, sc), 99, np.float16)
    a[:, :k], b[:, :n] = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    expected = c.copy()
    expected[:, :n] = a[:, :k].astype(np.float32) @ b[:, :n].astype(np.float32)
    return [a.reshape(-1), b.reshape(-1), c.reshape(-1), m, n, k, *strides], expected


@pytest.mark.parametrize("text", DIVISIBLE.values(), ids=DIVISIBLE)
def test_tma_and_wide_copies_of_views_with_divisible_strides(text: str) -> None:
    assert cuda_text(text).count("tw::tma_load") == 2
    assert cuda_text(text, "cuda:sm_80", compiles=False).count("tw::cp_async<16>") >= 2
    assert "tw::tma" not in cuda_text(matmul(), compiles=False)
    assert "tw::cp_async<16>" not in cuda_text(matmul(), "cuda:sm_80", compiles=False)


@pytest.mark.parametrize("text", [*DIVISIBLE.values(), matmul()], ids=[*DIVISIBLE, "nothing"])
@pytest.mark.parametrize(
    ("sizes", "strides"), [((70, 72, 45), (48, 80, 88)), ((64, 1, 1), (8, 8, 8))]
)
def test_results_are_the_same_with_odd_extents(
    text: str, sizes: tuple[int, int, int], strides: tuple[int, int, int]
) -> None:
    arguments, expected = operands(*sizes, strides)
    for found in (
        by_tiles(text, *arguments),
        *(by_threads(text, *arguments, target=each) for each in ("cuda:sm_90a", "cuda:sm_80")),
    ):
        np.testing.assert_array_equal(found[2].reshape(expected.shape), expected)


def test_a_store_by_tma_needs_rows_that_end_at_16_bytes() -> None:
    text = matmul(8, remainder("n", 8))
    assert cuda_text(text).count("tw::tma_store") == 1
    assert "tw::tma_store" not in cuda_text(matmul(8), compiles=False)
    arguments, expected = operands(70, 72, 45, (48, 80, 88))
    found = by_threads(text, *arguments)
    np.testing.assert_array_equal(found[2].reshape(expected.shape), expected)


def test_odd_strides_are_refused_where_they_are_assumed_to_be_even() -> None:
    arguments, _ = operands(64, 64, 32, (36, 64, 64))
    with pytest.raises(TileFault, match="SA is 36, not a multiple of 8"):
        by_tiles(DIVISIBLE["attributes"], *arguments)
    with pytest.raises(SimtFault, match="matmul: SA must be a multiple of 8"):
        by_threads(DIVISIBLE["attributes"], *arguments)
    with pytest.raises(TileFault, match=r"T\.assume does not hold"):
        by_tiles(DIVISIBLE["assumptions"], *arguments)
    with pytest.raises(SimtFault, match="an assumption of the kernel does not hold"):
        by_threads(DIVISIBLE["assumptions"], *arguments)


def steps_of(module: Any) -> Any:
    host = [
        op
        for op in module.body.ops
        if isinstance(op, FuncOp) and simt_names.KERNEL not in op.attributes
    ]
    return host_steps(host[0])


def test_a_launch_checks_what_arguments_state() -> None:
    steps = steps_of(lowered(DIVISIBLE["attributes"])[0])
    arrays = [DeviceArray(4096, "f16", (1 << 20,), (1,), 2, 0, None) for _ in range(3)]
    assert plan(steps, [*arrays, 64, 64, 32, 32, 64, 64]).launches
    expected = r"error\[TW6030\]: matmul: SB must be a multiple of 8; SB is 60"
    with pytest.raises(ValueError, match=expected):
        plan(steps, [*arrays, 64, 60, 32, 32, 60, 64])


@tw.jit
def strided_copy(A, B):
    m, n, s = T.dynamic("m, n, s")
    A: T.StridedTensor((m, n), (s, 1), "float16")
    B: T.Tensor((m, 64), "float16")
    T.assume(s % 8 == 0, "rows begin at 16 bytes")
    with T.Kernel(T.ceildiv(m, 32), threads=128) as bx:
        T.assume(n % 8 == 0)
        tile = T.alloc_shared((32, 64), "float16")
        T.copy(A[bx * 32, 0], tile)
        T.copy(tile, B[bx * 32, 0])


def test_strides_and_extents_of_tensors() -> None:
    a = np.arange(45 * 72).reshape(45, 72).astype(np.float16)[:, :64]
    engine = check(strided_copy, a, np.zeros((45, 64), np.float16), expected=a)
    assert not [each.message for each in engine.diagnostics if each.code == "TW3010"]


def test_a_launch_checks_what_a_kernel_assumes_of_its_arguments() -> None:
    a = np.zeros((45, 72), np.float16)
    steps = steps_of(lowered_kernel(strided_copy, a[:, :64], np.zeros((45, 64), np.float16))[0])

    def launch(rows: int, columns: int, stride: int) -> Any:
        given = DeviceArray(4096, "f16", (rows, columns), (stride, 1), 2, 0, None)
        made = DeviceArray(65536, "f16", (rows, 64), (64, 1), 2, 0, None)
        return plan(steps, [given, made]).launches

    assert launch(45, 64, 72)
    with pytest.raises(ValueError, match=r"rows begin at 16 bytes.*A\.strides\[0\] is 68"):
        launch(45, 64, 68)
    with pytest.raises(
        ValueError, match=r"does not hold \(.*test_divisibility.py.*; A\.shape\[1\] is 63"
    ):
        launch(45, 63, 72)
    assert not launch(0, 63, 72)  # no block assumes anything


def test_an_assumption_drops_guards() -> None:
    text = """
func.func public @k(%p: memref<?xf32, #global>, %N: i32) attributes {tile.entry} {
  %n = arith.index_cast %N : i32 to index
  %X = tile.view %p sizes(%n) : memref<?xf32, #global> to memref<?xf32, #global>
  %c256 = arith.constant 256 : index
  ASSUME
  %g = arith.ceildivsi %n, %c256 : index
  tile.kernel (%bx) in (%g) threads(128) {
    %one = arith.constant 1.0 : f32
    %o = arith.muli %bx, %c256 : index
    tile.parallel (%i) in (256) {
      %j = arith.addi %o, %i : index
      memref.store %one, %X[%j] : memref<?xf32, #global>
    }
  }
  func.return
}
"""
    guarded, free = text.replace("ASSUME", ""), text.replace("ASSUME", remainder("n", 256))
    assert re.search(r"if \(.* < n", cuda_text(guarded, compiles=False))
    body = cuda_text(free)
    assert "if (" not in body and "uint2" in body
    (found,) = at_all_levels(free, np.zeros(512, np.float32), 512)
    assert (found == 1).all()


ALIGNED = """
func.func public @k(%p: memref<?xf32, #global> ATTRIBUTE, %q: memref<512xf32, #global>, %O: i32 DIV)
    attributes {tile.entry} {
  %o = arith.index_cast %O : i32 to index
  %at = tile.ptr_of r %p[%o] : memref<?xf32, #global>
  %A = tile.view %at : !tile.ptr<f32, #global> to memref<16x32xf32, #global>
  tile.kernel (%bx) in (1) threads(128) {
    %f = tile.alloc "f" : memref<16x32xf32, #fragment>
    %B = tile.view %q : memref<512xf32, #global> to memref<16x32xf32, #global>
    tile.copy %A -> %f : memref<16x32xf32, #global> -> memref<16x32xf32, #fragment>
    tile.copy %f -> %B : memref<16x32xf32, #fragment> -> memref<16x32xf32, #global>
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("attribute", "divisor", "is_wide"), [("", 4, True), ("", 2, False), ("8", 4, False)]
)
def test_the_address_of_a_view(attribute: str, divisor: int, is_wide: bool) -> None:
    stated = f"{{tile.divisibility = {attribute} : i32}}" if attribute else ""
    text = ALIGNED.replace("ATTRIBUTE", stated)
    text = text.replace("DIV", f"{{tile.divisibility = {divisor} : i32}}")
    reads = "*reinterpret_cast<const uint4*>(A" in cuda_text(text, compiles=False)
    assert reads == is_wide
    memory = np.arange(600, dtype=np.float32)
    _, found = at_all_levels(text, memory, np.zeros(512, np.float32), 4 * divisor)
    np.testing.assert_array_equal(found, memory[4 * divisor : 4 * divisor + 512])
