"""Tile-level kernels from IR text, at every level: tiles, threads of several GPUs, machine code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.tile.tile_support import SPACES, run
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt


def parsed(text: str) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), SPACES + text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


parsed("")  # raises the limit of recursion, which Hypothesis does not want changed in a test


@lru_cache(maxsize=64)
def lowered(text: str, target: str = "cuda:sm_90a") -> ModuleOp:
    """The device functions of a kernel; raises `CompileError`."""
    module, engine = parsed(text), DiagnosticEngine()
    pipeline = AmdPipeline if target.startswith("hip") else GpuPipeline
    pipeline(target=target).run(module, engine)
    engine.raise_if_errors()
    verify(module, engine)
    engine.raise_if_errors()
    return module


def by_tiles(text: str, *arguments: Any, **options: Any) -> list[Any]:
    """All arguments after a run at the tile level."""
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    run(text, *given, **options)
    return given


def by_threads(text: str, *arguments: Any, target: str = "cuda:sm_90a", seed: int = 1) -> list[Any]:
    """All arguments after a run that follows every thread, with all checks."""
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    buffers = [
        Buffer(f"x{position}", each) if isinstance(each, np.ndarray) else each
        for position, each in enumerate(given)
    ]
    compile_simt(lowered(text, target)).launch(buffers, SimtOptions(seed=seed))
    return given


def cubins(text: str, archs: Sequence[str] = ("sm_90a", "sm_80")) -> list[str]:
    """CUDA source for each architecture, which NVRTC compiles."""
    found: list[str] = []
    for arch in archs:
        for function in kernels_of(lowered(text, f"cuda:{arch}")):
            source = emit_kernel(function).text
            assert compile_source(source, arch).cubin[:4] == b"\x7fELF"
            found.append(source)
    return found
