"""The host side of a Tenstorrent program as a value: what `main.cpp` would create and enqueue.

A `Program` names the buffers, circular buffers, semaphores and kernels of one launch and the
arguments of each core. The executors take it, the emitter prints it, and tests of other kernels
write it by hand:

    Program(
        name="copy", chip=chips.simulated(1, 1),
        buffers=(Buffer("src", 2048, 4), Buffer("dst", 2048, 4)),
        circular_buffers=(circular_buffer(0, TileFormat.BF16, pages=2, cores=cores),),
        kernels=(
            KernelSource("reader", Processor.RISCV_1, cores, path=...,
                         compile_args=(Accessor("src"),),
                         runtime_args=every_core(cores, Address("src"), 4)), ...),
    )

Arguments are 32-bit words. A word that only an allocation can give is named symbolically:
`Address` is the address of a buffer, `Accessor` the words that a `TensorAccessorArgs` decodes.
Cores are logical coordinates `(x, y)`; where device code needs NoC coordinates, the argument is
`NocX` or `NocY` of a logical core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.targets.tenstorrent.formats import TileFormat

Core: TypeAlias = tuple[int, int]
"""Logical coordinates (x, y)."""


class ProgramError(ValueError):
    """A program that no host could create: the message names what is wrong and the limit."""


@dataclass(frozen=True, order=True)
class CoreRange:
    """A rectangle of logical cores, both corners included."""

    x0: int
    y0: int
    x1: int
    y1: int

    def __post_init__(self) -> None:
        if not (0 <= self.x0 <= self.x1 and 0 <= self.y0 <= self.y1):
            raise ProgramError(f"core range {self}: expected x0 <= x1 and y0 <= y1, none negative")

    def __iter__(self) -> Iterator[Core]:
        """The cores, row by row."""
        for y in range(self.y0, self.y1 + 1):
            for x in range(self.x0, self.x1 + 1):
                yield x, y

    def __contains__(self, core: object) -> bool:
        return core in tuple(self)

    def __len__(self) -> int:
        return (self.x1 - self.x0 + 1) * (self.y1 - self.y0 + 1)

    def __str__(self) -> str:
        return f"({self.x0},{self.y0})..({self.x1},{self.y1})"


@dataclass(frozen=True)
class CoreSet:
    """Disjoint rectangles of cores."""

    ranges: tuple[CoreRange, ...]

    def __iter__(self) -> Iterator[Core]:
        for each in self.ranges:
            yield from each

    def __contains__(self, core: object) -> bool:
        return any(core in each for each in self.ranges)

    def __len__(self) -> int:
        return sum(len(each) for each in self.ranges)

    def __str__(self) -> str:
        return " + ".join(str(each) for each in self.ranges)


def one_core(x: int = 0, y: int = 0) -> CoreSet:
    """A set of one core."""
    return CoreSet((CoreRange(x, y, x, y),))


def core_rectangle(columns: int, rows: int, x: int = 0, y: int = 0) -> CoreSet:
    """The rectangle of `columns` by `rows` cores whose first core is (x, y)."""
    return CoreSet((CoreRange(x, y, x + columns - 1, y + rows - 1),))


def core_set(cores: Iterator[Core] | tuple[Core, ...] | list[Core]) -> CoreSet:
    """A set of single cores, in the given order."""
    return CoreSet(tuple(CoreRange(x, y, x, y) for x, y in cores))


class Space(Enum):
    """Where a buffer is allocated."""

    DRAM = "dram"
    L1 = "l1"


@dataclass(frozen=True)
class Interleaved:
    """Page p is stored in bank `p mod banks`: a DRAM bank, or the L1 of a core."""

    def __str__(self) -> str:
        return "interleaved"


HOLE = -1
"""A page of a shard that is no page of the tensor."""


@dataclass(frozen=True)
class Sharded:
    """Pages are distributed over the L1 of `cores`: `pages[i]` are those of the i-th core.

    With `tensor` and `shape`, both in pages, shard i is the i-th rectangle of that shape, row by
    row, and accessors of the buffer exist. A shard at the end of a tensor that the shape does not
    divide has holes.
    """

    cores: tuple[Core, ...]
    pages: tuple[tuple[int, ...], ...]
    tensor: tuple[int, int] | None = None
    shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if len(self.cores) != len(self.pages):
            raise ProgramError(
                f"sharded layout: {len(self.cores)} cores but {len(self.pages)} shards of pages"
            )

    def __str__(self) -> str:
        return f"sharded over {len(self.cores)} cores"

    @property
    def core_pages(self) -> int:
        """Pages of the largest shard, holes included."""
        return max((len(pages) for pages in self.pages), default=0)

    @staticmethod
    def cut(tensor: tuple[int, int], shape: tuple[int, int], cores: tuple[Core, ...]) -> Sharded:
        """A tensor of `tensor` tiles (rows, columns) cut into shards of `shape`, one a core.

        Raises:
            ProgramError: if there are more shards than cores.
        """
        (rows, columns), (high, wide) = tensor, shape
        down, across = -(-rows // high), -(-columns // wide)
        if down * across > len(cores):
            raise ProgramError(
                f"sharded layout: {down}x{across} shards of {high}x{wide} tiles on {len(cores)} "
                "cores, each of which holds one"
            )

        def page(row: int, column: int) -> int:
            return row * columns + column if row < rows and column < columns else HOLE

        pages = tuple(
            tuple(page(i * high + r, j * wide + c) for r in range(high) for c in range(wide))
            for i in range(down)
            for j in range(across)
        )
        return Sharded(cores[: len(pages)], pages, tensor, shape)

    @staticmethod
    def grid(tiles: tuple[int, int], shards: tuple[int, int], cores: tuple[Core, ...]) -> Sharded:
        """A tensor of `tiles` (rows, columns) cut into `shards` (down, across), row-major.

        Raises:
            ProgramError: if the shards do not divide the tensor.
        """
        (rows, columns), (down, across) = tiles, shards
        if rows % down or columns % across:
            raise ProgramError(
                f"sharded layout: {rows}x{columns} tiles are not divisible into {down}x{across}"
            )
        return Sharded.cut(tiles, (rows // down, columns // across), cores)


@dataclass(frozen=True)
class Buffer:
    """A device buffer of `pages` pages."""

    name: str
    page_bytes: int
    pages: int
    space: Space = Space.DRAM
    layout: Interleaved | Sharded = Interleaved()
    output: bool = False
    """Whether every page has to be written by the program exactly once."""

    @property
    def total_bytes(self) -> int:
        """Bytes of all pages, without alignment."""
        return self.page_bytes * self.pages


@dataclass(frozen=True)
class CircularBuffer:
    """One circular-buffer index on an allocation."""

    index: int
    format: TileFormat
    page_bytes: int


@dataclass(frozen=True)
class CircularBufferConfig:
    """One L1 allocation on every core of a set, and the circular buffers that use its bytes.

    Several indices on one allocation overlap in memory. With `buffer`, the allocation is the core's
    shard of that L1 buffer.
    """

    circular_buffers: tuple[CircularBuffer, ...]
    total_bytes: int
    cores: CoreSet
    buffer: str | None = None

    def pages(self, circular_buffer: CircularBuffer) -> int:
        """Pages of one of the circular buffers."""
        return self.total_bytes // circular_buffer.page_bytes


def circular_buffer(
    index: int,
    tile_format: TileFormat,
    *,
    pages: int,
    cores: CoreSet,
    page_bytes: int | None = None,
) -> CircularBufferConfig:
    """A circular buffer with an allocation of its own; a page is one tile unless given."""
    size = tile_format.tile_bytes if page_bytes is None else page_bytes
    return CircularBufferConfig((CircularBuffer(index, tile_format, size),), pages * size, cores)


@dataclass(frozen=True)
class Semaphore:
    """A semaphore word on every core of a set."""

    id: int
    initial: int
    cores: CoreSet


@dataclass(frozen=True)
class Address:
    """The word that is a buffer's address, plus `offset` bytes."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True)
