"""Tile-level kernels from IR text, run on arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import (
    TileKernel,
    TileOptions,
    TileReport,
    compile_tile_module,
)

SPACES = """
#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
#local = #tile.space<local>
#var = #tile.space<var>
#barrier = #tile.space<barrier>
"""

DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}


@lru_cache(maxsize=256)
def compiled(text: str) -> TileKernel:
    """The kernel in `text`."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), SPACES + text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    source.module.verify()
    return compile_tile_module(source.module, sources=engine.sources)


def run(text: str, *arguments: Any, fresh: tuple[int, ...] = (), **options: Any) -> TileReport:
    """Compile and launch; arrays become buffers, those at positions `fresh` uninitialised."""
    kernel = compiled(text)
    given = [
        Buffer(kernel.parameters[index].name, argument, initialised=index not in fresh)
        if isinstance(argument, np.ndarray)
        else argument
        for index, argument in enumerate(arguments)
    ]
    return kernel.launch(given, TileOptions(sources=kernel.sources, **options))


def block(arguments: str, body: str, grid: str = "1", threads: int = 128) -> str:
    """A function whose kernel has one body; `grid` is one extent, two or three."""
    rank = len(grid.split(","))
    ids = ", ".join(["%bx", "%by", "%bz"][:rank])
    return f"""
func.func @main({arguments}) attributes {{tile.entry}} {{
  tile.kernel ({ids}) in ({grid}) threads({threads}) {{
{body}
  }}
  func.return
}}
"""


def random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Numbers that every type can hold, with fractions where it has them."""
    draw = np.random.default_rng(seed)
    if dtype.startswith("i"):
        return draw.integers(-8, 8, shape).astype(DTYPES[dtype])
    return (draw.integers(-16, 16, shape) / 8).astype(DTYPES[dtype])
