"""The description of one run that the machine reads, and the bytes it starts with.

The data file holds the contiguous DRAM banks, and then one segment for each part of L1
that the host writes or reads. What no input covers is poison: a NaN in every float format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.targets.tenstorrent.allocation import Allocation
from tilewright.targets.tenstorrent.execution import Numerics, RunOptions
from tilewright.targets.tenstorrent.program import (
    HOLE,
    Buffer,
    Core,
    KernelSource,
    Processor,
    ProgramError,
    Sharded,
    Space,
)

Bytes: TypeAlias = NDArray[np.uint8]
PageData: TypeAlias = bytes | NDArray[Any]
_POISON = np.frombuffer(bytes.fromhex("f7fff7ff"), dtype=np.uint8)
_PROCESSORS = {Processor.RISCV_0: 0, Processor.RISCV_1: 1, Processor.COMPUTE: 2}


@dataclass(frozen=True)
class Segment:
    """Part of one core's L1 in the data file."""

    core: Core
    address: int
    size_bytes: int
    offset: int
    load: bool


def poison(size_bytes: int) -> Bytes:
    """Bytes that are a NaN in every float format."""
    return np.resize(_POISON, size_bytes)


def l1_shards(allocation: Allocation, buffer: Buffer) -> list[tuple[Core, tuple[int, ...]]]:
    """The pages of an L1 buffer that each core holds, in order of address."""
    if isinstance(buffer.layout, Sharded):
        return list(zip(buffer.layout.cores, buffer.layout.pages, strict=True))
    columns, rows = allocation.program.chip.grid
    cores = [(x, y) for y in range(rows) for x in range(columns)]
    shards = ((core, range(i, buffer.pages, len(cores))) for i, core in enumerate(cores))
    return [(core, tuple(pages)) for core, pages in shards if pages]


class Image:
    """The data file: DRAM banks and L1 segments."""

    def __init__(self, allocation: Allocation, inputs: Mapping[str, PageData]) -> None:
        self.allocation = allocation
        self.banks = poison(self.dram_bytes).reshape(allocation.program.chip.dram_banks, -1)
        self.segments: list[Segment] = []
        self._parts: list[Bytes] = []
        for name in inputs:
            allocation.program.buffer(name)
        for buffer in allocation.program.buffers:
            self._add(buffer, inputs.get(buffer.name))

    @property
    def dram_bytes(self) -> int:
        """Bytes of all banks."""
        return self.allocation.program.chip.dram_banks * self.allocation.dram_bank_bytes

    def _add(self, buffer: Buffer, data: PageData | None) -> None:
        if data is None:
            pages = poison(buffer.total_bytes)
        else:
            raw = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
            if len(raw) != buffer.total_bytes:
                raise ProgramError(
                    f"buffer '{buffer.name}': {len(raw)} B given, {buffer.pages} pages of "
                    f"{buffer.page_bytes} B expected"
                )
            pages = np.frombuffer(raw, dtype=np.uint8)
        pages = pages.reshape(buffer.pages, buffer.page_bytes)
        address, stride = (
            self.allocation.address(buffer.name),
            self.allocation.page_stride(buffer),
        )
        if buffer.space is Space.DRAM:
            for bank, memory in enumerate(self.banks):
                _strided(memory, address, stride, pages[bank :: len(self.banks)])
            return
        for core, ids in l1_shards(self.allocation, buffer):
            part = poison(len(ids) * stride)
            rows = part.reshape(-1, stride)
            for position, page in enumerate(ids):
                if page != HOLE:
                    rows[position, : buffer.page_bytes] = pages[page]
            self.add_segment(core, address, part, load=True)

    def add_segment(self, core: Core, address: int, data: Bytes, *, load: bool) -> None:
        """Append a part of L1: loaded before the run if `load`, stored after it always."""
        offset = self.dram_bytes + sum(len(part) for part in self._parts)
        self.segments.append(Segment(core, address, len(data), offset, load))
        self._parts.append(data)

    def write(self, path: Path) -> None:
        """Write the data file."""
        with path.open("wb") as file:
            file.write(self.banks.tobytes())
            for part in self._parts:
                file.write(part.tobytes())

    def read_buffers(self, data: Bytes) -> dict[str, bytes]:
        """The pages of all buffers after the run, from the data file's bytes."""
        banks = data[: self.dram_bytes].reshape(self.banks.shape)
        found: dict[str, bytes] = {}
        for buffer in self.allocation.program.buffers:
            address = self.allocation.address(buffer.name)
            stride = self.allocation.page_stride(buffer)
            pages = np.zeros((buffer.pages, buffer.page_bytes), dtype=np.uint8)
            if buffer.space is Space.DRAM:
                for bank, memory in enumerate(banks):
                    part = pages[bank :: len(banks)]
                    rows = memory[address : address + len(part) * stride].reshape(-1, stride)
                    part[:] = rows[:, : buffer.page_bytes]
            else:
                for core, ids in l1_shards(self.allocation, buffer):
                    memory = self._segment(data, core, address)
                    rows = memory[: len(ids) * stride].reshape(-1, stride)
                    for row, page in zip(rows, ids, strict=True):
                        if page != HOLE:
                            pages[page] = row[: buffer.page_bytes]
            found[buffer.name] = pages.tobytes()
        return found

    def _segment(self, data: Bytes, core: Core, address: int) -> Bytes:
        for each in self.segments:
            if each.core == core and each.address == address:
                return data[each.offset : each.offset + each.size_bytes]
        raise ProgramError(f"core {core}: no segment at address {address}")


