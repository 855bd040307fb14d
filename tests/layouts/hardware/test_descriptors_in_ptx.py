"""Our matrix descriptors against those in the PTX that the installed Triton makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.layouts import triton_oracle
from tilewright.layouts.hardware.descriptors import MatrixDescriptor, OperandTile

KERNEL = """
#mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, {n}, 16]}}>
#sa = #ttg.nvmma_shared<{{swizzlingByteWidth = {sa}, transposed = {ta}, elementBitWidth = 16}}>
#sb = #ttg.nvmma_shared<{{swizzlingByteWidth = {sb}, transposed = {tb}, elementBitWidth = 16}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @dot(%p: !tt.ptr<f32>) {{
    %zero = arith.constant dense<0.000000e+00> : tensor<{m}x{n}xf32, #mma>
    %true = arith.constant true
    %a = ttg.local_alloc : () -> !ttg.memdesc<{m}x{k}xf16, #sa, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<{k}x{n}xf16, #sb, #smem, mutable>
    %d = ttng.warp_group_dot %a, %b, %zero, %true {{inputPrecision = 0 : i32}} : !ttg.memdesc<{m}x{k}xf16, #sa, #smem, mutable> * !ttg.memdesc<{k}x{n}xf16, #sb, #smem, mutable> -> tensor<{m}x{n}xf32, #mma>
    %pp = tt.splat %p : !tt.ptr<f32> -> tensor<{m}x{n}x!tt.ptr<f32>, #mma>
    tt.store %pp, %d : tensor<{m}x{n}x!tt.ptr<f32>, #mma>
    tt.return
  }}
}}
"""

OPERATIONS: dict[str, Any] = {
    "mov": lambda x: x,
    "cvt": lambda x: x,
    "add": lambda x, y: x + y,
    "or": lambda x, y: x | y,
    "and": lambda x, y: x & y,
    "shr": lambda x, y: x >> y,
    "bfe": lambda x, first, count: x >> first & ((1 << count) - 1),
}


def descriptors(ptx: str) -> list[tuple[MatrixDescriptor, MatrixDescriptor]]:
    """The operands of each wgmma, the dynamic shared memory starting at address 0."""
    values = {"global_smem": 0}
    found: list[tuple[str, str]] = []
    for line in ptx.splitlines():
        wgmma = re.search(r"wgmma\.mma_async[^{]*\{[^}]*\}, *(%rd\d+), *(%rd\d+)", line)
        if wgmma:
            found.append((wgmma[1], wgmma[2]))
            continue
        step = re.match(r"\s*(\w+)\.[\w.]+\s+(%rd?\d+), (.*);", line)
        if not step or step[1] not in OPERATIONS:
            continue
        operands = [operand.strip() for operand in step[3].split(",")]
        inputs = [values.get(o, int(o) if re.fullmatch(r"-?\d+", o) else None) for o in operands]
        if None not in inputs:
            values[step[2]] = OPERATIONS[step[1]](*inputs)
    return [tuple(MatrixDescriptor.decode(values[name]) for name in pair) for pair in found]


CASES = [
    # m, n, k, swizzle of A, A contiguous along M, swizzle of B, B contiguous along K
    (64, 128, 64, 128, False, 128, False),
    (64, 64, 64, 64, True, 32, True),
    (128, 32, 128, 128, True, 64, False),
    (64, 64, 32, 64, False, 64, True),
    (64, 256, 32, 32, False, 32, False),
    (128, 64, 64, 64, True, 128, True),
    (64, 128, 128, 32, True, 128, True),
    (128, 128, 128, 128, False, 64, False),
]


def check(case: tuple[int, int, int, int, bool, int, bool], directory: Path) -> None:
    m, n, k, sa, a_along_m, sb, b_along_k = case
    text = KERNEL.format(m=m, n=n, k=k, sa=sa, sb=sb, ta=str(a_along_m).lower(), tb=str(b_along_k).lower())  # fmt: skip
    triton_oracle.require()
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget

    source = directory / "dot.ttgir"
    source.write_text(text, encoding="utf-8")
    kernel = triton.compile(str(source), target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    pairs = descriptors(kernel.asm["ptx"])
    ours_a = OperandTile(k, m, 16, sa, False) if a_along_m else OperandTile(m, k, 16, sa)
    ours_b = OperandTile(n, k, 16, sb) if b_along_k else OperandTile(k, n, 16, sb, False)
    steps = [(row, depth) for row in range(0, m, 64) for depth in range(0, k, 16)]
    assert len(pairs) == len(steps)
    base_a, base_b = (min(pair[side].start for pair in pairs) for side in (0, 1))
    seen = {(fields(ours_a, a, base_a, 64), fields(ours_b, b, base_b, n)) for a, b in pairs}
    expected = {
        (
            fields(ours_a, ours_a.operand(mn=row, k=depth), 0, 64),
            fields(ours_b, ours_b.operand(k=depth), 0, n),
        )
        for row, depth in steps
    }
    assert seen == expected


def fields(
    tile: OperandTile, descriptor: MatrixDescriptor, base: int, extent: int
) -> tuple[int, ...]:
    """What must agree: the leading offset only where the instruction reads several chunks."""
    uses_leading = not tile.k_major and extent > tile.chunk
    leading = descriptor.leading if uses_leading else -1
    return descriptor.start - base, descriptor.stride, descriptor.swizzle, leading


@pytest.mark.parametrize("case", CASES, ids=str)
def test_descriptors_are_those_of_tritons_ptx(case: Any, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    check(case, tmp_path)
