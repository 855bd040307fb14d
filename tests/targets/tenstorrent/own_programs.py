"""Small programs with kernels of their own, for tests of the source executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.dialects.tensix.chips import ChipSpec, simulated
from tilewright.targets.tenstorrent.execution import RunResult
from tilewright.targets.tenstorrent.formats import TileFormat, tilize, untilize
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    CircularBufferConfig,
    ComputeConfig,
    CoreSet,
    KernelSource,
    NocX,
    NocY,
    Processor,
    Program,
    Semaphore,
    circular_buffer,
    core_rectangle,
    every_core,
    one_core,
)

KERNELS = Path(__file__).parent / "kernels"
BF16 = ml_dtypes.bfloat16
Sources = Mapping[str, str]
READER, WRITER, COMPUTE = Processor.RISCV_1, Processor.RISCV_0, Processor.COMPUTE


@dataclass(frozen=True)
class Case:
    program: Program
    inputs: Mapping[str, Any]
    expected: np.ndarray
    tolerance: float
    output: str = "out"

    def actual(self, run: RunResult) -> np.ndarray:
        pages = np.frombuffer(run.buffers[self.output], dtype=BF16).reshape(-1, 1024)
        return untilize(pages, self.expected.shape).astype(np.float32)

    def is_right(self, run: RunResult) -> bool:
        return np.allclose(
            self.actual(run), self.expected, rtol=self.tolerance, atol=self.tolerance
        )


def kernel(
    name: str,
    processor: Processor,
    cores: CoreSet,
    sources: Sources | None = None,
    **options: Any,
) -> KernelSource:
    """A kernel of the directory `kernels`, or its replacement in `sources`."""
    text = (sources or {}).get(name)
    path = None if text is not None else KERNELS / f"{name}.cpp"
    return KernelSource(name, processor, cores, path=path, text=text, **options)


def cb(index: int, pages: int, cores: CoreSet) -> CircularBufferConfig:
    return circular_buffer(index, TileFormat.BF16, pages=pages, cores=cores)


def values(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32).astype(BF16)


def add_relu(sources: Sources | None = None, *, depth: int = 2, rows: int = 96) -> Case:
    """relu(a + b) on two cores."""
    a, b = values((rows, 64), 1), values((rows, 64), 2)
    n = rows // 32 * 2
    cores = core_rectangle(2, 1)
    half = n // 2
    parts = {(0, 0): (0, half), (1, 0): (half, n - half)}
    kernels = (
        kernel(
            "add_reader",
            READER,
            cores,
            sources,
            compile_args=(Accessor("a"), Accessor("b")),
            runtime_args={c: (Address("a"), Address("b"), *part) for c, part in parts.items()},
        ),
        kernel(
            "add_compute",
            COMPUTE,
            cores,
            sources,
            runtime_args={c: (count,) for c, (_, count) in parts.items()},
        ),
        kernel(
            "writer",
            WRITER,
            cores,
            sources,
            compile_args=(Accessor("out"),),
            runtime_args={c: (Address("out"), *part) for c, part in parts.items()},
        ),
    )
    buffers = (Buffer("a", 2048, n), Buffer("b", 2048, n), Buffer("out", 2048, n, output=True))
    cbs = (cb(0, depth, cores), cb(1, depth, cores), cb(16, depth, cores))
    program = Program("add_relu", simulated(2, 1), buffers, kernels, cbs)
    expected = np.maximum(a.astype(np.float32) + b.astype(np.float32), 0)
    expected = expected.astype(BF16).astype(np.float32)
    return Case(program, {"a": tilize(a), "b": tilize(b)}, expected, 0.0)


def gemm_multicast(
    sources: Sources | None = None,
    *,
    chip: ChipSpec | None = None,
    grid: tuple[int, int] = (3, 2),
    kt: int = 4,
    depth: int = 2,
    fp32: bool = False,
) -> Case:
    """One output tile on each core; A is multicast along rows, B along columns."""
    columns, rows = grid
    cores = core_rectangle(columns, rows)
    a, b = values((rows * 32, kt * 32), 3), values((kt * 32, columns * 32), 4)

    def words(x: int, y: int) -> tuple[Any, ...]:
        ends = ((1, y), (columns - 1, y)), ((x, 1), (x, rows - 1))
        rectangles = [word(core) for end in ends for core in end for word in (NocX, NocY)]
        senders = (NocX((0, y)), NocY((0, y)), NocX((x, 0)), NocY((x, 0)))
        head = (Address("a"), Address("b"), kt, columns, y, x, columns - 1, rows - 1)
        return (*head, *rectangles, *senders)

    kernels = (
        kernel(
            "gemm_reader",
            READER,
            cores,
            sources,
            compile_args=(Accessor("a"), Accessor("b")),
            runtime_args={core: words(*core) for core in cores},
        ),
        kernel(
            "gemm_compute",
            COMPUTE,
            cores,
            sources,
            runtime_args=every_core(cores, kt),
            compute=ComputeConfig(fp32_dest_acc=fp32),
        ),
        kernel(
            "writer",
            WRITER,
            cores,
            sources,
            compile_args=(Accessor("out"),),
            runtime_args={(x, y): (Address("out"), y * columns + x, 1) for x, y in cores},
        ),
    )
    buffers = (
        Buffer("a", 2048, rows * kt),
        Buffer("b", 2048, kt * columns),
        Buffer("out", 2048, rows * columns, output=True),
    )
    cbs = (cb(0, depth, cores), cb(1, depth, cores), cb(16, 1, cores))
    semaphores = tuple(Semaphore(i, 0, cores) for i in range(4))
    chip = simulated(columns, rows) if chip is None else chip
    program = Program("gemm_multicast", chip, buffers, kernels, cbs, semaphores)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    return Case(program, {"a": tilize(a), "b": tilize(b)}, expected, 2**-7)


def softmax(sources: Sources | None = None, *, rows: int = 2, width: int = 3) -> Case:
    """Softmax over rows of `width` tiles on one core."""
    x = values((rows * 32, width * 32), 5)
    core = one_core()
    n = rows * width
    kernels = (
        kernel(
            "softmax_reader",
            READER,
            core,
            sources,
            compile_args=(Accessor("x"),),
            runtime_args=every_core(core, Address("x"), rows, width),
        ),
        kernel(
            "softmax_compute", COMPUTE, core, sources, runtime_args=every_core(core, rows, width)
        ),
        kernel(
            "writer",
            WRITER,
            core,
            sources,
            compile_args=(Accessor("out"),),
            runtime_args=every_core(core, Address("out"), 0, n),
        ),
    )
    pages = {0: 2 * width, 2: 1, 16: 2, 24: 1, 25: width, 26: 1}
    cbs = tuple(cb(index, count, core) for index, count in pages.items())
    buffers = (Buffer("x", 2048, n), Buffer("out", 2048, n, output=True))
    program = Program("softmax", simulated(1, 1), buffers, kernels, cbs)
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    expected = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return Case(program, {"x": tilize(x)}, expected, 2**-7)


PROGRAMS: dict[str, Callable[..., Case]] = {
    "add_relu": add_relu,
    "gemm_multicast": gemm_multicast,
    "softmax": softmax,
}
