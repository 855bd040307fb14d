"""A GEMM of one tile a block, written by hand at the Tensix level, and its host program."""

import numpy as np

from tilewright.dialects import make_context
from tilewright.dialects.tensix.chips import simulated
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.targets.tenstorrent.formats import TileFormat, tilize, untilize
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    KernelSource,
    Processor,
    Program,
    circular_buffer,
    core_set,
)

READER = """
tensix.kernel @reader role(reader) attributes {runtime_args = ["a_addr", "b_addr", "kt", "nt", "start_id", "count"], compile_args = ["a", "a.page", "b", "b.page"]} {
  %a_addr = tensix.arg 0 "a_addr"
  %b_addr = tensix.arg 1 "b_addr"
  %kt = tensix.arg 2 "kt"
  %nt = tensix.arg 3 "nt"
  %start = tensix.arg 4 "start_id"
  %count = tensix.arg 5 "count"
  %cb0 = tensix.cb 0 "A" : !cb
  %cb1 = tensix.cb 1 "B" : !cb
  %a = tensix.accessor %a_addr ct_offset(0) "A" : !acc
  %b = tensix.accessor %b_addr ct_offset(2) "B" : !acc
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %z to %count step %one {
    %t = arith.addi %start, %i : index
    %by, %bx = tensix.raster row_major %t, %nt, %nt
    scf.for %k = %z to %kt step %one {
      %row = arith.muli %by, %kt : index
      %pa = arith.addi %row, %k : index
      %line = arith.muli %k, %nt : index
      %pb = arith.addi %line, %bx : index
      tensix.cb_reserve %cb0, %one : !cb
      %wa = tensix.cb_write_ptr %cb0 : !cb
      tensix.noc_read_tile %pa, %a, %wa : !acc
      tensix.cb_reserve %cb1, %one : !cb
      %wb = tensix.cb_write_ptr %cb1 : !cb
      tensix.noc_read_tile %pb, %b, %wb : !acc
      tensix.noc_barrier read
      tensix.cb_push %cb0, %one : !cb
      tensix.cb_push %cb1, %one : !cb
    }
  }
}
"""

COMPUTE = """
tensix.kernel @compute role(compute) attributes {runtime_args = ["count", "kt"]} {
  %count = tensix.arg 0 "count"
  %kt = tensix.arg 1 "kt"
  %cb0 = tensix.cb 0 "A" : !cb
  %cb1 = tensix.cb 1 "B" : !cb
  %cb16 = tensix.cb 16 "C" : !cb
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  tensix.hw_startup %cb0, %cb1, %cb16 {matmul} : !cb, !cb, !cb
  tensix.init matmul(%cb0, %cb1) : !cb, !cb
  scf.for %i = %z to %count step %one {
    tensix.dst_acquire
    scf.for %k = %z to %kt step %one {
      tensix.cb_wait %cb0, %one : !cb
      tensix.cb_wait %cb1, %one : !cb
      tensix.matmul_tile %cb0[%z], %cb1[%z] -> %z : !cb, !cb
      tensix.cb_pop %cb0, %one : !cb
      tensix.cb_pop %cb1, %one : !cb
    }
    tensix.dst_commit
    tensix.dst_wait
    tensix.cb_reserve %cb16, %one : !cb
    tensix.pack %z -> %cb16 : !cb
    tensix.cb_push %cb16, %one : !cb
    tensix.dst_release
  }
}
"""

WRITER = """
tensix.kernel @writer role(writer) attributes {runtime_args = ["c_addr", "start_id", "count"], compile_args = ["c", "c.page"]} {
  %c_addr = tensix.arg 0 "c_addr"
  %start = tensix.arg 1 "start_id"
  %count = tensix.arg 2 "count"
  %cb16 = tensix.cb 16 "C" : !cb
  %c = tensix.accessor %c_addr ct_offset(0) "C" : !acc
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %z to %count step %one {
    %t = arith.addi %start, %i : index
    tensix.cb_wait %cb16, %one : !cb
    %r = tensix.cb_read_ptr %cb16 : !cb
    tensix.noc_write_tile %t, %c, %r : !acc
    tensix.noc_barrier write
    tensix.cb_pop %cb16, %one : !cb
  }
}
"""

TYPES = "!cb = !tensix.cb<2 x 2048, bf16>\n!acc = !tensix.accessor<2, bf16>\n"
TEXT = TYPES + READER + COMPUTE + WRITER


def kernels_of(text, *, check=True):
    """The kernels of a text by name, verified unless a test breaks a rule on purpose."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "gemm.mlir", engine)
    engine.raise_if_errors()
    if check:
        verify(source.module, engine)
        engine.raise_if_errors()
    return {op.sym_name.data: op for op in source.module.body.ops}


def gemm_program(m, n, k, grid=(8, 8), blocks_of=None):
    """The host program for `m` x `n` x `k` tiles."""
    total = m * n
    chip = simulated(*grid)
    base, more = divmod(total, chip.num_cores)
    cores, counts = [], {}
    for c in range(chip.num_cores):
        count = base + (c < more)
        if count:
            core = (c % grid[0], c // grid[0])
            cores.append(core)
            counts[core] = (c * base + min(c, more), count)
    active = core_set(cores)
    bf16 = TileFormat.BF16
    return Program(
        name="gemm",
        chip=chip,
        buffers=(
            Buffer("A", 2048, m * k),
            Buffer("B", 2048, k * n),
            Buffer("C", 2048, m * n, output=True),
        ),
        circular_buffers=tuple(
            circular_buffer(index, bf16, pages=2, cores=active) for index in (0, 1, 16)
        ),
        kernels=(
            KernelSource(
                "reader",
                Processor.RISCV_1,
                active,
                compile_args=(Accessor("A"), Accessor("B")),
                runtime_args={
                    core: (Address("A"), Address("B"), k, n, *counts[core]) for core in cores
                },
            ),
            KernelSource(
                "compute",
                Processor.COMPUTE,
                active,
                runtime_args={core: (counts[core][1], k) for core in cores},
            ),
            KernelSource(
                "writer",
                Processor.RISCV_0,
                active,
                compile_args=(Accessor("C"),),
                runtime_args={core: (Address("C"), *counts[core]) for core in cores},
            ),
        ),
    )


def inputs_of(m, n, k, seed=0):
    """Random small integers, for which bf16 and fp32 arithmetic is exact."""
    draw = np.random.default_rng(seed)
    bf16 = TileFormat.BF16.dtype
    a = draw.integers(-2, 3, (32 * m, 32 * k)).astype(bf16)
    b = draw.integers(-2, 3, (32 * k, 32 * n)).astype(bf16)
    return a, b


def pages(array):
    return tilize(array).tobytes()


def matrix(data, rows, columns):
    found = np.frombuffer(data, TileFormat.BF16.dtype).reshape(-1, 1024)
    return untilize(found, (rows, columns))
