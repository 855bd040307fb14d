"""Pipelined loops to schedule, and their results in the NumPy target."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import apply, parse
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.tile.expand_pipeline import ExpandPipeline
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

SPACES = """
#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
#var = #tile.space<var>
"""
TILE = 8


def module(body: str, *, before: str = "", after: str = "", loop: str = "0 to %n") -> ModuleOp:
    """A kernel that walks over rows of `A` and `B` and leaves something in `C`.

    `body` finds `%i`, the first row of its turn's tile, and buffers `%as`, `%bs`, `%acc`.
    """
    text = f"""{SPACES}
func.func @kernel(%A: memref<?x8xf32, #global>, %B: memref<?x8xf32, #global>,
                  %C: memref<8x8xf32, #global>, %D: memref<?x8xf32, #global>,
                  %ids: memref<?xi32, #global>, %lo: index, %n: index) attributes {{tile.entry}} {{
  tile.kernel (%bx) in (1) threads(32) {{
    %as = tile.alloc : memref<8x8xf32, #shared>
    %bs = tile.alloc : memref<8x8xf32, #shared>
    %acc = tile.alloc : memref<8x8xf32, #fragment>
    %cell = tile.alloc : memref<1xi32, #var>
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    tile.fill %acc, %zero : memref<8x8xf32, #fragment>, f32
{before}
    tile.pipeline %k = {loop} {{
      %i = arith.muli %k, %c8 : index
{dedent(body)}
    }}
{after}
    tile.copy %acc -> %C : memref<8x8xf32, #fragment> -> memref<8x8xf32, #global>
  }}
  func.return
}}
"""
    return parse(text)


LOAD_A = """
%ra = tile.region %A[%i, 0] [8, 8] : memref<?x8xf32, #global> to !tile.region<8x8xf32, #global>
tile.copy %ra -> %as : !tile.region<8x8xf32, #global> -> memref<8x8xf32, #shared>
"""
LOAD_B = """
%rb = tile.region %B[%i, 0] [8, 8] : memref<?x8xf32, #global> to !tile.region<8x8xf32, #global>
tile.copy %rb -> %bs : !tile.region<8x8xf32, #global> -> memref<8x8xf32, #shared>
"""
GEMM = """
tile.gemm %as, %bs -> %acc
    : memref<8x8xf32, #shared>, memref<8x8xf32, #shared> -> memref<8x8xf32, #fragment>
"""
STORE_D = """
%rd = tile.region %D[%i, 0] [8, 8] : memref<?x8xf32, #global> to !tile.region<8x8xf32, #global>
tile.copy %as -> %rd : memref<8x8xf32, #shared> -> !tile.region<8x8xf32, #global>
"""
SCALE_A = """
tile.parallel (%x, %y) in (8, 8) {
  %v = memref.load %as[%x, %y] : memref<8x8xf32, #shared>
  %w = arith.addf %v, %v : f32
  memref.store %w, %as[%x, %y] : memref<8x8xf32, #shared>
}
"""


def results(kernel: ModuleOp, turns: int, lower: int = 0, schedules: int = 1) -> list[np.ndarray]:
    """What the kernel leaves in `C` and `D`, with memory that nobody wrote poisoned."""
    rng = np.random.default_rng(turns)
    rows = TILE * (turns + 4)
    a, b = rng.standard_normal((2, rows, TILE)).astype(np.float32)
    c, d = np.full((TILE, TILE), np.nan, np.float32), np.full((rows, TILE), np.nan, np.float32)
    ids = rng.permutation(turns + 4).astype(np.int32)
    arrays = {"A": a, "B": b, "C": c, "D": d, "ids": ids}
    arguments = [Buffer(name, array) for name, array in arrays.items()]
    options = TileOptions(schedules=schedules, seed=turns)
    numbers = [np.int64(lower), np.int64(lower + turns)]
    compile_tile_module(kernel).launch([*arguments, *numbers], options)
    return [c, d]


def expanded(kernel: ModuleOp, *, predicate_epilogue: bool = False) -> ModuleOp:
    apply(kernel, "plan-pipeline")
    ExpandPipeline(predicate_epilogue=predicate_epilogue).run(kernel, DiagnosticEngine())
    kernel.verify()
    return kernel


def serial(kernel: ModuleOp) -> ModuleOp:
    return apply(kernel, "expand-pipeline")
