"""Tile-level IR text, run at every level: as written, scheduled, and by the threads of GPUs.

    results = at_all_levels(text, a, b, 13)

All levels must leave the same bits in the arrays; what is returned are those of the tile level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

SPACES = """
#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
#local = #tile.space<local>
#var = #tile.space<var>
#barrier = #tile.space<barrier>
"""
TARGETS = ("cuda:sm_90a", "cuda:sm_80", "hip:gfx942")
SCHEDULES = 2


def parsed(text: str) -> ModuleOp:
    """The module, which must be right."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), SPACES + text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


def lowered(text: str, target: str = "cuda:sm_90a") -> tuple[ModuleOp, DiagnosticEngine]:
    """Device functions of a kernel, and what the passes reported."""
    module, engine = parsed(text), DiagnosticEngine()
    pipeline = (
        AmdPipeline(target=target) if target.startswith("hip") else GpuPipeline(target=target)
    )
    pipeline.run(module, engine)
    engine.raise_if_errors()
    verify(module, engine)
    engine.raise_if_errors()
    return module, engine


def cuda_text(text: str, target: str = "cuda:sm_90a", *, compiles: bool = True) -> str:
    """CUDA C++ of all device functions, without the helpers before them; it must compile."""
    sources = [emit_kernel(function).text for function in kernels_of(lowered(text, target)[0])]
    if compiles:
        for source in sources:
            assert compile_source(source, target.removeprefix("cuda:")).cubin[:4] == b"\x7fELF"
    return "\n".join(source[source.index('extern "C"') :] for source in sources)


def remarks(text: str, code: str, target: str = "cuda:sm_90a") -> list[str]:
    """What the passes remark with a code."""
    diagnostics = lowered(text, target)[1].diagnostics
    return [each.message for each in diagnostics if each.code == code]


def by_tiles(text: str, *arguments: Any, **options: Any) -> list[np.ndarray]:
    """What arrays hold after a run as written."""
    given = _fresh(arguments)
    compile_tile_module(parsed(text)).launch(_named(given), TileOptions(**options))
    return [each for each in given if isinstance(each, np.ndarray)]


def by_schedule(text: str, *arguments: Any, target: str = "cuda:sm_90a") -> list[np.ndarray]:
    """The same after the tile-level passes, under several schedules."""
    module, engine, given = parsed(text), DiagnosticEngine(), _fresh(arguments)
    TilePipeline(target=target).run(module, engine)
    engine.raise_if_errors()
    compile_tile_module(module).launch(_named(given), TileOptions(schedules=SCHEDULES))
    return [each for each in given if isinstance(each, np.ndarray)]


def by_threads(text: str, *arguments: Any, target: str = "cuda:sm_90a") -> list[np.ndarray]:
    """The same by the threads of a GPU."""
    given = _fresh(arguments)
    program = compile_simt(lowered(text, target)[0])
    program.launch(_named(given), SimtOptions(schedules=SCHEDULES))
    return [each for each in given if isinstance(each, np.ndarray)]


def at_all_levels(
    text: str, *arguments: Any, targets: Sequence[str] = TARGETS, compiles: bool = False
) -> list[np.ndarray]:
    """What arrays hold after a run, which is the same at all levels; perhaps CUDA text compiles."""
    expected = by_tiles(text, *arguments)
    runs = {"scheduled": by_schedule(text, *arguments)}
    runs.update((target, by_threads(text, *arguments, target=target)) for target in targets)
    for level, found in runs.items():
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=level)
    for target in targets:
        if target.startswith("cuda") and compiles:
            cuda_text(text, target)
    return expected


def _fresh(arguments: Sequence[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


def _named(arguments: Sequence[Any]) -> list[Any]:
    return [
        Buffer(f"argument{index}", each) if isinstance(each, np.ndarray) else each
        for index, each in enumerate(arguments)
    ]