class Accessor:
    """The compile-time words of `TensorAccessorArgs(buffer)`: two for an interleaved buffer.

    A sharded buffer adds its rank, the number of its cores, the shapes of tensor and shard, and the
    coordinates of the cores, two a word.
    """

    buffer: str


@dataclass(frozen=True)
class NocX:
    """The NoC x coordinate of a logical core."""

    core: Core


@dataclass(frozen=True)
class NocY:
    """The NoC y coordinate of a logical core."""

    core: Core


RuntimeWord: TypeAlias = int | Address | NocX | NocY
CompileTimeWord: TypeAlias = int | Address | Accessor
RuntimeArgs: TypeAlias = Mapping[Core, tuple[RuntimeWord, ...]]
"""The run-time words of a kernel on each of its cores."""


def every_core(cores: CoreSet, *words: RuntimeWord) -> RuntimeArgs:
    """The same run-time words on every core."""
    return MappingProxyType({core: tuple(words) for core in cores})


class Processor(Enum):
    """The processor of a Tensix core that runs a kernel; its value names it in reports."""

    RISCV_0 = "writer"
    RISCV_1 = "reader"
    COMPUTE = "compute"


@dataclass(frozen=True)
class ComputeConfig:
    """How the compute processors are configured for a kernel."""

    fp32_dest_acc: bool = False
    dst_full_sync: bool = False
    math_approx: bool = False
    math_fidelity: str = "HiFi4"


