"""Ops of AMD GPUs have IR and no run: the error names the op and the source line."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError


@tw.jit
def loads_by_offset(x_ptr, out_ptr):
    lanes = tl.arange(0, 64)
    value = tlx.buffer_load(x_ptr, lanes)
    tl.store(out_ptr + lanes, value)


@tw.jit
def fences_the_schedule(x_ptr, out_ptr):
    lanes = tl.arange(0, 64)
    box = tlx.local_alloc((64,), tl.float32, 1)
    tlx.local_store(box[0], tl.load(x_ptr + lanes))
    tlx.amd_sched_barrier(2)
    tl.store(out_ptr + lanes, tlx.local_load(box[0]))


@pytest.mark.parametrize(
    ("kernel", "op", "line"),
    [
        (loads_by_offset, "amdg.buffer_load", "value = tlx.buffer_load(x_ptr, lanes)"),
        (fences_the_schedule, "rocdl.sched.barrier", "tlx.amd_sched_barrier(2)"),
    ],
)
def test_the_error_names_the_op_and_the_line(kernel: tw.JITFunction, op: str, line: str) -> None:
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with tw.running(target="hip:gfx950"):
        compiled = kernel.warmup(x, out, grid=(1,))
        assert op in compiled.text("ttir")
        with pytest.raises(CompileError) as found:
            kernel[(1,)](x, out)
    text = str(found.value)
    assert f"AMD op '{op}' is not supported on target numpy" in text
    assert line in text
    assert "test_amd.py:" in text
    assert not out.any()
