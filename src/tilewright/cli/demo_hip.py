"""The part of the demonstration for AMD GPUs: one kernel as HIP and as code objects for five chips.

`examples/tile/gemm_relu.py` is lowered for every chip of the table: waves of 64 or 32 lanes, other
matrix instructions, other swizzles. The source needs no compiler; where clang is installed, it
becomes a code object, and what that needs is read from it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.layouts.hardware.amd_chips import CHIPS, Chip
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.hip import clang
from tilewright.targets.hip.compile import compile_module, lower_module

_SIZE = 256
_TILE = {"block_M": 64, "block_N": 64, "block_K": 32}
_COLUMNS = "chip     wave  {:36}lines  VGPRs  spilled     LDS".format("matrix instruction")
_MATRIX = re.compile(r"\bv_(?:mfma|wmma)_\w+")


def show(
    example: Path, load: Callable[[str, str], ModuleType], emit: Callable[[str], None]
) -> bool:
    """Compile the kernel in `example` for every chip; True if nothing spills."""
    kernel = load(example.read_text(), example.name).matmul_relu
    a = np.zeros((_SIZE, _SIZE), np.float16)
    taken = {name: value for name, value in _TILE.items() if name in kernel.signature.parameters}
    module: ModuleOp = kernel.get_tir(a, a, **taken).module
    start = time.perf_counter()
    emit(f"   {_COLUMNS}")
    is_good = True
    for chip in CHIPS.values():
        row, spills = _row(module, chip)
        emit(f"   {chip.name:9}{chip.wave:4}  {row}")
        is_good = is_good and not spills
    emit(f"   in {time.perf_counter() - start:.1f} s")
    emit("")
    emit("   the first lines of the loop for gfx942:")
    (source,) = lower_module(module, AmdPipeline(target="hip:gfx942")).sources
    for line in _matrix_lines(source.text):
        emit(f"   {line}")
    return is_good


def _row(module: ModuleOp, chip: Chip) -> tuple[str, int]:
    """The row of a chip, and the bytes that spill."""
    if not any(each.supports(chip.name) for each in clang.installed()):
        lowered = lower_module(module, AmdPipeline(target=f"hip:{chip.name}"))
        lines = sum(each.text.count("\n") for each in lowered.sources)
        found = next(iter(clang.installed()), None)
        reason = "no clang 19 here" if found is None else f"{found} does not support it"
        return f"{'(' + reason + ')':36}{lines:5}", 0
    program = compile_module(module, chip.name)
    (compiled,) = program.kernels.values()
    instruction = next(iter(_MATRIX.findall(compiled.isa)), "(hiprtc prints no assembly)")
    metadata = compiled.metadata
    lines = compiled.source.count("\n")
    return (
        f"{instruction:36}{lines:5}{metadata.vgprs:7}{metadata.spill_bytes:7} B{metadata.shared:8}",
        metadata.spill_bytes,
    )


def _matrix_lines(text: str) -> Iterator[str]:
    """The statements around the first matrix instruction of the loop."""
    lines = text[text.index('extern "C"') :].splitlines()
    at = next(n for n, line in enumerate(lines) if re.search(r"tw::(?:mfma|wmma)_", line))
    shown = [line for line in lines[max(0, at - 6) : at + 2] if line.strip()]
    indent = min(len(line) - len(line.lstrip()) for line in shown)
    yield from (line[indent:] for line in shown)
