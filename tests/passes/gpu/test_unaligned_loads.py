"""Rows that begin anywhere: wide loads that are shifted, stores of contiguous threads."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, check, lowered, product, source_of, whole
from tests.passes.gpu.tile_text import parsed
from tilewright import T
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lanes.widen import Widening
from tilewright.targets.cuda.header.copies import COPIES


def unaligned(module: Any) -> int:
    return sum(isinstance(op, MoveOp) and op.is_unaligned for op in walk(module))


@tw.jit
def copy(X, first=0, dtype="float16"):
    """Rows from column `first` on, to rows that are aligned."""
    rows, columns = T.const("rows, columns")
    X: T.Tensor((rows, columns), dtype)
    width = T.ceildiv(columns, 16) * 16
    Y = T.empty((rows, width), dtype)
    with T.Kernel(T.ceildiv(rows, 8), T.ceildiv(width, 64), threads=32) as (by, bx):
        for i, j in T.Parallel(8, 64):
            Y[by * 8 + i, bx * 64 + j] = X[by * 8 + i, bx * 64 + j + first]
    return Y


def from_column(first: int, dtype: str = "float16") -> Any:
    """`copy` with its options, as a kernel of one argument."""

    class Kernel:
        get_tir = staticmethod(partial(copy.get_tir, first=first, dtype=dtype))
        traced = staticmethod(partial(copy.traced, first=first, dtype=dtype))
        __call__ = staticmethod(partial(copy, first=first, dtype=dtype))

    return Kernel()


@pytest.mark.parametrize(
    ("rows", "columns", "first", "dtype"),
    [
        (9, 77, 0, "float16"),
        (9, 78, 0, "float16"),
        (5, 129, 3, "float16"),
        (9, 80, 5, "float16"),
        (6, 101, 0, "int8"),
        (1, 33, 0, "float16"),
    ],
)
def test_rows_that_begin_anywhere_are_read_in_wide_accesses(
    rows: int, columns: int, first: int, dtype: str
) -> None:
    kernel, x = from_column(first, dtype), whole(columns, rows, columns, dtype=dtype)
    expected = np.zeros((rows, -(-columns // 16) * 16), dtype)
    expected[:, : columns - first] = x[:, first:]
    check(kernel, x, expected=expected)
    module, _ = lowered(kernel, x)
    assert unaligned(module) >= 1
    assert "tw::load_unaligned(" in source_of(module)


@pytest.mark.parametrize(("columns", "dtype"), [(80, "float16"), (76, "float16"), (77, "float32")])
def test_rows_of_8_aligned_bytes_and_wide_elements_are_not_shifted(
    columns: int, dtype: str
) -> None:
    x = whole(1, 9, columns, dtype=dtype)
    module, _ = lowered(from_column(0, dtype), x)
    assert unaligned(module) == 0


def test_a_tensor_of_less_than_two_units_is_not_shifted() -> None:
    module, _ = lowered(copy, whole(1, 1, 15))
    assert unaligned(module) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%A[%i] -> %a[%i] lanes(4) {simt.unaligned} : !g, !l", "access size must be 16 bytes"),
        ("%a[%i] -> %A[%i] lanes(8) {simt.unaligned} : !l, !g", "only reads of global memory"),
    ],
)
def test_only_wide_reads_of_tensors_begin_anywhere(text: str, message: str) -> None:
    types = {"!g": "memref<64xf16, #tile.space<global>>", "!l": "memref<8xf16, #tile.space<local>>"}
    for short, type in types.items():
        text = text.replace(short, type)
    arguments = f"%A: {types['!g']}, %a: {types['!l']}, %i: index"
    with pytest.raises(Exception, match=message):
        parsed(f"func.func @f({arguments}) {{ simt.move {text} func.return }}")


def test_units_past_the_end_of_a_tensor_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the test for the end of the tensor, the last row reads past it."""

    def always(self: Widening, code: Any, *_: Any) -> Any:
        one = code.index(1)
        return code.add(CmpiOp("eq", one, one)).results[0]

    monkeypatch.setattr(Widening, "_has_units", always)
    x = whole(1, 3, 41)
    module, _ = lowered(copy, x)
    with pytest.raises(Exception, match=r"access out of bounds: thread .* accesses X"):
        by_threads(copy, module, (x,), np.zeros((3, 48), np.float16))


