"""Kernels as text for the tests of this folder, and what they are compiled with."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CORPUS = Path(__file__).resolve().parents[2] / "corpus" / "ttir"
RING = EXAMPLES / "storage_alias" / "hopper_gemm_ring.mlir"

SCALE = """\
module {
  tt.func public @scale(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32>, %n: i32, %by: f32) {
    %at = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %some = tt.splat %n : i32 -> tensor<128xi32>
    %in = arith.cmpi slt, %at, %some : tensor<128xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %v = tt.load %q, %in : tensor<128x!tt.ptr<f32>>
    %b = tt.splat %by : f32 -> tensor<128xf32>
    %w = arith.mulf %v, %b : tensor<128xf32>
    %z = arith.addf %w, %v : tensor<128xf32>
    %o = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %r = tt.addptr %o, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    tt.store %r, %z, %in : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""


def parse(text: str, name: str = "kernel.mlir", engine: DiagnosticEngine | None = None) -> ModuleOp:
    engine = engine or DiagnosticEngine()
    engine.sources.add(name, text)
    source = parse_source(make_context(), text, name, engine, keep_names=True)
    engine.raise_if_errors()
    assert source is not None
    return source.module