def _strided(memory: Bytes, address: int, stride: int, pages: Bytes) -> None:
    if len(pages):
        rows = memory[address : address + len(pages) * stride].reshape(-1, stride)
        rows[:, : pages.shape[1]] = pages


def describe(
    allocation: Allocation,
    image: Image,
    libraries: Mapping[str, Path],
    options: RunOptions,
) -> str:
    """The job file."""
    program, chip = allocation.program, allocation.program.chip
    columns, rows = chip.grid
    device = int(options.numerics is Numerics.DEVICE)
    lines = [
        f"seed {options.seed & 0xFFFFFFFF}",
        f"options {device} {options.max_findings} {max(1, int(options.timeout_seconds))} "
        f"{int(options.trace)}",
        *(f"off {check.value}" for check in sorted(options.off, key=lambda check: check.value)),
        f"chip {chip.l1_bytes} {chip.dram_banks} {allocation.dram_bank_bytes} "
        f"{chip.dram_read_alignment} {chip.dram_write_alignment} {chip.l1_alignment} "
        f"{allocation.semaphore_base} {chip.semaphore_stride_bytes} {chip.semaphores} "
        f"{int(chip.ordered_multicast_flags)}",
        f"grid {columns} {rows}",
    ]
    for y in range(rows):
        for x in range(columns):
            noc_x, noc_y = chip.noc_coordinate(x, y)
            lines.append(f"core {x} {y} {noc_x} {noc_y}")
    lines += [_buffer_line(allocation, buffer) for buffer in program.buffers]
    lines += _cb_lines(allocation)
    lines += [
        f"semaphore {x} {y} {semaphore.id} {semaphore.initial}"
        for semaphore in program.semaphores
        for x, y in semaphore.cores
    ]
    lines += [
        f"segment {s.core[0]} {s.core[1]} {s.address} {s.size_bytes} {int(s.load)} {s.offset}"
        for s in image.segments
    ]
    lines += [f"kernel {one_token(k.name)} {libraries[k.name]}" for k in program.kernels]
    for index, kernel in enumerate(program.kernels):
        lines += _fiber_lines(allocation, kernel, index)
    return "\n".join(lines) + "\n"


def one_token(name: str) -> str:
    """A name without white space."""
    return "_".join(name.split()) or "_"


def unwritten_pages(buffer: Buffer, pages: bytes) -> list[int]:
    """The pages of a buffer that hold nothing but poison."""
    rows = np.frombuffer(pages, dtype=np.uint8).reshape(buffer.pages, buffer.page_bytes)
    return [int(n) for n in np.flatnonzero((rows == poison(buffer.page_bytes)).all(axis=1))]


def _buffer_line(allocation: Allocation, buffer: Buffer) -> str:
    stride = allocation.page_stride(buffer)
    dram = buffer.space is Space.DRAM
    on_core = 0
    if not dram:
        on_core = max((len(ids) for _, ids in l1_shards(allocation, buffer)), default=0) * stride
    return (
        f"buffer {one_token(buffer.name)} {int(dram)} {int(dram and buffer.output)} "
        f"{allocation.address(buffer.name)} {stride} {buffer.page_bytes} {buffer.pages} {on_core}"
    )


def _cb_lines(allocation: Allocation) -> list[str]:
    lines: list[str] = []
    configs = allocation.program.circular_buffers
    for config, address in zip(configs, allocation.cb_addresses, strict=True):
        shared = int(len(config.circular_buffers) > 1)
        for cb in config.circular_buffers:
            lines += [
                f"cb {x} {y} {cb.index} {address} {config.total_bytes} {cb.page_bytes} "
                f"{cb.format.host_value} {int(config.buffer is not None)} {shared}"
                for x, y in config.cores
            ]
    return lines


def _fiber_lines(allocation: Allocation, kernel: KernelSource, index: int) -> list[str]:
    def words(values: tuple[Any, ...]) -> str:
        resolved = [str(allocation.runtime_word(word)) for word in values]
        return " ".join([str(len(resolved)), *resolved])

    common = words(kernel.common_runtime_args)
    config = kernel.compute
    return [
        f"fiber {x} {y} {_PROCESSORS[kernel.processor]} {index} {int(config.fp32_dest_acc)} "
        f"{int(config.dst_full_sync)} {words(kernel.runtime_args.get((x, y), ()))} {common}"
        for x, y in kernel.cores
    ]
