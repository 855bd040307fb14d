"""Configurations for a GEMM of a given shape, pruned by an analytical model.

The model counts, for each configuration, the cycles of the multiprocessor with the most tiles
(tensor cores or the L2 cache, whichever is slower), what a block waits for at its start and end,
and the bytes of DRAM; `padded` and `split` add a kernel each. It only ranks: the tuner measures
the `LIMIT` best ones, among them the best of every form.

    waves * (steps * max(MMA, L2) + start + store)  or  DRAM bytes, whichever is longer
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

TILES = ((64, 64), (64, 128), (64, 256), (128, 64), (128, 128), (128, 192), (128, 256), (256, 128))
"""Rows and columns of a tile of C; a warp group computes at least 64 rows of it."""
SPLITS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
LIMIT = 10
"""How many configurations of a shape are measured."""
GRANULE_BYTES = 16
STEP_BYTES = 128
"""Bytes of a row of A in shared memory: one swizzled line."""
PAD_ELEMENTS, PAD_WIDTH = 8192, 1024


@dataclass(frozen=True)
class Gpu:
    """The figures of an H200 that the model uses."""

    processors: int = 132
    shared_bytes: int = 227 << 10
    block_bytes: int = 1 << 10
    """Shared memory of a block that is not for tiles: barriers, what the driver takes."""
    clock: float = 1.7e9
    flops_per_cycle: int = 4096
    """Of a multiprocessor, with 16-bit elements."""
    l2_bytes_per_cycle: float = 44.0
    """That a multiprocessor gets when all of them read."""
    dram_bytes: float = 4.2e12
    start_cycles: int = 1700
    """From the start of a block to its first MMA."""
    launch: float = 2.2e-6
    """What one more kernel costs at least."""


H200 = Gpu()


@dataclass(frozen=True)
class Shape:
    """A GEMM."""

    M: int
    N: int
    K: int
    size: int
    """Bytes of an element of A and B."""
    transposed: bool = False

    @property
    def B_shape(self) -> tuple[int, int]:
        return (self.N, self.K) if self.transposed else (self.K, self.N)

    @property
    def uneven_bytes(self) -> int:
        """Bytes of the operands that TMA cannot read."""
        shapes = ((self.M, self.K), self.B_shape)
        return sum(
            self.size * rows * row for rows, row in shapes if is_uneven((rows, row), self.size)
        )


@dataclass(frozen=True)
class Config:
    """Keyword arguments of the kernel."""

    block_M: int
    block_N: int
    block_K: int
    num_stages: int
    threads: int
    padded: bool
    split: int = 1
    persistent: bool = False
    parts: int = 1

    def tiles(self, shape: Shape) -> int:
        return -(-shape.M // self.block_M) * -(-shape.N // self.block_N)

    def steps(self, shape: Shape) -> int:
        return -(-shape.K // self.block_K)


def element_bytes(dtype: str) -> int:
    return 1 if dtype.startswith("float8") else 2


def row_length(extent: int, size: int) -> int:
    """Elements of a row of which TMA can read the next one, too."""
    unit = GRANULE_BYTES // size
    return -(-extent // unit) * unit


def is_uneven(shape: Sequence[int], size: int) -> bool:
    """Whether the rows of an operand begin at addresses that TMA cannot read."""
    return shape[-1] * size % GRANULE_BYTES != 0


def pad_tile(columns: int) -> tuple[int, int]:
    """The tile that a block copies to padded rows: as wide as rows are, up to a limit."""
    width = 64
    while width < min(columns, PAD_WIDTH):
        width *= 2
    return PAD_ELEMENTS // width, width


# -- what is possible -----------------------------------------------------------------------------


def possible(shape: Shape, gpu: Gpu = H200) -> Iterator[Config]:
    """Every configuration that fits; the best of them is the tuner's to find."""
    forms = (True, False) if shape.uneven_bytes else (True,)
    block_K = STEP_BYTES // shape.size
    for block_M, block_N in TILES:
        threads = 128 if block_M == 64 else 256
        stage = (block_M + block_N) * STEP_BYTES
        for padded in forms:
            plain = Config(block_M, block_N, block_K, 2, threads, padded)
            tiles, steps = plain.tiles(shape), plain.steps(shape)
            for blocks in (1, 2):  # of a multiprocessor
                space = gpu.shared_bytes // blocks - gpu.block_bytes
                stages = min(space // stage, max(2, steps), 8)
                if blocks == 2 and (stages < 3 or tiles <= gpu.processors):
                    continue
                yield replace(plain, num_stages=stages)
            if padded and tiles > gpu.processors:
                yield from _persistent(plain, stage, gpu)
            deep = min((gpu.shared_bytes - gpu.block_bytes) // stage, 8)
            for split in SPLITS:
                if tiles * split <= 2 * gpu.processors and steps >= 4 * split:
                    yield replace(plain, num_stages=min(deep, steps // split), split=split)


def _persistent(plain: Config, stage: int, gpu: Gpu) -> Iterator[Config]:
    """With a buffer for the tile that is stored, in two parts where there are few stages else."""
    tile = 2 * plain.block_M * plain.block_N
    for parts in (1, 2):
        stages = min((gpu.shared_bytes - gpu.block_bytes - tile // parts) // stage, 8)
        if stages >= 4:
            yield replace(plain, num_stages=stages, persistent=True, parts=parts)
            return


# -- how long it takes ----------------------------------------------------------------------------


def seconds(shape: Shape, config: Config, gpu: Gpu = H200) -> float:
    """What the model expects."""
    block_M, block_N = config.block_M, config.block_N
    steps = -(-config.steps(shape) // config.split)
    rate = gpu.flops_per_cycle * 2 // shape.size
    mma = 2 * block_M * block_N * config.block_K / rate
    loads = (block_M + block_N) * STEP_BYTES / gpu.l2_bytes_per_cycle
    if not config.padded and shape.uneven_bytes:
        loads *= 4  # by threads, which do not compute meanwhile
        mma += loads
    out_bytes = 4 if config.split > 1 else 2
    store = 600 + block_M * block_N * out_bytes / gpu.l2_bytes_per_cycle
    waves = -(-config.tiles(shape) * config.split // gpu.processors)
    ends = gpu.start_cycles + store * (1 if config.persistent else waves)
    if not config.persistent:
        ends += (waves - 1) * gpu.start_cycles * 0.5
    cycles = waves * steps * max(mma * 1.06, loads) + ends
    moved = shape.size * (shape.M * shape.K + shape.K * shape.N) + 2 * shape.M * shape.N
    total = max(cycles / gpu.clock, moved / gpu.dram_bytes)
    if config.padded and shape.uneven_bytes:
        total += gpu.launch + 2 * shape.uneven_bytes / gpu.dram_bytes
    if config.split > 1:
        parts = 4.0 * config.split * shape.M * shape.N
        total += gpu.launch + 2 * parts / gpu.dram_bytes
    return total


def _form(config: Config) -> tuple[bool, bool, bool]:
    return config.padded, config.split > 1, config.persistent


def pruned(shape: Shape, limit: int = LIMIT, gpu: Gpu = H200) -> list[Config]:
    """The best configurations by the model, and the best one of each form, best first."""
    found = dict.fromkeys(possible(shape, gpu))
    ranked = sorted(found, key=lambda each: seconds(shape, each, gpu))
    best: dict[tuple[bool, bool, bool], Config] = {}
    for config in ranked:
        best.setdefault(_form(config), config)
    # A form that is far from the best one by the model is not worth a compilation.
    useful = seconds(shape, ranked[0], gpu) * 2.0
    chosen = [each for each in best.values() if seconds(shape, each, gpu) <= useful]
    chosen += [each for each in ranked if each not in chosen][: limit - len(chosen)]
    return sorted(chosen, key=lambda each: seconds(shape, each, gpu))


def configurations(
    M: int,
    N: int,
    K: int,
    dtype: str = "float16",
    out: str = "float16",
    transposed: bool = False,
    **_: object,
) -> list[Mapping[str, Any]]:
    """What the tuner measures."""
    shape = Shape(M, N, K, element_bytes(dtype), transposed)
    return [asdict(each) for each in pruned(shape)]
