"""Instructions on slots of DST: what a section computes for one tile."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

ZERO = -1
"""The input that is a tile of zeros."""


@dataclass(frozen=True)
class Copy:
    """``DST[slot] = input``."""

    input: int
    slot: int


@dataclass(frozen=True)
class Fpu:
    """``DST[slot] = left function right``; `dim` is what of the right input is repeated."""

    function: str
    left: int
    right: int
    slot: int
    dim: str | None = None


@dataclass(frozen=True)
class Unary:
    function: str
    slot: int


@dataclass(frozen=True)
class Scalar:
    """``DST[slot] = DST[slot] function value``; `bits` is a constant or a run-time scalar."""

    function: str
    slot: int
    bits: int | SSAValue


@dataclass(frozen=True)
class Binary:
    """``DST[slot] = DST[left] function DST[right]``."""

    function: str
    left: int
    right: int
    slot: int


@dataclass(frozen=True)
class Fill:
    """``DST[slot] = value`` in every element; `bits` is a constant or a run-time scalar."""

    slot: int
    bits: int | SSAValue
    format: str = "f32"


@dataclass(frozen=True)
class Where:
    """``DST[slot] = DST[condition] ? DST[left] : DST[right]``."""

    condition: int
    left: int
    right: int
    slot: int
    format: str = "f32"


@dataclass(frozen=True)
class Typecast:
    """The elements of a slot in another format."""

    source: str
    target: str
    slot: int


Instruction: TypeAlias = Copy | Fpu | Unary | Scalar | Binary | Fill | Where | Typecast


@dataclass(frozen=True)
class DstProgram:
    """The instructions for one tile, and the slots of the results."""

    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    slots: int
    """How many slots are in use at max_slots, given ones included."""

    @property
    def needs_zero(self) -> bool:
        """Whether a tile of zeros has to be there."""
        return any(isinstance(each, Fpu) and each.left == ZERO for each in self.instructions)


def bits_of(value: float) -> int:
    """The fp32 bit pattern of a float."""
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return bits_of(math.copysign(math.inf, value))
