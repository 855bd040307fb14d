"""The 64-bit matrix descriptor by which ``wgmma`` finds an operand in shared memory.

PTX ISA, "Matrix Descriptor Format" and "Strides"::

    bits  0–13  start address / 16          bits 49–51  base offset (pattern not aligned)
    bits 16–29  leading byte offset / 16    bits 62–63  swizzle: 0 none, 1 128 B, 2 64 B, 3 32 B
    bits 32–45  stride byte offset / 16

What the two offsets mean depends on which dimension is contiguous. In units of 16 bytes, with
rows along M or N:

==========  =============  ===================================  ==============================
contiguous  swizzle        leading offset                       stride offset
==========  =============  ===================================  ==============================
K           none           from one unit to the next along K    from 8 rows to the next 8
K           32, 64, 128    not used                             from 8 rows to the next 8
M or N      none           from 8 of K to the next 8            from one unit to the next
M or N      32, 64, 128    from one chunk of a row to the next  from 8 of K to the next 8
==========  =============  ===================================  ==============================

`operand` makes the descriptor of one instruction's operand inside a tile laid out by
`swizzle.swizzled_tile`; `read_address` is the hardware's side, for checks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.layouts.hardware.swizzle import (
    ATOM_ROWS,
    UNIT_BYTES,
    swizzle_address,
)

SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}
_SWIZZLE_OF = {code: width for width, code in SWIZZLE_CODE.items()}
FIELD_MASK = 0x3FFF
ADDRESS_LIMIT = 1 << 18


@dataclass(frozen=True)
class MatrixDescriptor:
    """The fields in bytes."""

    start: int
    leading: int
    stride: int
    swizzle: int
    base_offset: int = 0

    def __post_init__(self) -> None:
        if self.swizzle not in SWIZZLE_CODE:
            raise ValueError(f"swizzle width is {self.swizzle} bytes, expected 0, 32, 64 or 128")
        for name in ("start", "leading", "stride"):
            value: int = getattr(self, name)
            if value % UNIT_BYTES or not 0 <= value < ADDRESS_LIMIT:
                raise ValueError(f"{name} must be a multiple of 16 below 2^18, got {value}")
        if not 0 <= self.base_offset < 8:
            raise ValueError(f"the base offset has three bits, got {self.base_offset}")

    def encode(self) -> int:
        """The 64-bit value."""
        return (
            self.start >> 4
            | self.leading >> 4 << 16
            | self.stride >> 4 << 32
            | self.base_offset << 49
            | SWIZZLE_CODE[self.swizzle] << 62
        )

    @classmethod
    def decode(cls, value: int) -> MatrixDescriptor:
        return cls(
            start=(value & FIELD_MASK) << 4,
            leading=(value >> 16 & FIELD_MASK) << 4,
            stride=(value >> 32 & FIELD_MASK) << 4,
            swizzle=_SWIZZLE_OF[value >> 62 & 3],
            base_offset=value >> 49 & 7,
        )

    def moved(self, byte_offset: int) -> MatrixDescriptor:
        """The descriptor of an operand further on in the same buffer."""
        return replace(self, start=self.start + byte_offset)


@dataclass(frozen=True)
class OperandTile:
    """A tile of A (M x K) or B (N x K) in shared memory, laid out by `swizzled_tile`.

    `rows` and `columns` are those of memory: the columns are contiguous. With `k_major` they are K,
    otherwise they are M or N.
    """

    rows: int
    columns: int
    element_bits: int
    swizzle: int
    k_major: bool = True
    is_tcgen05: bool = False
    """Its operands of 8 bits may have either major order, too."""

    def __post_init__(self) -> None:
        allowed = (8, 16) if self.is_tcgen05 else (16,)
        if not self.k_major and self.element_bits not in allowed:
            user = "tcgen05" if self.is_tcgen05 else "wgmma"
            bits = "-bit and ".join(map(str, allowed))
            raise ValueError(f"only {bits}-bit operands of {user} can be contiguous along M or N")

    @property
    def chunk_bytes(self) -> int:
        """The contiguous bytes of a row."""
        return max(UNIT_BYTES, self.swizzle)

    @property
    def chunk(self) -> int:
        return self.chunk_bytes * 8 // self.element_bits

    @property
    def atom_bytes(self) -> int:
        return ATOM_ROWS * self.chunk_bytes

    @property
    def column_of_atoms(self) -> int:
        """Bytes from one chunk of a row to the next."""
        return self.rows // ATOM_ROWS * self.atom_bytes

    def offset_of(self, mn: int, k: int) -> int:
        """Where an instruction's operand starts that begins at row (or column) `mn` and at `k`.

        `mn` must be a multiple of 8 rows, or of whole chunks; `k` of the instruction's depth.
        """
        row, column = (mn, k) if self.k_major else (k, mn)
        if row % ATOM_ROWS:
            raise ValueError(f"operand starts at row {row}, not a multiple of {ATOM_ROWS}")
        if not self.k_major and column % self.chunk:
            raise ValueError(f"operand starts at column {column}, not a multiple of {self.chunk}")
        inside = column % self.chunk * self.element_bits // 8
        return column // self.chunk * self.column_of_atoms + row // 8 * self.atom_bytes + inside

    def operand(self, base: int = 0, mn: int = 0, k: int = 0) -> MatrixDescriptor:
        """The descriptor of the operand of one instruction; `base` is the tile's address."""
        start = base + self.offset_of(mn, k)
        if self.k_major:
            # Swizzled, one instruction's K is within a chunk: the leading offset is not used.
            leading = UNIT_BYTES if self.swizzle else self.column_of_atoms
            return MatrixDescriptor(start, leading, self.atom_bytes, self.swizzle)
        if self.swizzle:
            return MatrixDescriptor(start, self.column_of_atoms, self.atom_bytes, self.swizzle)
        return MatrixDescriptor(start, self.atom_bytes, self.column_of_atoms, 0)


def read_address(
    descriptor: MatrixDescriptor, mn: int, k: int, element_bits: int, k_major: bool
) -> int:
    """The byte address at which ``wgmma`` looks for element (mn, k) of an instruction's operand."""
    unit = UNIT_BYTES * 8 // element_bits
    size = element_bits // 8
    width = descriptor.swizzle
    if k_major:
        plain = mn % 8 * max(UNIT_BYTES, width) + mn // 8 * descriptor.stride
        plain += k * size if width else k // unit * descriptor.leading + k % unit * size
    elif width:
        chunk = width // size
        plain = mn % chunk * size + mn // chunk * descriptor.leading
        plain += k % 8 * width + k // 8 * descriptor.stride
    else:
        plain = mn % unit * size + mn // unit * descriptor.stride
        plain += k % 8 * UNIT_BYTES + k // 8 * descriptor.leading
    return swizzle_address(descriptor.start + plain, width)
