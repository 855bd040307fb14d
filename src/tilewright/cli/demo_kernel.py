"""The part of the demonstration that runs a kernel: checked on this machine, then broken.

`examples/tl/attention.py` is executed as its user would: traced to IR, turned into NumPy code,
run over its whole grid with every access checked, and compared with float64. Then the mask of one
load is taken out of the text, and the run reports which program reads past which array, and where.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tilewright.cli.demo_faults import shows_fault
from tilewright.cli.launches import counted

_MASK = ", mask=columns[None, :] < context, other=0.0"
_HEADS, _CONTEXT, _HEAD = 4, 500, 64
_TOLERANCE = 2e-3  # a few roundings of float16 at the size of the results


def show(example: Path, emit: Callable[[str], None]) -> bool:
    """Run the kernel in `example` and a broken copy; True if both end as they should."""
    text = example.read_text()
    module = load(text, example.name)
    q, k, v = _inputs()
    start = time.perf_counter()
    result = module.attention(q, k, v, causal=True)
    first = time.perf_counter() - start
    error = float(np.abs(result - module.reference(q, k, v, True)).max())
    (compiled,) = module.attention_kernel.cache.values()
    report = compiled.last_report
    emit(f"   traced to {_ops(compiled)} ops, then NumPy; {first * 1e3:.0f} ms in all")
    emit(
        f"   {report.programs} programs in {counted(report.batches, 'batch')}, every access checked"
    )
    emit(f"   largest difference from float64: {error:.1e}")
    emit("")
    emit(f"   the same kernel without `{_MASK[2:]}`:")
    return error < _TOLERANCE and _show_broken(text, example.name, emit)


def _show_broken(text: str, name: str, emit: Callable[[str], None]) -> bool:
    module = load(text.replace(_MASK, "", 1), name)
    return shows_fault(lambda: module.attention(*_inputs(), causal=True), emit)


def _inputs() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((3, _HEADS, _CONTEXT, _HEAD)).astype(np.float16))


def load(text: str, name: str) -> ModuleType:
    """A module from `text`; kernels read their own source through `linecache`."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = ModuleType(f"tilewright_demo_{name.removesuffix('.py')}")
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def _ops(compiled: Any) -> int:
    return sum(1 for _ in compiled.module.walk())
