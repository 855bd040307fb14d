"""Kernels of the thread level for AMD's GPUs, given as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import HEADER
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt


def module_text(chip: str, tensors: dict[str, str], body: str, threads: int) -> str:
    """A kernel of one block; `tensors` maps names to element types with sizes, ``64xf16``."""
    arguments = ", ".join(f"%{name}: memref<{type}, #global>" for name, type in tensors.items())
    types = ", ".join(f"memref<{type}, #global>" for type in tensors.values())
    names = ", ".join(f"%{name}" for name in tensors)
    return f"""{HEADER}
module {{
  func.func public @main({arguments}) {{
    %c1 = arith.constant 1 : index
    simt.launch @kernel grid(%c1, %c1, %c1) args({names}) : {types}
    func.return
  }}
  func.func @kernel({arguments}) attributes {{simt.kernel, simt.threads = {threads} : i64,
      simt.shared_bytes = 8192 : i64, tile.target = #tile.target<hip, {chip}>}} {{
    %c0 = arith.constant 0 : index
    %tid = gpu.thread_id x
    {body}
    func.return
  }}
}}"""


def run(text: str, arrays: dict[str, Any], options: SimtOptions | None = None) -> None:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    verify(source.module, engine)
    engine.raise_if_errors()
    buffers = [Buffer(name, array) for name, array in arrays.items()]
    compile_simt(source.module).launch(buffers, options)


def fault(text: str, arrays: dict[str, Any], options: SimtOptions | None = None) -> SimtFault:
    with pytest.raises(SimtFault) as caught:
        run(text, arrays, options)
    assert "kernel.mlir:" in str(caught.value), "the message shows no line"
    return caught.value


G = "memref<1024xf32, #global>"
S = "memref<1024xf32, #shared>"
L = "memref<4xf32, #local>"
TENSORS = {"In": "1024xf32", "Out": "1024xf32"}


def tensors() -> dict[str, Any]:
    given = np.arange(1, 1025, dtype=np.float32)
    return {"In": given, "Out": np.full(1024, np.nan, np.float32)}


def kernel(body: str, chip: str = "gfx942", threads: int = 128) -> str:
    names = "\n".join(
        f"%c{each} = arith.constant {each} : index" for each in (4, 64, 63, 100, 128, 256, 1024)
    )
    return module_text(chip, TENSORS, names + body, threads)


# Lane l of wave w reads elements 4 * (64 * w + l) and up; the copy of a wave fills 256 elements.
COPY = f"""
    %s = tile.alloc "s" offset 0 : {S}
    %r = tile.alloc "r" : {L}
    %i = arith.muli %tid, %c4 : index
    %wave = arith.divui %tid, %c64 : index
    %base = arith.muli %wave, %c256 : index
    %mirror = arith.subi %c128, %tid : index
    %one = arith.constant 1 : index
    %other = arith.subi %mirror, %one : index
    %from = arith.muli %other, %c4 : index
"""
START = f"amd.load_lds %In[%i] -> %s[%base] lanes(4) : {G}, {S}"
READ = f"""
    simt.move %s[%from] -> %r[%c0] lanes(4) : {S}, {L}
    simt.move %r[%c0] -> %Out[%i] lanes(4) : {L}, {G}"""


def mirrored(sync: str) -> str:
    """A thread reads what the wave of another one copied."""
    return f"{COPY}\n{START}\n{sync}\n{READ}"
