"""The part of the demonstration for Tenstorrent: a GEMM becomes five files, and runs on a model.

`examples/tile/gemm.py` is compiled for 64 cores of a Wormhole: cores with their blocks, the L1 of a
core, the files. It runs in the IR executor under several schedules; the traffic that the plan
predicts is the traffic that the run counts. Then a barrier of the reader is taken out, and the run
reports the pages that were pushed too early.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tilewright.cli.demo_faults import shows_fault
from tilewright.dialects.tensix.noc import NocBarrierOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.report.tenstorrent_text import program_text
from tilewright.runtime.tile.jit import TileJIT
from tilewright.runtime.tile.options import tile_running
from tilewright.runtime.tile.tenstorrent import TenstorrentKernel

_SIZE = 256
_TARGET = "tenstorrent:wormhole"
_CONFIGS = {"tt.core_grid": "8x8"}
_BLOCKS = {"block_M": 32, "block_N": 32, "block_K": 32, "num_stages": 2, "dtype": "bfloat16"}
_SCHEDULES = 3
_TOLERANCE = 2.0**-6
"""Relative error (Frobenius norm) of bfloat16 results."""


def show(
    example: Path, load: Callable[[str, str], ModuleType], emit: Callable[[str], None]
) -> bool:
    """Compile, run and break the kernel in `example`; True if all end well."""
    original: TileJIT = load(example.read_text(), example.name).gemm
    kernel = TileJIT(original.function, target=_TARGET, pass_configs=_CONFIGS)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((_SIZE, _SIZE)).astype(bfloat16) for _ in range(2))
    start = time.perf_counter()
    compiled = kernel.compile(a, b, **_BLOCKS).tenstorrent
    assert compiled is not None
    files = compiled.artefact.files()
    elapsed = time.perf_counter() - start
    lines = ", ".join(f"{name} {len(text.splitlines())}" for name, text in files.items())
    emit(f"   compiled in {elapsed * 1e3:.0f} ms to five files; lines: {lines}")
    start = time.perf_counter()
    with tile_running(schedules=_SCHEDULES):
        result = kernel(a, b, **_BLOCKS)
    elapsed = time.perf_counter() - start
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = float(np.linalg.norm(result - exact) / np.linalg.norm(exact))
    emit(
        f"   {_SCHEDULES} schedules on the model in {elapsed:.1f} s: the same bits; relative error "
        f"{error:.1e}"
    )
    emit("")
    is_predicted = _show_program(compiled, emit)
    emit("")
    emit("   the same without the reader's first barrier:")
    is_found = _show_broken(compiled, lambda: kernel(a, b, **_BLOCKS), emit)
    return error < _TOLERANCE and is_predicted and is_found


def _show_program(compiled: TenstorrentKernel, emit: Callable[[str], None]) -> bool:
    """Cores, memory and traffic; whether the plan predicts what the run counted."""
    artefact, result = compiled.artefact, compiled.result
    assert result is not None
    text = program_text(artefact.plan, artefact.memory_map(), result.traffic)
    for line in text.splitlines():
        emit(f"   {line}".rstrip())
    planned, counted = artefact.plan.traffic, result.traffic
    return (planned.dram_page_reads, planned.dram_page_writes) == (
        counted.dram_page_reads,
        counted.dram_page_writes,
    )


def _show_broken(
    compiled: TenstorrentKernel, run: Callable[[], Any], emit: Callable[[str], None]
) -> bool:
    reader = compiled.artefact.kernels["reader"]
    Rewriter().erase(next(op for op in walk(reader) if isinstance(op, NocBarrierOp)))
    return shows_fault(run, emit)
