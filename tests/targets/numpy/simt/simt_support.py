"""Kernels taken to the thread level and run there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import as_tuple, fresh
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy import tile as tiles
from tilewright.targets.numpy.simt import Buffer, SimtOptions, SimtReport, compile_simt
from tilewright.targets.numpy.tile import TileReport

Change = Callable[[ModuleOp], ModuleOp]


def lowered(module: ModuleOp, pipeline: GpuPipeline | AmdPipeline | None = None) -> ModuleOp:
    """The module after all GPU passes, which must find nothing wrong."""
    engine = DiagnosticEngine()
    (pipeline or GpuPipeline()).run(module, engine)
    engine.raise_if_errors()
    verify(module, engine)
    engine.raise_if_errors()
    return module


class _Program:
    """Replaces the tile level's program in a compiled kernel."""

    def __init__(self, module: ModuleOp, options: SimtOptions) -> None:
        self.program, self.options = compile_simt(module), options

    def launch(self, arguments: Sequence[Any], options: object) -> TileReport:
        report = self.program.launch(arguments, self.options)
        return TileReport(programs=report.blocks, schedules=report.schedules)


def example_results(
    example: ModuleType,
    pipeline: GpuPipeline | AmdPipeline | None = None,
    options: SimtOptions | None = None,
    change: Change | None = None,
    **settings: Any,
) -> list[np.ndarray]:
    """What an example computes if its kernels run at the thread level."""
    before = tiles.compile_tile_module

    def compiled(module: ModuleOp) -> Any:
        made = lowered(module, pipeline)
        return _Program(made if change is None else change(made), options or SimtOptions())

    tiles.compile_tile_module = compiled  # type: ignore[assignment]
    try:
        found, _ = fresh(example).example(np.random.default_rng(0), **settings)
    finally:
        tiles.compile_tile_module = before
    return [np.asarray(each) for each in as_tuple(found)]


HEADER = """
#barrier = #tile.space<barrier>
#global = #tile.space<global>
#local = #tile.space<local>
#shared = #tile.space<shared>
"""


def device_module(
    body: str, threads: int = 128, shared: int = 4096, target: str = "cuda, sm_90a"
) -> str:
    """A kernel of one block that writes `Out`, 1024 singles, and may read `In`."""
    return f"""{HEADER}
module {{
  func.func public @main(%In: memref<1024xf32, #global>, %Out: memref<1024xf32, #global>) {{
    %c1 = arith.constant 1 : index
    simt.launch @kernel grid(%c1, %c1, %c1) args(%In, %Out)
      : memref<1024xf32, #global>, memref<1024xf32, #global>
    func.return
  }}
  func.func @kernel(%In: memref<1024xf32, #global>, %Out: memref<1024xf32, #global>)
      attributes {{simt.kernel, simt.threads = {threads} : i64, simt.shared_bytes = {shared} : i64,
                  tile.target = #tile.target<{target}>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c127 = arith.constant 127 : index
    %tid = gpu.thread_id x
    %first = arith.cmpi eq, %tid, %c0 : index
    {body}
    func.return
  }}
}}"""


def run_device(
    body: str, options: SimtOptions | None = None, target: str = "cuda, sm_90a", **sizes: int
) -> tuple[np.ndarray, SimtReport]:
    """What a kernel makes of `In` = 0, 1, 2 ...; `Out` is NaN where it wrote nothing."""
    engine = DiagnosticEngine()
    source = parse_source(
        make_context(), device_module(body, target=target, **sizes), "kernel.mlir", engine
    )
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    module = source.module
    verify(module, engine)
    engine.raise_if_errors()
    given = np.arange(1024, dtype=np.float32)
    out = np.full(1024, np.nan, np.float32)
    report = compile_simt(module).launch([Buffer("In", given), Buffer("Out", out)], options)
    return out, report
