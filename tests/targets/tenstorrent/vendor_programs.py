"""Host sides of the vendor's example programs: their kernels are read from a checkout, unmodified.

Each function returns a `Case`: the program, the pages of its inputs, and a check of the result. The
sizes are smaller than in the vendor's host code; arguments and circular buffers are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.dialects.tensix.chips import ChipSpec, simulated
from tilewright.targets.tenstorrent.execution import Check, RunResult
from tilewright.targets.tenstorrent.formats import TileFormat, tilize, untilize
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    CircularBuffer,
    CircularBufferConfig,
    Core,
    CoreRange,
    CoreSet,
    KernelSource,
    NocX,
    NocY,
    Processor,
    Program,
    Semaphore,
    Sharded,
    Space,
    circular_buffer,
    core_rectangle,
    every_core,
    one_core,
)

BF16 = ml_dtypes.bfloat16
READER, WRITER, COMPUTE = Processor.RISCV_1, Processor.RISCV_0, Processor.COMPUTE
EXAMPLES = Path("tt_metal") / "programming_examples"


@dataclass(frozen=True)
class Case:
    program: Program
    inputs: Mapping[str, Any]
    check: Callable[[RunResult], None]
    off: frozenset[Check] = frozenset()
    """Checks that the program violates: each of them reports, and no other one does."""
    keep_l1: bool = False


def cb(index: int, pages: int, cores: CoreSet) -> CircularBufferConfig:
    return circular_buffer(index, TileFormat.BF16, pages=pages, cores=cores)


def tiles(name: str, count: int, *, output: bool = False) -> Buffer:
    return Buffer(name, 2048, count, output=output)


def random_bf16(shape: tuple[int, ...], seed: int, low: float = -1, high: float = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32).astype(BF16)


def result(run: RunResult, name: str) -> np.ndarray:
    return np.frombuffer(run.buffers[name], dtype=BF16)


def equal(name: str, expected: np.ndarray) -> Callable[[RunResult], None]:
    def check(run: RunResult) -> None:
        np.testing.assert_array_equal(
            result(run, name).astype(np.float32), expected.astype(np.float32).reshape(-1)
        )

    return check


def close(name: str, expected: np.ndarray, tolerance: float = 0.01) -> Callable[[RunResult], None]:
    def check(run: RunResult) -> None:
        actual = result(run, name).astype(np.float32)
        reference = expected.astype(np.float32).reshape(-1)
        np.testing.assert_allclose(actual, reference, rtol=tolerance, atol=tolerance)

    return check


def loopback(root: Path) -> Case:
    data = random_bf16((10, 1024), 1)
    core = one_core()
    words = (Address("l1"), Address("src"), Address("dst"), 10)
    kernel = KernelSource(
        "loopback",
        WRITER,
        core,
        path=root / EXAMPLES / "loopback/kernels/loopback_dram_copy.cpp",
        compile_args=(Accessor("src"), Accessor("dst")),
        runtime_args=every_core(core, *words),
    )
    buffers = (tiles("src", 10), tiles("dst", 10, output=True), Buffer("l1", 2048, 1, Space.L1))
    program = Program("loopback", simulated(1, 1), buffers, (kernel,))
    return Case(program, {"src": data}, equal("dst", data))


def three_kernels(
    root: Path,
    name: str,
    files: tuple[str, ...],
    n: int,
    inputs: tuple[str, ...],
    compile_args: tuple[tuple[Any, ...], ...],
    runtime_args: tuple[tuple[Any, ...], ...],
    cb_pages: int = 2,
) -> Program:
    """Reader, compute and writer of one core over buffers of `n` tiles."""
    core = one_core()
    kernels = tuple(
        KernelSource(
            Path(file).stem,
            processor,
            core,
            path=root / EXAMPLES / file,
            compile_args=ct,
            runtime_args=every_core(core, *rt),
        )
        for file, processor, ct, rt in zip(
            files, (READER, COMPUTE, WRITER), compile_args, runtime_args, strict=True
        )
    )
    buffers = (*(tiles(each, n) for each in inputs), tiles("out", n, output=True))
    cbs = (cb(0, cb_pages, core), cb(1, cb_pages, core), cb(16, cb_pages, core))
    return Program(name, simulated(1, 1), buffers, kernels, cbs)


def binary_case(root: Path, name: str, files: tuple[str, ...], n: int = 16) -> Case:
    a, b = random_bf16((n, 1024), 2), random_bf16((n, 1024), 3)
    program = three_kernels(
        root,
        name,
        files,
        n,
        ("a", "b"),
        ((Accessor("a"), Accessor("b")), (), (Accessor("out"),)),
        ((Address("a"), Address("b"), n), (n,), (Address("out"), n)),
    )
    total = (a.astype(np.float32) + b.astype(np.float32)).astype(BF16)
    return Case(program, {"a": a, "b": b}, equal("out", total))


def eltwise_binary(root: Path) -> Case:
    base = "eltwise_binary/kernels/"
    files = ("dataflow/read_tiles.cpp", "compute/tiles_add.cpp", "dataflow/write_tile.cpp")
    return binary_case(root, "eltwise_binary", tuple(base + f for f in files))


def contributed_vecadd(root: Path) -> Case:
    base = "contributed/vecadd/kernels/"
    files = ("interleaved_tile_read.cpp", "add.cpp", "tile_write.cpp")
    return binary_case(root, "contributed_vecadd", tuple(base + f for f in files))


def add_2_integers_in_compute(root: Path) -> Case:
    base = "add_2_integers_in_compute/kernels/"
    files = (
        "dataflow/reader_binary_1_tile.cpp",
        "compute/add_2_tiles.cpp",
        "dataflow/writer_1_tile.cpp",
    )
    a, b = random_bf16((1, 1024), 2), random_bf16((1, 1024), 3)
    program = three_kernels(
        root,
        "add_2_integers_in_compute",
        tuple(base + f for f in files),
        1,
        ("a", "b"),
        ((), (), ()),
        ((Address("a"), Address("b")), (), (Address("out"),)),
        cb_pages=1,
    )
    total = (a.astype(np.float32) + b.astype(np.float32)).astype(BF16)
    off = frozenset({Check.PUSH_WITHOUT_RESERVE})
    return Case(program, {"a": a, "b": b}, equal("out", total), off)


def eltwise_sfpu(root: Path, base: str = "eltwise_sfpu/kernels/dataflow/") -> Case:
    files = (
        f"{base}read_tile{'s' if 'custom' in base else ''}.cpp",
        "eltwise_sfpu/kernels/compute/eltwise_sfpu.cpp",
        f"{base}write_tile.cpp",
    )
    a = random_bf16((16, 1024), 4)
    program = three_kernels(
        root,
        "eltwise_sfpu",
        files,
        16,
        ("a",),
        ((Accessor("a"),), (), (Accessor("out"),)),
        ((Address("a"), 16), (16,), (Address("out"), 16)),
    )
    return Case(program, {"a": a}, close("out", np.exp(a.astype(np.float32))))


def sfpu_eltwise_chain(root: Path) -> Case:
    base = "sfpu_eltwise_chain/kernels/"
    a = random_bf16((1, 1024), 5)
    program = three_kernels(
        root,
        "sfpu_eltwise_chain",
        (base + "dataflow/reader.cpp", base + "compute/compute.cpp", base + "dataflow/writer.cpp"),
        1,
        ("a",),
        ((0, 1, Accessor("a")), (0, 1, 16), (16, Accessor("out"))),
        ((Address("a"),), (), (Address("out"),)),
        cb_pages=1,
    )
    return Case(program, {"a": a}, close("out", np.log1p(np.exp(a.astype(np.float32)))))


def matrices(m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = random_bf16((m, k), 6), random_bf16((k, n), 7)
    return a, b, a.astype(np.float32) @ b.astype(np.float32)


def matrix_check(shape: tuple[int, int], expected: np.ndarray, tolerance: float):
    def check(run: RunResult) -> None:
        actual = untilize(result(run, "c").reshape(-1, 1024), shape).astype(np.float32)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)

    return check


def gemm_buffers(mt: int, kt: int, nt: int) -> tuple[Buffer, ...]:
    return tiles("a", mt * kt), tiles("b", kt * nt), tiles("c", mt * nt, output=True)


def matmul_single_core(root: Path) -> Case:
    m, k, n = 128, 160, 96
    mt, kt, nt = m // 32, k // 32, n // 32
    a, b, c = matrices(m, k, n)
    core = one_core()
    base = root / EXAMPLES / "matmul/matmul_single_core/kernels"
    kernels = (
        KernelSource(
            "reader",
            READER,
            core,
            path=base / "dataflow/reader_single_core_mm.cpp",
            compile_args=(Accessor("a"), Accessor("b")),
            runtime_args=every_core(core, Address("a"), Address("b"), mt, kt, nt),
        ),
        KernelSource(
            "compute", COMPUTE, core, path=base / "compute/mm.cpp", compile_args=(mt, kt, nt)
        ),
        KernelSource(
            "writer",
            WRITER,
            core,
            path=base / "dataflow/writer_single_core_mm.cpp",
            compile_args=(Accessor("c"),),
            runtime_args=every_core(core, Address("c"), mt, nt),
        ),
    )
    cbs = (cb(0, 2, core), cb(1, 2, core), cb(16, 2, core))
    program = Program("matmul_single_core", simulated(1, 1), gemm_buffers(mt, kt, nt), kernels, cbs)
    return Case(program, {"a": tilize(a), "b": tilize(b)}, matrix_check((m, n), c, 0.02))


def split(total: int, cores: list[Core]) -> dict[Core, tuple[int, int]]:
    base, rest = divmod(total, len(cores))
    return {core: (i * base + min(i, rest), base + (i < rest)) for i, core in enumerate(cores)}


def matmul_multi_core(root: Path, *, common: bool = False) -> Case:
    m, k, n = 160, 96, 128
    mt, kt, nt = m // 32, k // 32, n // 32
    a, b, c = matrices(m, k, n)
    cores = core_rectangle(4, 4) if not common else core_rectangle(2, 2)
    parts = split(mt * nt, list(cores))
    base = root / EXAMPLES / "matmul"
    reader = "matmul_multi_core/kernels/dataflow/reader_mm_output_tiles_partitioned.cpp"
    compute = base / "matmul_multi_core/kernels/compute/mm.cpp"
    reader_args = {
        core: (Address("a"), Address("b"), mt, kt, nt, start, count)
        for core, (start, count) in parts.items()
    }
    compute_ct: tuple[int, ...] = ()
    if common:  # the kernels of matmul_common that no program of the vendor uses
        reader = "matmul_common/kernels/dataflow/reader_bmm_8bank_output_tiles_partitioned.cpp"
        compute = base / "matmul_common/kernels/compute/bmm.cpp"
        reader_args = {
            core: (
                *(Address("a"), Address("b"), mt, kt, nt, mt * kt, kt * nt, 1, 1),
                *(start, count, mt * nt),
            )
            for core, (start, count) in parts.items()
        }
        compute_ct = (1, 1, kt, mt * nt // len(cores))
    kernels = (
        KernelSource(
            "reader",
            READER,
            cores,
            path=base / reader,
            compile_args=(Accessor("a"), Accessor("b")),
            runtime_args=reader_args,
        ),
        KernelSource(
            "compute",
            COMPUTE,
            cores,
            path=compute,
            compile_args=compute_ct,
            runtime_args={core: (count, kt) for core, (_, count) in parts.items()},
        ),
        KernelSource(
            "writer",
            WRITER,
            cores,
            path=base / "matmul_multi_core/kernels/dataflow/writer_unary_interleaved_start_id.cpp",
            compile_args=(Accessor("c"),),
            runtime_args={
                core: (Address("c"), count, start) for core, (start, count) in parts.items()
            },
        ),
    )
    cbs = (cb(0, 2, cores), cb(1, 2, cores), cb(16, 2, cores))
    program = Program("matmul_multi_core", simulated(4, 4), gemm_buffers(mt, kt, nt), kernels, cbs)
    return Case(program, {"a": tilize(a), "b": tilize(b)}, matrix_check((m, n), c, 0.02))


def bmm_common(root: Path) -> Case:
    return matmul_multi_core(root, common=True)


@dataclass(frozen=True)
class Blocking:
    """Sizes of the vendor's blocked GEMM, in tiles."""

    per_core_m: int = 4
    per_core_n: int = 4
    block_k: int = 2
    sub_h: int = 2
    sub_w: int = 2
    kt: int = 6
    rows: int = 3
    columns: int = 3

    @property
    def mt(self) -> int:
        return self.per_core_m * self.rows

    @property
    def nt(self) -> int:
        return self.per_core_n * self.columns


