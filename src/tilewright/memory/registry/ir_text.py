"""Allocators as IR: a private function from two byte pools to one typed view.

    func.func private @allocate_k1(%shared: memref<?xi8>, %persistent: memref<?xi8>)
        -> memref<8xf32> {
      %offset = arith.constant 64 : index
      %view = memref.view %shared[%offset][] : memref<?xi8> to memref<8xf32>
      func.return %view : memref<8xf32>
    }

Only the branch that is needed is written, as for numba. This room knows bytes, not ops, so the
function is text; whoever wants ops parses it. Places are in bytes, so layouts come from the strict
policy.
"""

from __future__ import annotations

import json
import re

import numpy as np

from tilewright.memory.registry.buffer import CUDABuffer
from tilewright.memory.registry.layout import Layouts

_ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
_POOL = "memref<?xi8>"


def allocator_text(buffer: CUDABuffer, at: Layouts, zero: bool) -> str:
    """The function that allocates `buffer` where `at`, in bytes, places it."""
    element = _ELEMENTS[np.dtype(buffer.precision).name]
    elements = buffer.size if buffer.name not in at.local else max(buffer.size, 1)
    view = f"memref<{elements}x{element}>"
    body = _view(buffer, at, view)
    if zero and buffer.size:
        literal = "0.0" if element.startswith("f") else "0"
        body += [
            f"%zero = arith.constant {literal} : {element}",
            f"linalg.fill ins(%zero : {element}) outs(%view : {view})",
        ]
    lines = "\n".join(f"  {line}" for line in [*body, f"func.return %view : {view}"])
    pools = f"%shared: {_POOL}, %persistent: {_POOL}"
    return f"func.func private @{_symbol(buffer.name)}({pools}) -> {view} {{\n{lines}\n}}\n"


def _view(buffer: CUDABuffer, at: Layouts, view: str) -> list[str]:
    name = buffer.name
    for pool, windows in (("%shared", at.shared), ("%persistent", at.persistent)):
        if name in windows:
            # An empty view at the very end of a pool fails static bounds checks.
            offset = windows[name].start if buffer.size else 0
            return [
                f"%offset = arith.constant {offset} : index",
                f"%view = memref.view {pool}[%offset][] : {_POOL} to {view}",
            ]
    return [f"%view = memref.alloca() : {view}"]


def _symbol(name: str) -> str:
    symbol = f"allocate_{name}"
    return symbol if re.fullmatch(r"\w+", symbol, re.ASCII) else json.dumps(symbol)
