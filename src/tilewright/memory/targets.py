"""Shared- and tensor-memory capacities of targets, and their granularity.

Every hardware constant that the rest of this package uses is here, with its source, so that a
new target is one more row and an error is fixed in one line.

* Shared memory is counted in bytes, per CTA: the maximum of one thread block that requests
  more than the default (the "opt-in" maximum).
* Tensor memory is counted in columns of 32 bits, 128 rows each; an address names a column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Protocol


class Memory(Enum):
    """The two memories whose placement is decided here."""

    SMEM = "smem"
    TMEM = "tmem"

    @property
    def unit_name(self) -> str:
        """What addresses in this memory count."""
        return "bytes" if self is Memory.SMEM else "columns"

    @property
    def full_name(self) -> str:
        """The human-readable name of the memory."""
        return "shared memory" if self is Memory.SMEM else "tensor memory"

    def __str__(self) -> str:
        return self.value


class MemoryName(Protocol):
    """A memory as maps show it."""

    @property
    def value(self) -> str: ...
    @property
    def unit_name(self) -> str: ...
    @property
    def full_name(self) -> str: ...


@dataclass(frozen=True)
class Scratchpad:
    """A memory whose addresses the program itself chooses: the L1 of a Tensix core."""

    value: str = "l1"
    unit_name: str = "bytes"
    full_name: str = "L1"


L1 = Scratchpad()

# CUDA driver API, cuTensorMapEncodeTiled and PTX `cp.async.bulk.tensor`: the shared-memory side
# of a TMA copy starts at a multiple of 128 bytes. TLX aligns every sibling to it.
SMEM_SIBLING_ALIGNMENT = 128

# Triton's AllocateSharedMemory gives every buffer at least this; wider vector accesses than
# 16 bytes do not exist.
SMEM_BASE_ALIGNMENT = 16

# PTX, "Shared memory matrix layout": a swizzle pattern repeats after 8 rows of its own width, and
# it permutes absolute address bits, so a swizzled tile starts at a multiple of that.
SWIZZLE_ATOM_ROWS = 8

# PTX, "Tensor Memory": 128 lanes (rows) of 512 columns, 32 bits each.
TMEM_ROWS = 128
TMEM_HALF_ROWS = 64
TMEM_COLUMN_BITS = 32
TMEM_COLUMN_BYTES = TMEM_COLUMN_BITS // 8

# PTX, "Scale factor" layouts of block-scaled tcgen05.mma: four scales of a row fill a column, and
# the chunk for 128 rows is four columns.
TMEM_SCALES_ALIGNMENT = 4

# Seen in Triton 3.9: its tensor-memory allocator starts every allocation at a multiple of 4.
TMEM_ALLOCATION_GRANULE = 4


@dataclass(frozen=True)
class Target:
    """Shared and tensor memory of one target. `tmem_columns` is 0 without tensor memory."""

    name: str
    smem_bytes: int
    tmem_columns: int = 0
    source: str = ""

    def capacity(self, memory: Memory) -> int:
        """How much of `memory` one CTA can have, in the memory's own unit."""
        return self.smem_bytes if memory is Memory.SMEM else self.tmem_columns

    def __str__(self) -> str:
        tmem = f", {self.tmem_columns} columns of tensor memory" if self.tmem_columns else ""
        return f"{self.name}: {self.smem_bytes} bytes of shared memory{tmem}"


_CUDA_GUIDE = (
    "CUDA C++ Programming Guide, technical specifications per compute capability: "
    "maximum amount of shared memory per thread block"
)
_AMD_TABLE = "ROCm documentation, GPU hardware specifications: LDS (KiB)"
_KIB = 1024


def _table(*targets: Target) -> Mapping[str, Target]:
    return MappingProxyType({target.name: target for target in targets})


TARGETS: Mapping[str, Target] = _table(
    Target("sm_80", 163 * _KIB, source=_CUDA_GUIDE),
    Target("sm_86", 99 * _KIB, source=_CUDA_GUIDE),
    Target("sm_89", 99 * _KIB, source=_CUDA_GUIDE),
    Target("sm_90", 227 * _KIB, source=_CUDA_GUIDE),
    Target("sm_100", 227 * _KIB, 512, _CUDA_GUIDE),
    Target("sm_103", 227 * _KIB, 512, _CUDA_GUIDE),
    Target("sm_120", 99 * _KIB, source=_CUDA_GUIDE),
    Target("gfx90a", 64 * _KIB, source=_AMD_TABLE),
    Target("gfx942", 64 * _KIB, source=_AMD_TABLE),
    Target("gfx950", 160 * _KIB, source=_AMD_TABLE),
    Target("gfx1100", 64 * _KIB, source=_AMD_TABLE),
    Target("gfx1201", 64 * _KIB, source=_AMD_TABLE),
)
"""Every target of this package, by its plain name."""

_SPELLING = re.compile(r"(?:cuda:|hip:)?(?:(?:sm_)?(?P<sm>\d+)[af]?|(?P<gfx>gfx\w+))")


def target_named(name: str) -> Target:
    """The target called `name`: ``sm_90``, ``sm_90a``, ``cuda:90``, ``hip:gfx942`` and the like.

    Raises LookupError with the known names for any other.
    """
    match = _SPELLING.fullmatch(name)
    plain = "" if match is None else match["gfx"] or f"sm_{match['sm']}"
    if plain not in TARGETS:
        raise LookupError(f"unknown target '{name}'; known: {', '.join(TARGETS)}")
    return TARGETS[plain]
