"""Fifth-generation tensor cores: where elements are in tensor memory, and the two descriptors.

PTX ISA, "Tensor Memory", "Data Path Layout Organization", "Data Movement Shape", "Instruction
Descriptor" and "Matrix Descriptor" of ``tcgen05``. Tensor memory has 128 lanes of 512 columns of 32
bits. D of an MMA with `group` CTAs, as ``(CTA, lane, column)``::

    group  M    rows per CTA   lane                       column
    1      128  128 (D)        i                          j
    1      64   64  (F)        i // 16 * 32 + i % 16      j
    2      256  128 (A)        i % 128                    j
    2      128  64  (B)        i % 64 + 64 * (j // N')    j % N'      N' = N / 2

The instruction descriptor (kinds without block scales; block-scaled where it differs)::

    bits  4–5   D: f16, f32, s32      4–5    scale id of B
    bits  7–9   type of A             10–12  type of B
    bit   15    A contiguous in M     16     B contiguous in N
    bits 17–22  N / 8                 23     scales are E8M0
    bits 24–28  M / 16                29–30  scale id of A
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.layouts.hardware.descriptors import FIELD_MASK, MatrixDescriptor

LANES = 128
COLUMNS = 512
QUARTER = 32
"""Lanes that the warps with one remainder by four access."""
HALF_QUARTER = 16
ADDRESS_LANE_SHIFT = 16
SCALE_ROWS = 32
"""Rows of scales in one column of tensor memory."""

_TYPES: Mapping[str, Mapping[str, int]] = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": {"e4m3": 0, "e5m2": 1},
    "i8": {"u8": 0, "s8": 1},
    "mxf8f6f4": {"e4m3": 0, "e5m2": 1, "e2m1": 5},
}
_RESULTS: Mapping[str, int] = {"f16": 0, "f32": 1, "s32": 2}
_SWIZZLE_CODE = {0: 0, 128: 2, 64: 4, 32: 6}
_SWIZZLE_OF = {code: width for width, code in _SWIZZLE_CODE.items()}
_VERSION = 1
BLOCK_SCALED = "mxf8f6f4"


def encode_matrix(descriptor: MatrixDescriptor) -> int:
    """The 64 bits by which ``tcgen05`` finds an operand: as for ``wgmma``, but for the top."""
    return (
        descriptor.start >> 4
        | descriptor.leading >> 4 << 16
        | descriptor.stride >> 4 << 32
        | _VERSION << 46
        | descriptor.base_offset << 49
        | _SWIZZLE_CODE[descriptor.swizzle] << 61
    )


def decode_matrix(value: int) -> MatrixDescriptor:
    """Raises `ValueError` if it is no descriptor of this generation."""
    if value >> 46 & 3 != _VERSION:
        raise ValueError(f"matrix descriptor has version {value >> 46 & 3}, expected {_VERSION}")
    code = value >> 61 & 7
    if code not in _SWIZZLE_OF:
        raise ValueError(f"matrix descriptor has swizzle code {code}, expected 0, 2, 4 or 6")
    return MatrixDescriptor(
        start=(value & FIELD_MASK) << 4,
        leading=(value >> 16 & FIELD_MASK) << 4,
        stride=(value >> 32 & FIELD_MASK) << 4,
        swizzle=_SWIZZLE_OF[code],
        base_offset=value >> 49 & 7,
    )


@dataclass(frozen=True)
class InstructionDescriptor:
    """What an MMA computes; `types` are names of PTX (of A, B and D)."""

    kind: str
    shape: tuple[int, int, int]
    types: tuple[str, str, str]
    transposed: tuple[bool, bool] = (False, False)
    scale_ids: tuple[int, int] = (0, 0)

    def encode(self) -> int:
        """The 32-bit value."""
        m, n, _ = self.shape
        formats = _TYPES[self.kind]
        a, b, d = self.types
        value = (
            formats[a] << 7
            | formats[b] << 10
            | int(self.transposed[0]) << 15
            | int(self.transposed[1]) << 16
            | n >> 3 << 17
            | m >> 4 << 24
        )
        if self.kind == BLOCK_SCALED:
            return value | 1 << 23 | self.scale_ids[0] << 29 | self.scale_ids[1] << 4
        return value | _RESULTS[d] << 4


def result_location(m: int, n: int, group: int, i: Any, j: Any) -> tuple[Any, Any, Any]:
    """CTA, lane and column of element (i, j) of D; integers or arrays."""
    if group == 1:
        return 0 * i, (i if m == LANES else _in_halves(i)), j
    if m == 2 * LANES:
        return i // LANES, i % LANES, j
    half, rows = n // 2, LANES // 2
    return i // rows, i % rows + rows * (j // half), j % half


def _in_halves(i: Any) -> Any:
    """The lanes of 64 rows: the lower halves of the four quarters."""
    return i // HALF_QUARTER * QUARTER + i % HALF_QUARTER


def result_columns(m: int, n: int, group: int) -> int:
    """Columns that D occupies in each CTA."""
    return n // 2 if group == 2 and m == LANES else n


def operand_lanes(m: int, group: int, i: Any) -> Any:
    """The lanes of rows of A of one CTA, for A in tensor memory.

    Where D has two halves of lanes, each reads A in its own: rows are there twice.
    """
    return _in_halves(i) if group == 1 and m != LANES else i


def move_location(shape: str, lane: Any, register: Any) -> tuple[Any, Any]:
    """The lane (of the address' 32 or 16) and the column of a register of ``ld`` and ``st``."""
    if shape == "32x32b":
        return lane + 0 * register, register + 0 * lane
    if shape == "16x64b":
        return lane // 4 + 8 * (lane % 2) + 0 * register, 2 * register + lane // 2 % 2
    if shape == "16x128b":
        return lane // 4 + 8 * (register % 2), 4 * (register // 2) + lane % 4
    if shape == "16x256b":
        row = lane // 4 + 8 * (register // 2 % 2)
        return row, 8 * (register // 4) + 2 * (lane % 4) + register % 2
    raise ValueError(f"no such shape of moves: {shape}")


def move_lanes(shape: str) -> int:
    """Lanes that a warp's move covers."""
    return QUARTER if shape == "32x32b" else HALF_QUARTER
