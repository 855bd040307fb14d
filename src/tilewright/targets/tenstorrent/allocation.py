"""Addresses of a program's buffers and circular buffers, and the words that depend on them.

DRAM buffers are allocated in lock step: one address is the same in all banks. In L1, circular
buffers grow upwards from the reserved bytes and L1 buffers downwards from the top, as on the
device; semaphores are at the start of the last reserved KiB.

    0       reserved                      CBs ->                    <- L1 buffers    l1_bytes
    |----------------------|sem|----------------------------------------------------|
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    CircularBufferConfig,
    CompileTimeWord,
    Core,
    NocX,
    NocY,
    Program,
    ProgramError,
    RuntimeWord,
    Sharded,
    Space,
)

DRAM_BASE = 1024
"""The first DRAM address given to a buffer: address 0 stays invalid."""

SEMAPHORE_BYTES = 1024
"""Bytes of the reserved area that hold semaphores."""

_SHARDED_FLAG = 1
_DRAM_FLAG = 2


def align_up(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


@dataclass(frozen=True)
class Allocation:
    """Where everything of a program is stored."""

    program: Program
    buffer_addresses: tuple[int, ...]
    """By position in `program.buffers`."""
    cb_addresses: tuple[int, ...]
    """By position in `program.circular_buffers`."""
    l1_used_bytes: int
    """L1 bytes of the fullest core, without the reserved ones."""
    dram_bank_bytes: int
    """Bytes of each DRAM bank up to the end of the last buffer."""

    @property
    def semaphore_base(self) -> int:
        """The address of semaphore 0."""
        return self.program.chip.l1_reserved_bytes - SEMAPHORE_BYTES

    def address(self, name: str) -> int:
        """The address of a buffer."""
        for buffer, address in zip(self.program.buffers, self.buffer_addresses, strict=True):
            if buffer.name == name:
                return address
        raise ProgramError(f"program '{self.program.name}' has no buffer '{name}'")

    def page_stride(self, buffer: Buffer) -> int:
        """Bytes from a page to the next one of its bank."""
        chip = self.program.chip
        if buffer.space is Space.DRAM:
            return align_up(buffer.page_bytes, chip.dram_read_alignment)
        return align_up(buffer.page_bytes, chip.l1_alignment)

    def runtime_word(self, word: RuntimeWord) -> int:
        """The value of a run-time word."""
        if isinstance(word, Address):
            return self.address(word.buffer) + word.offset
        if isinstance(word, NocX):
            return self.program.chip.noc_coordinate(*word.core)[0]
        if isinstance(word, NocY):
            return self.program.chip.noc_coordinate(*word.core)[1]
        return word & 0xFFFFFFFF

    def compile_time_words(self, words: tuple[CompileTimeWord, ...]) -> tuple[int, ...]:
        """The values of compile-time words; an accessor takes two or more."""
        values: list[int] = []
        for word in words:
            if isinstance(word, Accessor):
                values += self.accessor_words(self.program.buffer(word.buffer))
            elif isinstance(word, Address):
                values.append(self.address(word.buffer) + word.offset)
            else:
                values.append(word & 0xFFFFFFFF)
        return tuple(values)

    def accessor_words(self, buffer: Buffer) -> list[int]:
        """The words of `TensorAccessorArgs` of a buffer."""
        flags = _DRAM_FLAG if buffer.space is Space.DRAM else 0
        stride = self.page_stride(buffer)
        if not isinstance(buffer.layout, Sharded):
            return [flags, stride]
        layout = buffer.layout
        if layout.tensor is None or layout.shape is None:
            raise ProgramError(
                f"buffer '{buffer.name}': an accessor requires shards of one shape, row by row"
            )
        coordinates = [self.program.chip.noc_coordinate(*core) for core in layout.cores]
        halves = [x << 8 | y for x, y in coordinates] + [0] * (len(coordinates) % 2)
        packed = [
            second << 16 | first for first, second in zip(halves[::2], halves[1::2], strict=True)
        ]
        head = [flags | _SHARDED_FLAG, stride, len(layout.tensor), len(coordinates)]
        return [*head, *layout.tensor, *layout.shape, *packed]


def allocate(program: Program) -> Allocation:
    """Addresses for all of a program's memory.

    Raises:
        ProgramError: if a core's L1 or a DRAM bank is exceeded, with the sizes.
    """
    program.verify()
    chip = program.chip
    dram, top = DRAM_BASE, chip.l1_bytes
    addresses: list[int] = []
    for buffer in program.buffers:
        if buffer.space is Space.DRAM:
            addresses.append(dram)
            rows = -(-buffer.pages // chip.dram_banks)
            dram += rows * align_up(buffer.page_bytes, chip.dram_read_alignment)
            dram = align_up(dram, chip.dram_read_alignment)
        else:
            top -= _pages_of_a_core(program, buffer) * align_up(
                buffer.page_bytes, chip.l1_alignment
            )
            top = top // chip.l1_alignment * chip.l1_alignment
            addresses.append(top)
    if dram > chip.dram_bank_bytes:
        raise ProgramError(
            f"program '{program.name}': {dram} B needed in each DRAM bank, "
            f"{chip.dram_bank_bytes} B available on {chip.name}"
        )
    by_name = dict(zip((b.name for b in program.buffers), addresses, strict=True))
    cbs, end = _allocate_circular_buffers(program, by_name)
    if end > top:
        raise ProgramError(_too_much_l1(program, end, top))
    used = end - chip.l1_reserved_bytes + chip.l1_bytes - top
    return Allocation(program, tuple(addresses), cbs, used, dram)


def _pages_of_a_core(program: Program, buffer: Buffer) -> int:
    if isinstance(buffer.layout, Sharded):
        return buffer.layout.core_pages
    return -(-buffer.pages // program.chip.num_cores)


def _allocate_circular_buffers(
    program: Program, buffers: dict[str, int]
) -> tuple[tuple[int, ...], int]:
    """Addresses of all configurations, and the first address after the last one."""
    chip = program.chip
    next_free: dict[Core, int] = {}
    addresses: list[int] = []
    for config in program.circular_buffers:
        if config.buffer is not None:
            addresses.append(buffers[config.buffer])
            continue
        base = max(next_free.get(core, chip.l1_reserved_bytes) for core in config.cores)
        addresses.append(base)
        for core in config.cores:
            next_free[core] = align_up(base + config.total_bytes, chip.l1_alignment)
    return tuple(addresses), max(next_free.values(), default=chip.l1_reserved_bytes)


def _too_much_l1(program: Program, end: int, top: int) -> str:
    chip = program.chip

    def describe(config: CircularBufferConfig) -> str:
        indices = "/".join(f"c_{cb.index}" for cb in config.circular_buffers)
        return f"{indices} {config.total_bytes}"

    needed = end - chip.l1_reserved_bytes + chip.l1_bytes - top
    parts = " | ".join(describe(c) for c in program.circular_buffers if c.buffer is None)
    return (
        f"program '{program.name}': {needed} B of L1 needed, {chip.cb_budget_bytes} B available "
        f"on {chip.name}: {parts} | L1 buffers {chip.l1_bytes - top}"
    )
