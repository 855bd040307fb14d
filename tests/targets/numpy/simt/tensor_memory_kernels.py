"""Kernels for tensor memory, written at the thread level by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.simt.simt_support import HEADER
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.layouts.hardware.descriptors import MatrixDescriptor, OperandTile
from tilewright.layouts.hardware.tcgen05 import result_columns
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

TYPES: dict[str, tuple[str, Any, str]] = {
    # kind and NumPy type of operands
    "f16": ("f16", np.float16, "f32"),
    "bf16": ("f16", ml_dtypes.bfloat16, "f32"),
    "f32": ("tf32", np.float32, "f32"),
    "f8E4M3FN": ("f8f6f4", ml_dtypes.float8_e4m3fn, "f32"),
    "f8E5M2": ("f8f6f4", ml_dtypes.float8_e5m2, "f32"),
    "i8": ("i8", np.int8, "i32"),
}


def parsed(text: str) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), HEADER + text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


@dataclass(frozen=True)
class Gemm:
    """One tile ``m x n`` of C by one CTA or a pair, in steps of `block_k`."""

    m: int = 128
    n: int = 64
    k: int = 128
    block_k: int = 64
    dtype: str = "f16"
    group: int = 1
    swizzle: int = 128
    a_along_m: bool = False
    b_along_n: bool = False
    result: str = ""
    shape: str = "32x32b"

    @property
    def kind(self) -> str:
        return TYPES[self.dtype][0]

    @property
    def numpy(self) -> Any:
        return TYPES[self.dtype][1]

    @property
    def size(self) -> int:
        return np.dtype(self.numpy).itemsize

    @property
    def depth(self) -> int:
        return 32 // self.size

    @property
    def d(self) -> str:
        return self.result or TYPES[self.dtype][2]

    @property
    def rows(self) -> int:
        """Of A and of C in one CTA."""
        return self.m // self.group

    def tile(self, extent: int, along: bool) -> OperandTile:
        shape = (self.block_k, extent) if along else (extent, self.block_k)
        bits = 8 * self.size
        return OperandTile(*shape, bits, self.swizzle, not along, is_tcgen05=True)

    def boxes(self, tile: OperandTile) -> list[tuple[int, int]]:
        """The columns of the boxes that fill a tile, and their elements in it."""
        return [
            (column, column // tile.chunk * tile.rows * tile.chunk)
            for column in range(0, tile.columns, tile.chunk)
        ]


def _descriptor(name: str, buffer: str, size: int, found: MatrixDescriptor) -> str:
    return (
        f"%{name} = nv.tcgen05.matrix %{buffer}[%c0] advance({found.start}) "
        f"swizzle({found.swizzle}) leading({found.leading}) stride({found.stride}) : {size}"
    )


def gemm_text(g: Gemm, changes: Sequence[tuple[str, str]] = ()) -> str:
    """The kernel; `changes` replace parts of its text, each of which it must have."""
    tiles = g.tile(g.rows, g.a_along_m), g.tile(g.n // g.group, g.b_along_n)
    elements = [each.rows * each.columns for each in tiles]
    types = [f"memref<{count}x{g.dtype}, #shared>" for count in elements]
    bars = "memref<1x!nv.mbarrier, #barrier>"
    shapes = [
        f"{g.k}x{g.m}" if g.a_along_m else f"{g.m}x{g.k}",
        f"{g.k}x{g.n}" if g.b_along_n else f"{g.n}x{g.k}",
    ]
    offsets = [0, elements[0] * g.size]
    barrier_at = offsets[1] + elements[1] * g.size
    columns = result_columns(g.m, g.n, g.group)
    allocated = max(32, 1 << (columns - 1).bit_length())
    group = " group(2)" if g.group == 2 else ""
    pair = " {pair}" if g.group == 2 else ""
    loads: list[str] = []
    for side, (name, tile, along) in enumerate(
        zip("AB", tiles, (g.a_along_m, g.b_along_n), strict=True)
    ):
        for number, (column, start) in enumerate(g.boxes(tile)):
            first, second = ("%at", f"%{name}o{number}") if along else (f"%{name}o", f"%at{number}")
            if along:
                loads.append(f"%{name}c{number} = arith.constant {column} : index")
                loads.append(f"{second} = arith.addi %first{name}, %{name}c{number} : index")
            else:
                loads.append(f"%{name}c{number} = arith.constant {column} : index")
                loads.append(f"%at{name}{number} = arith.addi %at, %{name}c{number} : index")
                first, second = f"%first{name}", f"%at{name}{number}"
            loads.append(f"%{name}s{number} = arith.constant {start} : index")
            loads.append(
                f"nv.tma_load %{name}m[{first}, {second}] -> %{name}s[%{name}s{number}] "
                f"barrier %full[%c0]{pair} : {types[side]}, {bars}"
            )
    mmas: list[str] = []
    for step in range(g.block_k // g.depth):
        for side, (name, tile) in enumerate(zip("ab", tiles, strict=True)):
            found = tile.operand(k=step * g.depth)
            mmas.append(
                _descriptor(f"{name}{step}", f"{name.upper()}s", 0, found)[:-1] + types[side]
            )
        transposed = ", ".join(
            word
            for word, is_there in (("transposed_a", g.a_along_m), ("transposed_b", g.b_along_n))
            if is_there
        )
        use = "%later" if step == 0 else "%true"
        mmas.append(
            f"nv.tcgen05.mma %a{step}, %b{step} -> %t kind({g.kind}) "
            f"shape [{g.m}, {g.n}, {g.depth}] types({g.dtype}, {g.dtype}, {g.d}){group} "
            f"use_acc({use})" + (f" {{{transposed}}}" if transposed else "") + " : i64"
        )
    box = [f"[{tile.rows}, {tile.chunk}]" for tile in tiles]
    lead = "%leads" if g.group == 2 else "%true"
    cluster = ", nv.cluster = [2, 1, 1]" if g.group == 2 else ""
    bytes = sum(elements) * g.size * g.group
    out = f"memref<{g.m * g.n}x{g.d if g.d != 'f16' else 'f16'}, #global>"
    commit = f"nv.tcgen05.commit %done[%c0]{group}{' multicast %both' if group else ''} : {bars}"
    text = f"""
