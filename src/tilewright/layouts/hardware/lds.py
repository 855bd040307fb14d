"""Operands of AMD's matrix instructions in LDS: rows along M or N, contiguous along K, swizzled.

Lanes of a wave read one 16-byte chunk of a row each, most of them the same chunk of consecutive
rows: with rows of 64, 128 or 256 bytes these are all in the same few banks. So chunks are exchanged
within a row, by an XOR with a number that the row gives::

    chunk' = chunk ^ row / rows % span

where ``span`` is the largest power of two that divides the chunks of a row (at most those of all
banks). With ``rows`` the rows after which the start of a row is in the same bank again, any
``banks / 4`` rows from a multiple of as many on have one chunk each in different banks. That is
enough where lanes that are served together read the same chunk. Where lanes of two groups along K
are served together (M = 16) it depends on the GPU which ``rows`` are free of conflicts: gfx950
needs those of 32 banks for rows of 64 bytes, although it has 64.

A copy that transposes a tile in registers has lanes that write the same chunks of rows a block of
columns apart (`block_rows`: as many elements as 16 bytes have). Several short rows are in one line
of banks; so that those of two blocks are not in the same part of it, rows of a line are exchanged::

    row' = row ^ row / block_rows % rows of a line

`best_swizzle` counts with the `BankModel` of the GPU, which is the proof: loads of every K step,
stores of whole rows (lanes along K), and stores of a transposed tile. The result is the first
candidate with the fewest wavefronts; an XOR needs no memory and comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from typing import Any

from tilewright.layouts.hardware.banks import BANK_BYTES, BankModel, summed_wavefronts
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.layouts.index_map import Layout

CHUNK_BYTES = 16


@dataclass(frozen=True)
class LdsSwizzle:
    """How the chunks of a row of LDS are exchanged, or rows padded."""

    row_bytes: int
    """Of the data; a row may be followed by padding."""
    rows: int = 1
    """Consecutive rows that are exchanged alike."""
    span: int = 1
    """Chunks among which an exchange takes place; 1 if there is none."""
    line_rows: int = 1
    """Rows that are exchanged among each other, by the block they are in; 1 if none are."""
    block_rows: int = 1
    padding_bytes: int = 0
    chunk_bytes: int = CHUNK_BYTES

    @property
    def pitch_bytes(self) -> int:
        return self.row_bytes + self.padding_bytes

    def row_of(self, row: Any) -> Any:
        """Where a row is, in rows."""
        if self.line_rows == 1:
            return row
        return row ^ row // self.block_rows % self.line_rows

    def chunk_of(self, row: Any, chunk: Any) -> Any:
        """Where a chunk of a row of LDS is, in chunks."""
        if self.span == 1:
            return chunk
        return chunk ^ row // self.rows % self.span

    def address(self, row: Any, byte: Any) -> Any:
        """The address of a byte of a row."""
        row = self.row_of(row)
        chunk = self.chunk_of(row, byte // self.chunk_bytes)
        return row * self.pitch_bytes + chunk * self.chunk_bytes + byte % self.chunk_bytes

    def layout(self, shape: tuple[int, int], element_bits: int) -> Layout:
        """The tile ``[M or N, K]`` in LDS: row and column, or the offset if rows are padded."""
        size = element_bits // 8
        if shape[1] * size != self.row_bytes:
            raise ValueError(f"rows have {shape[1] * size} bytes, expected {self.row_bytes}")
        pitch, vector = self.pitch_bytes // size, self.chunk_bytes // size

        def forward(i: Any, j: Any) -> Any:
            row = self.row_of(i)
            column = self.chunk_of(row, j // vector) * vector + j % vector
            return row * pitch + column if self.padding_bytes else (row, column)

        return Layout(shape, forward)

    def __str__(self) -> str:
        if self.padding_bytes:
            return f"{self.row_bytes} B + {self.padding_bytes} B of padding"
        if self.span == 1:
            return f"{self.row_bytes} B"
        found = f"{self.row_bytes} B, chunk ^ row / {self.rows} % {self.span}"
        if self.line_rows == 1:
            return found
        return f"{found}, row ^ row / {self.block_rows} % {self.line_rows}"


def swizzles(row_bytes: int, model: BankModel, chunk_bytes: int = CHUNK_BYTES) -> list[LdsSwizzle]:
    """The candidates, those that take no memory first."""
    chunks = row_bytes // chunk_bytes
    found: list[LdsSwizzle] = []
    for banks in dict.fromkeys((model.banks, model.write_banks)):
        line = banks * BANK_BYTES // chunk_bytes
        span = gcd(chunks, line)
        if span == 1:
            continue
        rows = line // span
        for each in (rows, 2 * rows):
            found.append(LdsSwizzle(row_bytes, each, span, chunk_bytes=chunk_bytes))
    found.append(LdsSwizzle(row_bytes, chunk_bytes=chunk_bytes))
    found += [LdsSwizzle(row_bytes, padding_bytes=each) for each in (16, 32, 48, 64)]
    return found


@dataclass(frozen=True)
class LdsReport:
    """Wavefronts of a wave, and the fewest possible, for each kind of access."""

    loads: tuple[int, int]
    stores: tuple[int, int]
    transposed_stores: tuple[int, int]

    @property
    def conflicts(self) -> tuple[int, int, int]:
        """Wavefronts too many of loads, of stores, and of stores of a transposed tile."""
        kinds = (self.loads, self.stores, self.transposed_stores)
        loads, stores, transposed = (found - fewest for found, fewest in kinds)
        return loads, stores, transposed


@cache
def best_swizzle(
    core: MatrixCore,
    depth: int,
    element_bits: int,
    model: BankModel,
    k_width: int | None = None,
    *,
    transposed: bool = False,
) -> LdsSwizzle:
    """The layout of rows of `depth` elements with the fewest conflicts of an operand's loads.

    With `transposed`, the copy that fills it transposes the tile in registers.
    """
    row_bytes = depth * element_bits // 8
    best, fewest = LdsSwizzle(row_bytes), None
    if row_bytes % CHUNK_BYTES:
        return best
    candidates = swizzles(row_bytes, model)
    width = _access_bytes(core, depth, element_bits, k_width)
    if width == CHUNK_BYTES // 2:
        candidates += swizzles(row_bytes, model, width)
    transposed = transposed and row_bytes & row_bytes - 1 == 0  # other rows always have conflicts
    if transposed:
        block = CHUNK_BYTES * 8 // element_bits
        candidates = [other for each in candidates for other in (each, *_lines(each, model, block))]
    for each in candidates:
        cost = _cost(each, core, depth, element_bits, model, k_width, transposed=transposed)
        if fewest is None or cost < fewest:
            best, fewest = each, cost
        if not any(cost):
            break
    return best


def _lines(swizzle: LdsSwizzle, model: BankModel, block_rows: int) -> Iterator[LdsSwizzle]:
    """The same with rows of a line exchanged, if there are several."""
    rows = model.write_banks * BANK_BYTES // swizzle.row_bytes
    if rows > 1 and rows & rows - 1 == 0 and not swizzle.padding_bytes:
        yield replace(swizzle, line_rows=rows, block_rows=block_rows)


def _access_bytes(core: MatrixCore, depth: int, element_bits: int, k_width: int | None) -> int:
    width = k_width or core.widest_k_width(element_bits, depth)
    return min(CHUNK_BYTES, width * element_bits // 8)


def _cost(
    swizzle: LdsSwizzle,
    core: MatrixCore,
    depth: int,
    element_bits: int,
    model: BankModel,
    k_width: int | None,
    *,
    transposed: bool,
) -> tuple[int, ...]:
    """Conflicts of the accesses that take place, as `LdsReport` has them."""
    kinds = [
        _loads(swizzle, core, depth, element_bits, model, k_width),
        _stores(swizzle, core, model),
    ]
    if transposed:
        kinds.append(_transposed_stores(swizzle, element_bits, model))
    return tuple(found - fewest for found, fewest in kinds)


def count(
    swizzle: LdsSwizzle,
    core: MatrixCore,
    depth: int,
    element_bits: int,
    model: BankModel,
    k_width: int | None = None,
) -> LdsReport:
    """The wavefronts of accesses to two tiles of rows of an operand."""
    return LdsReport(
        _loads(swizzle, core, depth, element_bits, model, k_width),
        _stores(swizzle, core, model),
        _transposed_stores(swizzle, element_bits, model),
    )


def _loads(
    swizzle: LdsSwizzle,
    core: MatrixCore,
    depth: int,
    element_bits: int,
    model: BankModel,
    k_width: int | None,
) -> tuple[int, int]:
    size = element_bits // 8
    width = k_width or core.widest_k_width(element_bits, depth)
    access = _access_bytes(core, depth, element_bits, k_width)
    # Exchanges repeat along a row: further columns add nothing.
    row_bytes = min(depth * size, model.banks * BANK_BYTES)
    loads = _operand_loads(swizzle, core, row_bytes, width * size, access)
    return summed_wavefronts(loads, access, model)


def _stores(swizzle: LdsSwizzle, core: MatrixCore, model: BankModel) -> tuple[int, int]:
    rows = _rows_stored(swizzle, core, model.lanes)
    return summed_wavefronts(rows, swizzle.chunk_bytes, model, writes=True)


def _transposed_stores(swizzle: LdsSwizzle, element_bits: int, model: BankModel) -> tuple[int, int]:
    found = fewest = 0
    for width in (16, 8, 4):
        if width <= swizzle.chunk_bytes:
            rows = _blocks_stored(swizzle, width, CHUNK_BYTES * 8 // element_bits, model.lanes)
            taken = summed_wavefronts(rows, width, model, writes=True)
            found, fewest = found + taken[0], fewest + taken[1]
    return found, fewest


def _operand_loads(
    swizzle: LdsSwizzle, core: MatrixCore, row_bytes: int, run: int, access: int
) -> Iterator[list[int]]:
    """One address per lane, for each load of two tiles of `side` rows."""
    for first in (0, core.side):
        for start in range(0, row_bytes, run * core.groups):
            for step in range(0, run, access):
                yield [
                    swizzle.address(
                        first + lane % core.side,
                        start + run * (lane // core.side % core.groups) + step,
                    )
                    for lane in range(core.wave)
                ]


def _rows_stored(swizzle: LdsSwizzle, core: MatrixCore, lanes: int) -> Iterator[list[int]]:
    """Lanes along K, row by row."""
    chunks = swizzle.row_bytes // swizzle.chunk_bytes
    for first in range(0, 2 * core.side * chunks, lanes):
        yield [
            swizzle.address(unit // chunks, unit % chunks * swizzle.chunk_bytes)
            for unit in range(first, min(first + lanes, 2 * core.side * chunks))
        ]


def _blocks_stored(
    swizzle: LdsSwizzle, width: int, block_rows: int, lanes: int
) -> Iterator[list[int]]:
    """Lanes along K, `width` bytes each, and then along M or N, where each has a block."""
    units = swizzle.row_bytes // width
    for row in range(min(block_rows, 4)):
        for first in (0, lanes):
            yield [
                swizzle.address(unit // units * block_rows + row, unit % units * width)
                for unit in range(first, first + lanes)
            ]
