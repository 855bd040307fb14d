"""Our descriptors of ``tcgen05`` against those in the PTX that the installed Triton makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.layouts import triton_oracle
from tests.layouts.hardware.test_descriptors_in_ptx import OPERATIONS, fields
from tilewright.layouts.hardware.descriptors import MatrixDescriptor, OperandTile
from tilewright.layouts.hardware.tcgen05 import InstructionDescriptor, decode_matrix, encode_matrix

KERNEL = """
#blocked = #ttg.blocked<{{sizePerThread = [1, {n}], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}}>
#sa = #ttg.nvmma_shared<{{swizzlingByteWidth = {sa}, transposed = {ta}, elementBitWidth = {bits}}}>
#sb = #ttg.nvmma_shared<{{swizzlingByteWidth = {sb}, transposed = {tb}, elementBitWidth = {bits}}}>
#bar = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = {n}, colStride = 1>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @dot(%p: !tt.ptr<{d}>) {{
    %true = arith.constant true
    %false = arith.constant false
    %c0 = arith.constant 0 : i32
    %a = ttg.local_alloc : () -> !ttg.memdesc<128x{k}x{type}, #sa, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<{k}x{n}x{type}, #sb, #smem, mutable>
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %d = ttng.tmem_alloc : () -> !ttg.memdesc<128x{n}x{d}, #tmem, #ttng.tensor_memory, mutable>
    ttng.tc_gen5_mma %a, %b, %d, %false, %true, %bar[%true] {{is_async}} : !ttg.memdesc<128x{k}x{type}, #sa, #smem, mutable>, !ttg.memdesc<{k}x{n}x{type}, #sb, #smem, mutable>, !ttg.memdesc<128x{n}x{d}, #tmem, #ttng.tensor_memory, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %r = ttng.tmem_load %d : !ttg.memdesc<128x{n}x{d}, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x{n}x{d}, #blocked>
    %pp = tt.splat %p : !tt.ptr<{d}> -> tensor<128x{n}x!tt.ptr<{d}>, #blocked>
    tt.store %pp, %r : tensor<128x{n}x!tt.ptr<{d}>, #blocked>
    tt.return
  }}
}}
"""


@dataclass(frozen=True)
class Case:
    """An MMA of 128 rows; kind, types of PTX, element type and bits of the IR."""

    kind: str
    types: tuple[str, str]
    type: str
    bits: int
    n: int
    k: int
    swizzles: tuple[int, int] = (128, 128)
    a_along_m: bool = False
    b_along_n: bool = False

    @property
    def tiles(self) -> tuple[OperandTile, OperandTile]:
        a = (self.k, 128) if self.a_along_m else (128, self.k)
        b = (self.k, self.n) if self.b_along_n else (self.n, self.k)
        sa, sb = self.swizzles
        return (
            OperandTile(*a, self.bits, sa, not self.a_along_m, is_tcgen05=True),
            OperandTile(*b, self.bits, sb, not self.b_along_n, is_tcgen05=True),
        )


F16 = ("f16", ("f16", "f32"), "f16", 16)
BF16 = ("f16", ("bf16", "f32"), "bf16", 16)
TF32 = ("tf32", ("tf32", "f32"), "f32", 32)
E4M3 = ("f8f6f4", ("e4m3", "f32"), "f8E4M3FN", 8)
E5M2 = ("f8f6f4", ("e5m2", "f32"), "f8E5M2", 8)
CASES = [
    Case(*F16, n=64, k=64),
    Case(*F16, n=64, k=64, a_along_m=True),
    Case(*F16, n=128, k=64, b_along_n=True),
    Case(*BF16, n=128, k=32, swizzles=(64, 128), a_along_m=True, b_along_n=True),
    Case(*BF16, n=32, k=64, swizzles=(128, 64), b_along_n=True),
    Case(*F16, n=64, k=32, swizzles=(64, 64)),
    Case(*TF32, n=64, k=32),
    Case(*E4M3, n=64, k=128),
    Case(*E5M2, n=128, k=64, swizzles=(64, 64)),
    Case(*E4M3, n=128, k=64, a_along_m=True, b_along_n=True),
]


def values_of(ptx: str) -> tuple[dict[str, int], list[tuple[str, ...]]]:
    """Registers whose values do not depend on data, and the operands of each MMA."""
    values = {"global_smem": 0}
    found: list[tuple[str, ...]] = []
    for line in ptx.splitlines():
        mma = re.search(
            r"tcgen05\.mma\.cta_group::1\.kind::(\w+) \[[^]]*\], *(%\w+), *(%\w+), *(%\w+)", line
        )
        if mma:
            found.append(mma.groups())
            continue
        pair = re.match(r"\s*mov\.b64\s+(%\w+), \{(%\w+), (%\w+)\};", line)
        if pair and pair[2] in values and pair[3] in values:
            values[pair[1]] = values[pair[2]] | (values[pair[3]] & 0xFFFFFFFF) << 32
            continue
        step = re.match(r"\s*(\w+)\.[\w.]+\s+(%rd?\d+), (.*);", line)
        if not step or step[1] not in OPERATIONS:
            continue
        operands = [operand.strip() for operand in step[3].split(",")]
        inputs = [values.get(o, int(o) if re.fullmatch(r"-?\d+", o) else None) for o in operands]
        if None not in inputs:
            values[step[2]] = OPERATIONS[step[1]](*inputs)
    return values, found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_descriptors_are_those_of_tritons_ptx(case: Case, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    triton_oracle.require()
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget

    source = tmp_path / "dot.ttgir"
    flags = {"ta": case.a_along_m, "tb": not case.b_along_n}
    source.write_text(
        KERNEL.format(
            n=case.n,
            k=case.k,
            type=case.type,
            bits=case.bits,
            d="f32",
            sa=case.swizzles[0],
            sb=case.swizzles[1],
            **{name: str(flag).lower() for name, flag in flags.items()},
        ),
        encoding="utf-8",
    )
    target = GPUTarget("cuda", 100, 32)
    ptx = triton.compile(str(source), target=target, options={"num_warps": 4}).asm["ptx"]
    values, mmas = values_of(ptx)
    depth = 256 // case.bits
    tiles = case.tiles
    assert len(mmas) == case.k // depth

    operand, result = case.types
    transposed = (case.a_along_m, case.b_along_n)
    shape = (128, case.n, depth)
    ours = InstructionDescriptor(case.kind, shape, (operand, operand, result), transposed)
    assert {(kind, values[code] & 0xFFFFFFFF) for kind, _, _, code in mmas} == {
        (case.kind, ours.encode())
    }

    found_pairs = [tuple(decode_matrix(values[each]) for each in mma[1:3]) for mma in mmas]
    for side, (tile, extent) in enumerate(zip(tiles, (128, case.n), strict=True)):
        base = min(pair[side].start for pair in found_pairs)
        found = [fields(tile, pair[side], base, extent) for pair in found_pairs]
        expected = [fields(tile, tile.operand(k=k), 0, extent) for k in range(0, case.k, depth)]
        assert found == expected

    # A load of 32 lanes: the warp's quarter in the upper half of the address.
    assert f"tcgen05.ld.sync.aligned.32x32b.x{case.n}.b32" in ptx
    assert re.search(r"shl\.b32 +\t?%r\d+, %r\d+, 21;", ptx)


def test_matrix_descriptors_round_trip() -> None:
    for swizzle in (0, 32, 64, 128):
        made = MatrixDescriptor(0x1230, 4096, 1024, swizzle, base_offset=3)
        assert decode_matrix(encode_matrix(made)) == made
    with pytest.raises(ValueError, match="matrix descriptor has version 0, expected 1"):
        decode_matrix(MatrixDescriptor(0, 16, 1024, 128).encode())


def test_instruction_descriptors_of_block_scales() -> None:
    """The fields of the PTX manual's table for .block_scale, by hand."""
    types = ("e4m3", "e5m2", "f32")
    made = InstructionDescriptor("mxf8f6f4", (128, 64, 32), types, scale_ids=(2, 1))
    assert made.encode() == 2 << 29 | 128 >> 4 << 24 | 1 << 23 | 64 >> 3 << 17 | 1 << 10 | 1 << 4