def spilled_reference(a: np.ndarray, b: np.ndarray, step: int) -> np.ndarray:
    """A @ B with the partial sums rounded to bf16 after every K block."""
    total = np.zeros((a.shape[0], b.shape[1]), dtype=np.float32)
    for k in range(0, a.shape[1], step):
        part = a[:, k : k + step].astype(np.float32) @ b[k : k + step].astype(np.float32)
        total = (total + part).astype(BF16).astype(np.float32)
    return total


def blocked_parts(
    root: Path, s: Blocking, cores: CoreSet
) -> tuple[tuple[CircularBufferConfig, ...], KernelSource, dict[Core, tuple[Any, ...]], Any]:
    """Circular buffers, compute kernel, writer arguments and the head of the reader's arguments."""
    common = root / EXAMPLES / "matmul/matmul_common/kernels"
    in0, in1 = s.per_core_m * s.block_k, s.per_core_n * s.block_k
    output = CircularBufferConfig(
        (CircularBuffer(16, TileFormat.BF16, 2048), CircularBuffer(24, TileFormat.BF16, 2048)),
        s.per_core_m * s.per_core_n * 2048,
        cores,
    )
    sub_m, sub_n = s.per_core_m // s.sub_h, s.per_core_n // s.sub_w
    compute = KernelSource(
        "compute",
        COMPUTE,
        cores,
        path=common / "compute/bmm_large_block_zm.cpp",
        compile_args=(
            *(s.block_k, sub_m, in0, s.sub_h * s.block_k, sub_n, in1, s.per_core_n),
            *(s.kt // s.block_k, s.sub_h, s.sub_w, s.sub_h * s.sub_w, 1),
        ),
    )
    writer = {
        (x, y): (
            *(Address("c"), x * s.per_core_n + y * s.per_core_m * s.nt, 1, s.nt, s.sub_w),
            *(s.sub_h * s.nt, s.sub_w, s.sub_h, s.sub_w * s.sub_h, sub_n, sub_m, s.mt * s.nt, 1),
        )
        for x, y in cores
    }

    def reader(x: int, y: int) -> tuple[Any, ...]:
        return (
            *(Address("a"), s.kt * s.per_core_m * y, 1, s.kt, s.block_k),
            *(s.block_k, s.per_core_m, in0),
            *(Address("b"), s.per_core_n * x, 1, s.nt, s.block_k * s.nt),
            *(s.per_core_n, s.block_k, in1, s.kt // s.block_k),
        )

    return (cb(0, in0 * 2, cores), cb(1, in1 * 2, cores), output), compute, writer, reader


def blocked_case(
    name: str,
    chip: ChipSpec,
    s: Blocking,
    kernels: tuple[KernelSource, ...],
    cbs: Any,
    semaphores: tuple[Semaphore, ...] = (),
) -> Case:
    a, b, _ = matrices(s.mt * 32, s.kt * 32, s.nt * 32)
    expected = spilled_reference(a, b, s.block_k * 32)
    program = Program(name, chip, gemm_buffers(s.mt, s.kt, s.nt), kernels, cbs, semaphores)
    check = matrix_check((s.mt * 32, s.nt * 32), expected, 0.05)
    return Case(program, {"a": tilize(a), "b": tilize(b)}, check)


def matmul_multicore_reuse(root: Path) -> Case:
    s = Blocking(rows=2, columns=2)
    cores = core_rectangle(s.columns, s.rows)
    cbs, compute, writer, reader = blocked_parts(root, s, cores)
    common = root / EXAMPLES / "matmul/matmul_common/kernels/dataflow"
    tail = (s.mt * s.kt, s.kt * s.nt, 1, 0)
    kernels = (
        KernelSource(
            "reader",
            READER,
            cores,
            path=common / "reader_bmm_tile_layout.cpp",
            compile_args=(Accessor("a"), Accessor("b")),
            runtime_args={core: (*reader(*core), *tail) for core in cores},
        ),
        compute,
        KernelSource(
            "writer",
            WRITER,
            cores,
            path=common / "writer_bmm_tile_layout.cpp",
            compile_args=(Accessor("c"),),
            runtime_args=writer,
        ),
    )
    return blocked_case("matmul_multicore_reuse", simulated(4, 4), s, kernels, cbs)


def matmul_multicore_reuse_mcast(root: Path, blocking: Blocking | None = None) -> Case:
    s = blocking or Blocking()
    chip = simulated(4, 4)
    cores = core_rectangle(s.columns, s.rows)
    cbs, compute, writer, reader = blocked_parts(root, s, cores)
    common = root / EXAMPLES / "matmul/matmul_common/kernels/dataflow"
    last_x, last_y = s.columns - 1, s.rows - 1

    def words(x: int, y: int) -> tuple[Any, ...]:
        right, left1, left = (last_x, y), (1, y), (0, y)
        bottom, top1, top = (x, last_y), (x, 1), (x, 0)
        return (
            *reader(x, y),
            *(NocX(right), NocY(right), NocX(left1), NocY(left1), last_x, NocX(left), NocY(left)),
            *(0, 1),
            *(NocX(bottom), NocY(bottom), NocX(top1), NocY(top1), last_y, NocX(top), NocY(top)),
            *(2, 3),
            *(s.mt * s.kt, s.kt * s.nt, 1, 0),
        )

    groups = {
        ("sender", "sender"): one_core(),
        ("sender", "receiver"): CoreSet((CoreRange(0, 1, 0, last_y),)),
        ("receiver", "sender"): CoreSet((CoreRange(1, 0, last_x, 0),)),
        ("receiver", "receiver"): CoreSet((CoreRange(1, 1, last_x, last_y),)),
    }
    readers = tuple(
        KernelSource(
            f"in0_{in0}_in1_{in1}",
            READER,
            group,
            path=common / f"reader_bmm_tile_layout_in0_{in0}_in1_{in1}.cpp",
            compile_args=(Accessor("a"), Accessor("b")),
            runtime_args={core: words(*core) for core in group},
            noc=0 if in0 == "sender" else 1,
        )
        for (in0, in1), group in groups.items()
    )
    left = CoreSet((CoreRange(0, 0, 0, last_y),))
    rest = CoreSet((CoreRange(1, 0, last_x, last_y),))
    writers = tuple(
        KernelSource(
            f"writer_noc{noc}",
            WRITER,
            group,
            path=common / "writer_bmm_tile_layout.cpp",
            compile_args=(Accessor("c"),),
            runtime_args={core: writer[core] for core in group},
            noc=noc,
        )
        for noc, group in ((1, left), (0, rest))
    )
    semaphores = tuple(Semaphore(i, 0, cores) for i in range(4))
    kernels = (*readers, compute, *writers)
    return blocked_case("matmul_multicore_reuse_mcast", chip, s, kernels, cbs, semaphores)


def vecadd_multi_core(root: Path) -> Case:
    n = 40
    a, b = random_bf16((n, 1024), 8), random_bf16((n, 1024), 9)
    cores = core_rectangle(4, 4)
    parts = split(n, list(cores))
    base = root / EXAMPLES / "vecadd_multi_core/kernels"
    named = {"c_1": 1}
    kernels = (
        KernelSource(
            "reader",
            READER,
            cores,
            path=base / "interleaved_tile_read_multi_core.cpp",
            compile_args=(0, 1, Accessor("a"), Accessor("b")),
            named_compile_args=named,
            runtime_args={
                core: (Address("a"), Address("b"), count, start)
                for core, (start, count) in parts.items()
            },
        ),
        KernelSource(
            "compute",
            COMPUTE,
            cores,
            path=base / "add_multi_core.cpp",
            compile_args=(0, 1, 16),
            named_compile_args=named,
            runtime_args={core: (count, start) for core, (start, count) in parts.items()},
        ),
        KernelSource(
            "writer",
            WRITER,
            cores,
            path=base / "tile_write_multi_core.cpp",
            compile_args=(16, Accessor("out")),
            runtime_args={
                core: (Address("out"), count, start) for core, (start, count) in parts.items()
            },
        ),
    )
    cbs = (cb(0, 2, cores), cb(1, 2, cores), cb(16, 2, cores))
    buffers = (tiles("a", n), tiles("b", n), tiles("out", n, output=True))
    program = Program("vecadd_multi_core", simulated(4, 4), buffers, kernels, cbs)
    total = (a.astype(np.float32) + b.astype(np.float32)).astype(BF16)
    return Case(program, {"a": a, "b": b}, equal("out", total))


def vecadd_sharding(root: Path, down: int, across: int) -> Case:
    cores = core_rectangle(down, across)  # the vendor's host code gives the range transposed
    layout = Sharded.grid((4, 4), (down, across), tuple(cores))
    buffers = tuple(Buffer(name, 2048, 16, Space.L1, layout) for name in ("a", "b", "out"))
    cbs = tuple(
        CircularBufferConfig((CircularBuffer(i, TileFormat.BF16, 2048),), 4 * 2048, cores, name)
        for i, name in enumerate(("a", "b", "out"))
    )
    kernel = KernelSource(
        "add",
        COMPUTE,
        cores,
        path=root / EXAMPLES / "vecadd_sharding/kernels/add_sharding.cpp",
        compile_args=(0, 1, 2),
        runtime_args=every_core(cores, 4),
    )
    a, b = random_bf16((16, 1024), 10), random_bf16((16, 1024), 11)
    program = Program("vecadd_sharding", simulated(4, 4), buffers, (kernel,), cbs)
    total = (a.astype(np.float32) + b.astype(np.float32)).astype(BF16)
    off = frozenset({Check.PUSH_WITHOUT_RESERVE, Check.POP_WITHOUT_WAIT, Check.UNPOPPED_PAGES})
    return Case(program, {"a": a, "b": b}, equal("out", total), off)


def contributed_multicast(root: Path) -> Case:
    base = root / EXAMPLES / "contributed/multicast/kernels"
    everyone, sender = core_rectangle(4, 1), one_core()
    receivers = CoreSet((CoreRange(1, 0, 3, 0),))
    first, last = (1, 0), (3, 0)
    kernels = (
        KernelSource(
            "coordinator",
            WRITER,
            sender,
            path=base / "dataflow/coordinator_kernel.cpp",
            runtime_args=every_core(
                sender,
                *(NocX(first), NocY(first), NocX(last), NocY(last), 0, 1, 0, Address("src")),
                *(2048, 3),
            ),
        ),
        KernelSource(
            "inbound",
            WRITER,
            receivers,
            path=base / "dataflow/inbound_kernel.cpp",
            runtime_args=every_core(receivers, NocX((0, 0)), NocY((0, 0)), 0, 1),
        ),
        KernelSource(
            "outbound",
            READER,
            receivers,
            path=base / "dataflow/outbound_kernel.cpp",
            compile_args=(Accessor("out"),),
            runtime_args={core: (Address("out"), i) for i, core in enumerate(receivers)},
        ),
        KernelSource("void", COMPUTE, everyone, path=base / "compute/void_compute_kernel.cpp"),
    )
    data = random_bf16((1, 1024), 12)
    program = Program(
        "contributed_multicast",
        simulated(4, 1),
        (tiles("src", 1), tiles("out", 3, output=True)),
        kernels,
        (cb(0, 1, everyone), cb(16, 1, everyone)),
        (Semaphore(0, 0, everyone), Semaphore(1, 0, everyone)),
    )
    off = frozenset(
        {
            Check.PUSH_WITHOUT_RESERVE,
            Check.UNPOPPED_PAGES,
            Check.OUTSIDE_WINDOW,
        }
    )
    return Case(program, {"src": data}, equal("out", np.tile(data, (3, 1))), off)


def noc_tile_transfer(root: Path) -> Case:
    base = root / EXAMPLES / "NoC_tile_transfer/kernels/dataflow"
    zero, one, both = one_core(), one_core(0, 1), core_rectangle(1, 2)

    def kernel(name: str, processor: Processor, cores: CoreSet, ct: Any, rt: Any) -> KernelSource:
        args = every_core(cores, *rt)
        path = base / f"{name}.cpp"
        return KernelSource(name, processor, cores, path=path, compile_args=ct, runtime_args=args)

    kernels = (
        kernel("reader0", WRITER, zero, (0, Accessor("src")), (Address("src"),)),
        kernel("writer0", READER, zero, (0, 1), (NocX((0, 1)), NocY((0, 1)), 0)),
        kernel("reader1", WRITER, one, (0, 1), (NocX((0, 0)), NocY((0, 0)), 0)),
        kernel("writer1", READER, one, (1, Accessor("out")), (Address("out"),)),
    )
    data = random_bf16((1, 1024), 13)
    program = Program(
        "NoC_tile_transfer",
        simulated(1, 2),
        (tiles("src", 1), tiles("out", 1, output=True)),
        kernels,
        (cb(0, 1, both), cb(1, 1, both)),
        (Semaphore(0, 0, both),),
    )
    return Case(program, {"src": data}, equal("out", data))


def pad_multi_core(root: Path) -> Case:
    base = root / EXAMPLES / "pad_multi_core/kernels"
    cores = core_rectangle(1, 4)
    source = np.arange(1, 64 * 32 + 1, dtype=np.float32).astype(BF16).reshape(64, 32)
    padded = np.full((64, 64), 2, dtype=BF16)
    padded[:, :32] = source
    pad_word = 0x40004000
    rows, per_row_src, per_row_dst = 64 // 4, 16, 32
    cbs = CircularBufferConfig(
        (
            CircularBuffer(0, TileFormat.UINT32, 64),
            CircularBuffer(1, TileFormat.UINT32, 64),
            CircularBuffer(2, TileFormat.UINT32, 4),
        ),
        per_row_dst * 64,
        cores,
    )
    kernels = (
        KernelSource(
            "reader",
            READER,
            cores,
            path=base / "pad_reader_dims_rm_interleaved.cpp",
            compile_args=(
                *(64, 1, per_row_src, 4, 64, 1, per_row_dst, 64, 0, 0, 1, 64, 1, pad_word),
                *(64, 0, 0, 1, 64, 0, Accessor("src")),
            ),
            runtime_args={
                (0, i): (
                    *(Address("src"), rows * per_row_dst, per_row_dst, i * rows * per_row_src),
                    *(0,) * 7,
                )
                for i in range(4)
            },
        ),
        KernelSource(
            "writer",
            WRITER,
            cores,
            path=base / "pad_writer_dims_rm_interleaved.cpp",
            compile_args=(0, 4, 64, Accessor("dst")),
            runtime_args={
                (0, i): (
                    *(Address("dst"), rows * per_row_dst, per_row_dst),
                    i * rows * per_row_dst,
                )
                for i in range(4)
            },
        ),
    )
    buffers = (Buffer("src", 4, 64 * 16), Buffer("dst", 4, 64 * 32, output=True))
    program = Program("pad_multi_core", simulated(1, 4), buffers, kernels, (cbs,))
    return Case(program, {"src": source}, equal("dst", padded))


def shard_data_rm(root: Path) -> Case:
    cores = core_rectangle(1, 4)
    values = (np.arange(16) * 2 + 2).astype(np.float32).astype(BF16)
    kernel = KernelSource(
        "reader",
        WRITER,
        cores,
        path=root / EXAMPLES / "shard_data_rm/kernels/reader_sharded_rm.cpp",
        compile_args=(0, Accessor("src")),
        runtime_args={(0, i): (Address("src"), 4, 32, i * 2) for i in range(4)},
    )
    config = circular_buffer(0, TileFormat.BF16, pages=4, cores=cores, page_bytes=4)
    program = Program(
        "shard_data_rm", simulated(1, 4), (Buffer("src", 4, 8),), (kernel,), (config,)
    )

    def check(run: RunResult) -> None:
        base = program.chip.l1_reserved_bytes
        for i in range(4):
            l1 = run.l1[0, i]
            sticks = l1[base : base + 4] + l1[base + 32 : base + 36]
            actual = np.frombuffer(sticks, dtype=BF16)
            assert actual.tolist() == values[4 * i : 4 * i + 4].tolist()
        assert sorted(run.prints)[0] == "(0,0) Core (0,0): 2 4 6 8 "

    off = frozenset({Check.OUTSIDE_WINDOW, Check.UNPOPPED_PAGES})
    return Case(program, {"src": values}, check, off, keep_l1=True)


def add_2_integers_in_riscv(root: Path) -> Case:
    core = one_core()
    names = ("src0", "src1", "dst")
    l1_names = tuple(f"{name}_l1" for name in names)
    kernel = KernelSource(
        "add",
        WRITER,
        core,
        path=root / EXAMPLES / "add_2_integers_in_riscv/kernels/reader_writer_add_in_riscv.cpp",
        runtime_args=every_core(core, *(Address(name) for name in (*names, *l1_names))),
    )
    buffers = tuple(Buffer(name, 4, 1, output=name == "dst") for name in names)
    scratch = tuple(Buffer(name, 4, 1, Space.L1) for name in l1_names)
    program = Program("add_2_integers", simulated(1, 1), (*buffers, *scratch), (kernel,))
    words = {"src0": np.array([14], np.uint32), "src1": np.array([7], np.uint32)}

    def check(run: RunResult) -> None:
        assert int.from_bytes(run.buffers["dst"], "little") == 21
        assert run.prints == ("(0,0) Adding integers: 14 + 7",)

    return Case(program, words, check)


def noc_event_profiler(root: Path) -> Case:
    core = one_core()
    path = EXAMPLES / "profiler/test_noc_event_profiler/kernels/loopback_dram_copy.cpp"
    kernel = KernelSource(
        "loopback",
        WRITER,
        core,
        path=root / path,
        runtime_args=every_core(core, Address("l1"), Address("src"), 0, Address("dst"), 0, 2048),
    )
    data = random_bf16((1, 1024), 14)
    buffers = (tiles("src", 1), tiles("dst", 1, output=True), Buffer("l1", 2048, 1, Space.L1))
    program = Program("noc_event_profiler", simulated(1, 1), buffers, (kernel,))
    return Case(program, {"src": data}, equal("dst", data))


def custom_add_movement(root: Path) -> Case:
    base = "custom_sfpi_add/kernels/dataflow/"
    compute = "eltwise_binary/kernels/compute/tiles_add.cpp"
    files = (base + "read_tiles.cpp", compute, base + "write_tile.cpp")
    return binary_case(root, "custom_sfpi_add", files)


def custom_smoothstep_movement(root: Path) -> Case:
    return eltwise_sfpu(root, "custom_sfpi_smoothstep/kernels/dataflow/")


def hello_world_datatypes(root: Path) -> Case:
    core = one_core()
    path = EXAMPLES / "hello_world_datatypes_kernel/kernels/dataflow/float_dataflow_kernel.cpp"
    kernel = KernelSource(
        "print", WRITER, core, path=root / path, runtime_args=every_core(core, Address("src"))
    )
    config = circular_buffer(0, TileFormat.FP32, pages=1, cores=core)
    data = np.full((1, 1024), 1.23, dtype=np.float32)
    buffers = (Buffer("src", 4096, 1),)
    program = Program("hello_world_datatypes", simulated(1, 1), buffers, (kernel,), (config,))

    def check(run: RunResult) -> None:
        assert run.prints[0].endswith("It is: 1.23")

    off = frozenset({Check.OUTSIDE_WINDOW})
    return Case(program, {"src": data}, check, off)


def hello_world_compute(root: Path) -> Case:
    core = one_core()
    path = EXAMPLES / "hello_world_compute_kernel/kernels/compute/void_compute_kernel.cpp"
    kernel = KernelSource("print", COMPUTE, core, path=root / path)

    def check(run: RunResult) -> None:
        assert [line.split()[5] for line in run.prints] == ["MATH", "UNPACK", "PACK"]

    return Case(Program("hello_world_compute", simulated(1, 1), (), (kernel,)), {}, check)


REQUIRED: dict[str, Callable[[Path], Case]] = {
    "loopback": loopback,
    "eltwise_binary": eltwise_binary,
    "eltwise_sfpu": eltwise_sfpu,
    "sfpu_eltwise_chain": sfpu_eltwise_chain,
    "matmul_single_core": matmul_single_core,
    "matmul_multi_core": matmul_multi_core,
    "matmul_multicore_reuse": matmul_multicore_reuse,
    "matmul_multicore_reuse_mcast": matmul_multicore_reuse_mcast,
    "vecadd_multi_core": vecadd_multi_core,
    "vecadd_sharding_height": lambda root: vecadd_sharding(root, 4, 1),
    "vecadd_sharding_width": lambda root: vecadd_sharding(root, 1, 4),
    "vecadd_sharding_block": lambda root: vecadd_sharding(root, 2, 2),
    "contributed_vecadd": contributed_vecadd,
    "contributed_multicast": contributed_multicast,
    "NoC_tile_transfer": noc_tile_transfer,
    "pad_multi_core": pad_multi_core,
    "shard_data_rm": shard_data_rm,
    "add_2_integers_in_riscv": add_2_integers_in_riscv,
    "add_2_integers_in_compute": add_2_integers_in_compute,
}
"""The 17 programs that must run; vecadd_sharding in its three layouts."""

FURTHER: dict[str, Callable[[Path], Case]] = {
    "bmm_common": bmm_common,
    "noc_event_profiler": noc_event_profiler,
    "custom_sfpi_add": custom_add_movement,
    "custom_sfpi_smoothstep": custom_smoothstep_movement,
    "hello_world_datatypes": hello_world_datatypes,
    "hello_world_compute": hello_world_compute,
}
"""Kernels that no required program uses."""