module {{
  func.func public @main(%A: memref<{shapes[0]}x{g.dtype}, #global>,
      %B: memref<{shapes[1]}x{g.dtype}, #global>, %C: {out}) {{
    %c1 = arith.constant 1 : index
    %blocks = arith.constant {g.group} : index
    %Am = nv.tensormap %A box {box[0]} swizzle({g.swizzle}) : memref<{shapes[0]}x{g.dtype}, #global>
    %Bm = nv.tensormap %B box {box[1]} swizzle({g.swizzle}) : memref<{shapes[1]}x{g.dtype}, #global>
    simt.launch @kernel grid(%blocks, %c1, %c1) args(%Am, %Bm, %C)
      : !nv.tensormap, !nv.tensormap, {out}
    func.return
  }}
  func.func @kernel(%Am: !nv.tensormap, %Bm: !nv.tensormap, %C: {out})
      attributes {{simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = {barrier_at + 32} : i64,
                  tile.target = #tile.target<cuda, sm_100a>{cluster}}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %true = arith.constant true
    %both = arith.constant 3 : i16
    %tid = gpu.thread_id x
    %warp = arith.divui %tid, %c32 : index
    %first = arith.cmpi eq, %tid, %c0 : index
    %warp0 = arith.cmpi eq, %warp, %c0 : index
    %rank32 = nv.cluster.rank
    %rank = arith.index_cast %rank32 : i32 to index
    %leads = arith.cmpi eq, %rank, %c0 : index
    %As = tile.alloc "As" offset 0 {{simt.align = 1024 : i64}} : {types[0]}
    %Bs = tile.alloc "Bs" offset {offsets[1]} {{simt.align = 1024 : i64}} : {types[1]}
    %full = tile.alloc "full" init [1] offset {barrier_at} : {bars}
    %done = tile.alloc "done" init [1] offset {barrier_at + 8} : {bars}
    %slot = tile.alloc "slot" offset {barrier_at + 16} : memref<1xi32, #shared>
    scf.if %first {{
      nv.mbarrier.init %full[%c0], 1 : {bars}
      nv.mbarrier.init %done[%c0], 1 : {bars}
      nv.fence_barrier_init
    }}
    scf.if %warp0 {{
      nv.tcgen05.alloc %slot[%c0] columns({allocated}){group} : memref<1xi32, #shared>
      nv.tcgen05.relinquish{group}
    }}
    nv.tcgen05.fence before
    gpu.barrier
    {"nv.cluster.arrive" if group else ""}
    {"nv.cluster.wait" if group else ""}
    nv.tcgen05.fence after
    %t = memref.load %slot[%c0] : memref<1xi32, #shared>
    %rows = arith.constant {g.rows} : index
    %shard = arith.constant {g.n // g.group} : index
    %firstA = arith.muli %rank, %rows : index
    %firstB = arith.muli %rank, %shard : index
    %steps = arith.constant {g.k // g.block_k} : index
    %depth = arith.constant {g.block_k} : index
    scf.if %first {{
      scf.for %s = %c0 to %steps step %c1 {{
        %c2 = arith.constant 2 : index
        %at = arith.muli %s, %depth : index
        %parity = arith.remui %s, %c2 : index
        %later = arith.cmpi ne, %s, %c0 : index
        scf.if {lead} {{
          nv.mbarrier.arrive_expect_tx %full[%c0], {bytes} : {bars}
        }}
        {NEW.join(loads)}
        scf.if {lead} {{
          nv.mbarrier.wait %full[%c0], %parity : {bars}, index
          {NEW.join(mmas)}
          {commit}
        }}
        nv.mbarrier.wait %done[%c0], %parity : {bars}, index
      }}
    }}
    {_epilogue(g, bars)}
    gpu.barrier
    {"nv.cluster.arrive" if group else ""}
    {"nv.cluster.wait" if group else ""}
    scf.if %warp0 {{
      nv.tcgen05.dealloc %t columns({allocated}){group}
    }}
    func.return
  }}
}}"""
    for old, new in changes:
        assert old in text, f"the kernel does not have {old}"
        text = text.replace(old, new)
    return text


NEW = "\n          "


def _epilogue(g: Gemm, bars: str) -> str:
    """All threads wait for the last step, and write the rows that their lanes have."""
    last = (g.k // g.block_k - 1) % 2
    columns = result_columns(g.m, g.n, g.group)
    is_f = g.group == 1 and g.m == 64
    out = f"memref<{g.m * g.n}x{g.d}, #global>"
    halves = " {pack16}" if g.d == "f16" else ""
    loads: list[str] = []
    step = min(columns, 128)
    for start in range(0, columns, step):
        count = step // 2 if halves else step
        loads += [
            f"%l{start} = arith.constant {start} : i32",
            f"%i{start} = arith.constant {start} : index",
            f"%own{start} = arith.addi %own, %l{start} : i32",
            f'nv.tcgen05.ld %own{start} -> %r[%i{start}] shape("32x32b") count({count}){halves} '
            f": memref<{columns}x{g.d}, #local>",
        ]
    split = columns != g.n
    return f"""
    %last = arith.constant {last} : index
    nv.mbarrier.wait %done[%c0], %last : {bars}, index
    nv.tcgen05.fence after
    %r = tile.alloc "r" : memref<{columns}x{g.d}, #local>
    %warp32 = arith.index_cast %warp : index to i32
    %c21 = arith.constant 21 : i32
    %quarter = arith.shli %warp32, %c21 : i32
    %own = arith.addi %t, %quarter : i32
    {NEW.join(loads)}
    nv.tcgen05.wait_ld
    nv.tcgen05.fence before
    %lane = arith.remui %tid, %c32 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %columns = arith.constant {columns} : index
    %width = arith.constant {g.n} : index
    %in16 = arith.muli %warp, {"%c16" if is_f else "%c32"} : index
    %high = arith.addi %in16, %lane : index
    %row64 = arith.remui %high, %c64 : index
    %half = arith.divui %high, %c64 : index
    %local = arith.addi {"%row64" if split else "%high"}, %c0 : index
    %row = arith.addi %local, %firstA : index
    %rowstart = arith.muli %row, %width : index
    %skip = arith.muli %half, %columns : index
    %start = arith.addi %rowstart, {"%skip" if split else "%c0"} : index
    %limit = arith.constant {16 if is_f else 32} : index
    %writes = arith.cmpi ult, %lane, %limit : index
    scf.if %writes {{
      scf.for %j = %c0 to %columns step %c1 {{
        %to = arith.addi %start, %j : index
        %v = memref.load %r[%j] : memref<{columns}x{g.d}, #local>
        memref.store %v, %C[%to] : {out}
      }}
    }}"""


def operands(g: Gemm, seed: int = 0) -> tuple[Any, Any]:
    """Small whole numbers, [m, k] and [n, k]."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-3, 4, (g.m, g.k)).astype(g.numpy),
        rng.integers(-3, 4, (g.n, g.k)).astype(g.numpy),
    )


def run_gemm(
    g: Gemm, options: SimtOptions | None = None, changes: Sequence[tuple[str, str]] = ()
) -> tuple[Any, Any]:
    """The kernel's result and the right one."""
    a, b = operands(g)
    result = {"f32": np.float32, "i32": np.int32, "f16": np.float16}[g.d]
    c = np.full((g.m, g.n), 99, result)
    given_a = np.ascontiguousarray(a.T) if g.a_along_m else a
    given_b = np.ascontiguousarray(b.T) if g.b_along_n else b
    module = parsed(gemm_text(g, changes))
    buffers = [Buffer("A", given_a), Buffer("B", given_b), Buffer("C", c.reshape(-1))]
    compile_simt(module).launch(buffers, options or SimtOptions(schedules=3))
    return c, a.astype(np.float64) @ b.astype(np.float64).T