@dataclass(frozen=True)
class KernelSource:
    """One kernel: its C++ source, the processor and cores that run it, and its arguments."""

    name: str
    processor: Processor
    cores: CoreSet
    path: Path | None = None
    text: str | None = None
    """The source itself, if it is in no file."""
    compile_args: tuple[CompileTimeWord, ...] = ()
    named_compile_args: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    runtime_args: RuntimeArgs = field(default_factory=lambda: MappingProxyType({}))
    common_runtime_args: tuple[RuntimeWord, ...] = ()
    noc: int | None = None
    """The NoC that transfers use; the processor's default is 0 for RISCV_0 and 1 for RISCV_1."""
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    @property
    def source(self) -> str:
        """The C++ text."""
        if self.text is not None:
            return self.text
        if self.path is None:
            raise ProgramError(f"kernel '{self.name}' has neither a path nor a text")
        return self.path.read_text(encoding="utf-8")

    @property
    def noc_index(self) -> int:
        """The NoC that transfers of this kernel use."""
        if self.noc is not None:
            return self.noc
        return 1 if self.processor is Processor.RISCV_1 else 0


@dataclass(frozen=True)
class Program:
    """Everything one launch needs but the bytes of its input buffers."""

    name: str
    chip: ChipSpec
    buffers: tuple[Buffer, ...]
    kernels: tuple[KernelSource, ...]
    circular_buffers: tuple[CircularBufferConfig, ...] = ()
    semaphores: tuple[Semaphore, ...] = ()

    def buffer(self, name: str) -> Buffer:
        """The buffer of that name.

        Raises:
            ProgramError: if there is none.
        """
        for each in self.buffers:
            if each.name == name:
                return each
        raise ProgramError(f"program '{self.name}' has no buffer '{name}'")

    @property
    def cores(self) -> tuple[Core, ...]:
        """The cores that run at least one kernel, row by row."""
        active = {core for kernel in self.kernels for core in kernel.cores}
        return tuple(sorted(active, key=lambda core: (core[1], core[0])))

    def verify(self) -> None:
        """Check the limits of the chip and that every name exists.

        Raises:
            ProgramError: with the first violation.
        """
        _verify_cores(self)
        _verify_circular_buffers(self)
        _verify_exponents(self)
        _verify_semaphores(self)
        _verify_kernels(self)
        _verify_nocs(self)

    def __str__(self) -> str:
        columns, rows = self.chip.grid
        lines = [f"program {self.name} on {self.chip.name} {columns}x{rows}"]
        lines += [
            f"  buffer {b.name}: {b.pages} pages of {b.page_bytes} B, {b.space.value} {b.layout}"
            for b in self.buffers
        ]
        lines += [
            f"  cb c_{cb.index}: {config.pages(cb)} pages of {cb.page_bytes} B {cb.format.value}"
            f" on {config.cores}" + (f", in buffer {config.buffer}" if config.buffer else "")
            for config in self.circular_buffers
            for cb in config.circular_buffers
        ]
        lines += [f"  semaphore {s.id} = {s.initial} on {s.cores}" for s in self.semaphores]
        lines += [f"  {k.processor.value} {k.name} on {k.cores}" for k in self.kernels]
        return "\n".join(lines)


