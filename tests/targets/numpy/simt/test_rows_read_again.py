"""Rows of tensor memory that are needed twice are read twice, where nothing writes them between."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.simt.blackwell_kernels import attention
from tests.targets.numpy.simt.simt_support import lowered
from tilewright.dialects.tile import AllocOp, CopyOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.gpu.stream_tensor_memory import StreamTensorMemory
from tilewright.targets.numpy.simt import Buffer, compile_simt

BF16 = ml_dtypes.bfloat16
KEYS = 256


def _widths(kernel: Any, *, roll: bool = False) -> list[int]:
    """Columns of the copies from the scores in tensor memory, after `stream-tensor-memory`."""
    module = tw.compile(kernel).prim_func.module.clone()
    engine = DiagnosticEngine()
    for each in GpuPipeline(target="cuda:sm_100a", roll_columns=roll).passes():
        each.run(module, engine)
        if isinstance(each, StreamTensorMemory):
            break
    assert not engine.error_count
    found: list[int] = []
    for op in walk(module):
        if isinstance(op, CopyOp) and space_of(op.src.type) is Space.TMEM:
            owner = base_of(op.src).owner
            if isinstance(owner, AllocOp) and owner.buffer_name == "S_tmem":
                found.append(op.dst.type.get_shape()[1])  # type: ignore[union-attr]
    return found


def test_scores_are_read_twice_in_parts() -> None:
    widths = _widths(attention(KEYS))
    assert max(widths) < 128
    assert sum(widths) == 2 * 128


def test_scores_that_are_overwritten_are_read_once() -> None:
    assert _widths(attention(KEYS, overwrite=True)) == [128]


def test_rolled_columns_are_one_copy_each_beside_the_first() -> None:
    """The maximum of what was there before: no first columns. The sum: they clear it."""
    width = _widths(attention(KEYS))[0]
    assert _widths(attention(KEYS), roll=True) == [width] * 3


@pytest.mark.parametrize("overwrite", [False, True])
def test_values(overwrite: bool) -> None:
    """Scores are integers, so powers of two, and what a few of them add up to, are exact."""
    rng = np.random.default_rng(5)
    q = np.zeros((128, 64), BF16)
    q[np.arange(128), rng.integers(0, 64, 128)] = 1
    k = rng.integers(-3, 4, (KEYS, 64)).astype(BF16)
    v = rng.integers(-2, 3, (KEYS, 128)).astype(BF16)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    scores[np.arange(KEYS)[None, :] >= np.arange(128)[:, None]] = -8
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    expected = [powers.sum(axis=1), powers @ v.astype(np.float64)]
    kernel = tw.compile(attention(KEYS, overwrite=overwrite))
    rolled = _launched(kernel, roll=True)
    for run in (lambda *given: kernel(*given), _launched(kernel), rolled):
        results = [np.zeros(128, np.float32), np.zeros((128, 128), np.float32)]
        run(q, k, v, *results)
        for found, exact in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, exact)


def _launched(kernel: Any, *, roll: bool = False) -> Any:
    pipeline = GpuPipeline(target="cuda:sm_100a", roll_columns=roll)
    module = lowered(kernel.prim_func.module.clone(), pipeline)
    names = [each.name for each in kernel.params]
    launch = compile_simt(module).launch
    return lambda *given: launch([Buffer(*each) for each in zip(names, given, strict=True)])
