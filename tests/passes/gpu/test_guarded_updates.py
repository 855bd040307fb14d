"""Guarded atomic updates in unrolled loops: what their indices have in common is computed once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tests.targets.cuda.test_accumulators_in_flight import disassembled
from tilewright import T
from tilewright.dialects.nv import OpaqueOp, RedAddOp
from tilewright.dialects.scf import IfOp
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.hoist_guarded_indices import HoistGuardedIndices
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module

ROWS, COLUMNS, BLOCKS = 32, 48, 3
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+\S")


@tw.jit
def add_rows(A, first, length, C):
    """Each block adds the first rows of its tile to those of the result that start at `first`."""
    rows = T.const("rows")
    A: T.Tensor((BLOCKS, ROWS, COLUMNS), "float32")
    first: T.Tensor((BLOCKS,), "int32")
    length: T.Tensor((BLOCKS,), "int32")
    C: T.Tensor((BLOCKS, rows, COLUMNS), "float32")
    with T.Kernel(BLOCKS, threads=64) as bx:
        tile = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.copy(A[bx, 0, 0], tile)
        start, count = first[bx], length[bx]
        for i, j in T.Parallel(ROWS, COLUMNS):
            if i < count:
                T.atomic_add(C[bx, start + i, j], tile[i, j], memory_order="relaxed")


def arguments(rows: int) -> tuple[np.ndarray, ...]:
    a = whole(1, BLOCKS, ROWS, COLUMNS, dtype="float32")
    first = np.array([0, 7, 40], np.int32)
    length = np.array([32, 0, 29], np.int32)
    return a, first, length, whole(2, BLOCKS, rows, COLUMNS, dtype="float32")


@pytest.mark.parametrize("rows", [72, 61])
def test_values_of_rows_inside_and_out_of_bounds(rows: int) -> None:
    """With 61 rows the last block adds to 8 rows that do not exist: these are skipped."""
    a, first, length, c = arguments(rows)
    expected = c.copy()
    for block in range(BLOCKS):
        for i in range(length[block]):
            if first[block] + i < rows:
                expected[block, first[block] + i] += a[block, i]
    module, _ = lowered(add_rows, a, first, length, c)
    ops = list(walk(module))
    assert any(isinstance(op, RedAddOp) for op in ops)
    assert sum(isinstance(op, OpaqueOp) for op in ops) == 1
    check(add_rows, a, first, length, c, expected=expected)


def test_an_update_and_its_registers_are_in_one_branch() -> None:
    """Unswitched, the loop over registers had a condition of its own, equal to that of the update."""
    module, _ = lowered(add_rows, *arguments(61))
    branches = [op for op in walk(module) if isinstance(op, IfOp)]
    assert len(branches) == 2  # one for the length, in it one for the extent
    assert branches[0].is_ancestor(branches[1])


def test_branches_have_fewer_instructions(tmp_path: Path) -> None:
    def instructions(*left_out: str) -> int:
        module = add_rows.get_tir(*arguments(72)).module
        program = compile_module(module, "sm_90a", pipeline=GpuPipeline(leave_out=left_out))
        (kernel,) = program.kernels.values()
        return len(_INSTRUCTION.findall(disassembled(kernel.cubin, tmp_path)))

    assert instructions() < instructions(HoistGuardedIndices.name)