def _verify_cores(program: Program) -> None:
    columns, rows = program.chip.grid
    for kernel in program.kernels:
        for x, y in kernel.cores:
            if x >= columns or y >= rows:
                raise ProgramError(
                    f"kernel '{kernel.name}': core ({x},{y}) is outside the {columns}x{rows} "
                    f"grid of {program.chip.name}"
                )


def _verify_circular_buffers(program: Program) -> None:
    chip = program.chip
    used: set[tuple[Core, int]] = set()
    for config in program.circular_buffers:
        if config.buffer is not None:
            buffer = program.buffer(config.buffer)
            if buffer.space is not Space.L1 or not isinstance(buffer.layout, Sharded):
                raise ProgramError(
                    f"circular buffer on '{buffer.name}': expected a sharded L1 buffer"
                )
        for cb in config.circular_buffers:
            if not 0 <= cb.index < chip.circular_buffers:
                raise ProgramError(
                    f"circular buffer c_{cb.index}: {chip.name} has {chip.circular_buffers}"
                )
            if config.total_bytes % cb.page_bytes or config.total_bytes == 0:
                raise ProgramError(
                    f"circular buffer c_{cb.index}: {config.total_bytes} B are not a positive "
                    f"multiple of the page size {cb.page_bytes} B"
                )
            for core in config.cores:
                if (core, cb.index) in used:
                    raise ProgramError(f"circular buffer c_{cb.index} exists twice on core {core}")
                used.add((core, cb.index))


def _verify_exponents(program: Program) -> None:
    """The host refuses circular buffers of both exponent widths where a kernel computes."""
    found: dict[Core, dict[TileFormat, int]] = {}
    for config in program.circular_buffers:
        for core in config.cores:
            for cb in config.circular_buffers:
                found.setdefault(core, {}).setdefault(cb.format, cb.index)
    for kernel in program.kernels:
        if kernel.processor is not Processor.COMPUTE:
            continue
        for x, y in kernel.cores:
            formats = found.get((x, y), {})
            narrow, wide = formats.get(TileFormat.FP16), formats.get(TileFormat.BF16)
            if narrow is not None and wide is not None:
                raise ProgramError(
                    f"kernel '{kernel.name}': circular buffers c_{narrow} of fp16 and c_{wide} of "
                    f"bf16 on core ({x},{y}); all must have exponents of one width"
                )


def _verify_semaphores(program: Program) -> None:
    for semaphore in program.semaphores:
        if not 0 <= semaphore.id < program.chip.semaphores:
            raise ProgramError(
                f"semaphore {semaphore.id}: {program.chip.name} has {program.chip.semaphores}"
            )


def _verify_nocs(program: Program) -> None:
    """The data-movement kernels of a core use different NoCs."""
    used: dict[tuple[Core, int], str] = {}
    for kernel in program.kernels:
        if kernel.processor is Processor.COMPUTE:
            continue
        for core in kernel.cores:
            other = used.setdefault((core, kernel.noc_index), kernel.name)
            if other != kernel.name:
                raise ProgramError(
                    f"core {core}: kernels '{other}' and '{kernel.name}' both use NoC "
                    f"{kernel.noc_index}"
                )


def _verify_kernels(program: Program) -> None:
    running: dict[tuple[Core, Processor], str] = {}
    for kernel in program.kernels:
        for core in kernel.cores:
            other = running.setdefault((core, kernel.processor), kernel.name)
            if other != kernel.name:
                raise ProgramError(
                    f"core {core}: kernels '{other}' and '{kernel.name}' both run on "
                    f"{kernel.processor.name}"
                )
            words = len(kernel.runtime_args.get(core, ())) + len(kernel.common_runtime_args)
            if words > program.chip.max_runtime_args:
                raise ProgramError(
                    f"kernel '{kernel.name}' on core {core}: {words} run-time words, "
                    f"{program.chip.max_runtime_args} available"
                )
        for word in kernel.compile_args:
            if isinstance(word, Address | Accessor):
                program.buffer(word.buffer)
