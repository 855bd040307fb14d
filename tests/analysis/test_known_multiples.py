"""What divides values of the host, and the copies that depend on it."""

from __future__ import annotations

import pytest

from tests.passes.raising.levels import parsed
from tilewright.analysis.known_multiples import known_factor
from tilewright.dialects.tile import ViewOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import pipeline_options
from tilewright.targets.cuda.settings import Settings

COPY = """
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @copy(%x: memref<?xf16, #global>, %y: memref<64x64xf16, #global>,
    %n: i32 {{tile.divisibility = 16 : i32}}, %m: i32) attributes {{tile.entry}} {{
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %i = arith.index_cast %n : i32 to index
  %j = arith.index_cast %m : i32 to index
  %row = {row} : index
  %at = {at} : index
  %start = tile.ptr_of rw %x[%at] : memref<?xf16, #global>
  %view = tile.view %start strides(%row)
    : !tile.ptr<f16> to memref<64x64xf16, strided<[?, 1]>, #global>
  tile.kernel (%b) in (%c1) threads(128) {{
    %s = tile.alloc "s" : memref<64x64xf16, #shared>
    tile.copy %view -> %s : memref<64x64xf16, strided<[?, 1]>, #global> -> memref<64x64xf16, #shared>
    tile.copy %s -> %y : memref<64x64xf16, #shared> -> memref<64x64xf16, #global>
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("row", "factor"),
    [
        ("arith.muli %i, %c4", 64),
        ("arith.addi %i, %c64", 16),
        ("arith.muli %j, %c4", 4),
        ("arith.divsi %i, %c4", 1),
        ("arith.subi %i, %i", 16),
    ],
)
def test_factors(row: str, factor: int) -> None:
    module = parsed(COPY.format(row=row, at="arith.addi %i, %i"))
    (view,) = [op for op in walk(module) if isinstance(op, ViewOp)]
    assert known_factor(view.strides[0]) == factor


@pytest.mark.parametrize(
    ("row", "at", "has_map"),
    [
        ("arith.muli %i, %c4", "arith.addi %i, %i", True),
        ("arith.muli %j, %c4", "arith.addi %i, %i", False),  # 8 bytes
        ("arith.muli %i, %c4", "arith.addi %i, %c3", False),  # starts at 6 bytes
    ],
)
def test_a_tensor_map_of_a_view_needs_multiples_of_16_bytes(
    row: str, at: str, has_map: bool
) -> None:
    module = parsed(COPY.format(row=row, at=at))
    engine = DiagnosticEngine()
    GpuPipeline(**pipeline_options(Settings("sm_90a"))).run(module, engine)
    engine.raise_if_errors()
    loads = [op for op in walk(module) if op.name == "nv.tma_load"]
    assert bool(loads) == has_map
