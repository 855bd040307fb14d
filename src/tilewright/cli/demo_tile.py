"""The part of the demonstration in `T`: a kernel is run, split into roles, and then broken.

`examples/tile/gemm_relu.py` is traced to the tile level and run with every access checked. Passes
split it into a role that issues copies and one that computes; its memory is drawn, and under
several orders of events it leaves the same bits. Then the wait before the GEMM is taken
out, and the run reports which bytes were still in flight, and the copy that writes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.demo_faults import shows_fault
from tilewright.dialects.nv import MBarrierWaitOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.memory import target_named
from tilewright.passes import PASSES
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.report import memory_text
from tilewright.runtime.memory_maps.tiles import shared_memory_maps
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.tile.api import TileOptions
from tilewright.targets.numpy.tile.kernel import compile_tile_module

_M, _N, _K = 150, 136, 200
_PASSES = "bind-target,canonicalize,cse,split-guards,specialize-warps,plan-pipeline,expand-pipeline"
_SCHEDULES = 5
_TOLERANCE = 5e-2  # roundings of float16 at the size of the results


def show(
    example: Path, load: Callable[[str, str], ModuleType], emit: Callable[[str], None]
) -> bool:
    """Run the kernel in `example`, its specialised form and a broken one; True if all end well."""
    module = load(example.read_text(), example.name)
    a, b = _inputs()
    start = time.perf_counter()
    result = module.matmul_relu(a, b)
    elapsed = time.perf_counter() - start
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    error = float(np.abs(result - exact).max())
    (kernel,) = module.matmul_relu.cache.values()
    traced: ModuleOp = kernel.prim_func.module
    emit("   the loop of the kernel at the tile level:")
    for line in _loop(print_module(traced)):
        emit("   " + line)
    emit(f"   run in {elapsed * 1e3:.0f} ms; largest difference from float64: {error:.1e}")
    split = traced.clone()
    _run_passes(split)
    emit("")
    emit("   split into a producer and a consumer, its shared memory:")
    for line in memory_text.render(shared_memory_maps(split, target_named("sm_90"))).splitlines():
        emit("   " + line)
    same = np.array_equal(_launch(split, a, b, _SCHEDULES), result)
    emit(f"   {_SCHEDULES} orders of events: {'the same bits' if same else 'OTHER BITS'}")
    emit("")
    emit("   the consumer's loop in the generated CUDA:")
    source = _cuda(traced)
    for line in _main_loop(source):
        emit("   " + line)
    emit("")
    emit("   the same without the consumer's wait:")
    return error < _TOLERANCE and same and _show_broken(split, a, b, emit)


def _cuda(traced: ModuleOp) -> str:
    """The kernel's source for Hopper; neither a GPU nor a compiler is needed for it."""
    lowered, engine = traced.clone(), DiagnosticEngine()
    GpuPipeline().run(lowered, engine)
    engine.raise_if_errors()
    (kernel,) = kernels_of(lowered)
    return emit_kernel(kernel, comments=False).text


def _main_loop(source: str) -> list[str]:
    """From the wait for a tile to the arrival that hands it back."""
    lines = source[source.index("// consumer") :].splitlines()
    first = next(n for n, line in enumerate(lines) if "tw::barrier_wait" in line)
    last = next(n for n, line in enumerate(lines) if "tw::barrier_arrive" in line)
    indent = len(lines[first]) - len(lines[first].lstrip())
    return [line[indent:] if line[:indent].isspace() else line for line in lines[first : last + 1]]


def _inputs() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((_M, _K)).astype(np.float16)
    return a, rng.standard_normal((_K, _N)).astype(np.float16)


def _loop(text: str) -> list[str]:
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if "tile.pipeline" in line)
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = next(n for n in range(first, len(lines)) if lines[n] == " " * indent + "}")
    return [line[indent:] for line in lines[first : last + 1]]


def _run_passes(module: ModuleOp) -> None:
    engine = DiagnosticEngine()
    for each in Pipeline.build(parse_pipeline(_PASSES), PASSES).passes:
        each.run(module, engine)
        engine.raise_if_errors()


def _launch(module: ModuleOp, a: Any, b: Any, schedules: int) -> Any:
    c = np.full((_M, _N), np.nan, np.float16)
    buffers = [Buffer("A", a), Buffer("B", b), Buffer("C", c, initialised=False)]
    compile_tile_module(module).launch(buffers, TileOptions(schedules=schedules))
    return c


def _show_broken(module: ModuleOp, a: Any, b: Any, emit: Callable[[str], None]) -> bool:
    waits = [op for op in walk(module) if isinstance(op, MBarrierWaitOp)]
    Rewriter().erase(waits[-1])
    return shows_fault(lambda: _launch(module, a, b, _SCHEDULES), emit)