@tw.jit
def pipelined_gemm(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        staged = T.alloc_shared((64, 64), "float16")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            T.copy(A[by * 64, k * 32], a)
            T.copy(B[k * 32, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, staged)
        T.copy(staged, C[by * 64, bx * 64])
    return C


def test_a_pipelined_copy_of_odd_rows_is_shifted() -> None:
    a, b = whole(1, 70, 77), whole(2, 77, 67)
    engine = check(pipelined_gemm, a, b, expected=product(a, b).astype(np.float16))
    module, _ = lowered(pipelined_gemm, a, b)
    assert unaligned(module) >= 2
    shifted = [each.message for each in engine.diagnostics if "and shifted" in each.message]
    assert len(shifted) == 2  # once for A, once for B


def test_contiguous_threads_store_contiguous_elements_of_odd_rows() -> None:
    """A warp writes 64 contiguous bytes, not 2 of every 16."""
    a, b = whole(1, 70, 80), whole(2, 80, 67)
    module, _ = lowered(pipelined_gemm, a, b)
    wide = [
        op.width
        for op in walk(module)
        if isinstance(op, MoveOp) and op.width > 1 and _leaves_shared(op)
    ]
    assert not wide  # each thread reads one element of the staged tile at a time
    check(pipelined_gemm, a, b, expected=product(a, b).astype(np.float16), cubin=False)


def _leaves_shared(op: MoveOp) -> bool:
    space = space_of(op.src.type)
    return space is not None and space.is_shared and space is not Space.GLOBAL


def test_a_staged_accumulator_has_no_bank_conflicts() -> None:
    """Its rows are 128 bytes: without a swizzle eight of them are in the same banks."""
    a, b = whole(1, 70, 80), whole(2, 80, 67)
    source = source_of(lowered(pipelined_gemm, a, b)[0])
    (store,) = [line for line in source.splitlines() if "tw::stmatrix_x4(staged" in line]
    index = store.split("staged + ")[1].split(",")[0]
    (definition,) = [line for line in source.splitlines() if f"const int {index} = " in line]
    assert "^" in definition


@pytest.mark.skipif(
    shutil.which("g++") is None, reason="no g++ to run device functions on the host"
)
def test_the_shift_of_every_address(tmp_path: Path) -> None:
    program = f"""
#include <cstring>
struct uint4 {{ unsigned x, y, z, w; }};
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {{ return {{x, y, z, w}}; }}
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {{
  return unsigned(((static_cast<unsigned long long>(high) << 32) | low) >> (by & 31));
}}
#define __device__
#define __forceinline__ inline
{COPIES["load_unaligned"].text}
int main() {{
  alignas(16) unsigned char memory[48], found[16];
  for (int i = 0; i < 48; ++i) memory[i] = 7 * i + 3;
  for (int start = 0; start < 32; ++start) {{
    load_unaligned(found, memory + start);
    if (memcmp(found, memory + start, 16)) return 1 + start;
  }}
}}
"""
    source, binary = tmp_path / "shift.cpp", tmp_path / "shift"
    source.write_text(program)
    subprocess.run(["g++", "-std=c++17", "-o", str(binary), str(source)], check=True)
    assert subprocess.run([str(binary)], check=False).returncode == 0


def test_long_loops_of_single_elements_are_unrolled_in_part() -> None:
    """Fully unrolled, the addresses of 96 stores take registers that spill."""
    a, b = whole(1, 70, 80), whole(2, 80, 67)
    source = source_of(lowered(pipelined_gemm, a, b)[0])
    before_store = source.split("] = v_")[0].splitlines()
    loops = [line for line in before_store if "#pragma unroll" in line]
    assert loops[-1].strip() == "#pragma unroll 16"
