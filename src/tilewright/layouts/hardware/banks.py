"""Bank conflicts in shared memory (AMD: LDS), counted exactly.

NVIDIA's shared memory has 32 banks; a 32-bit word is in bank ``address / 4 mod 32``. In one
*wavefront* every bank can serve one 32-bit word, to any number of lanes. A warp's access of up to
4 bytes a lane is one group of 32 lanes, of 8 bytes two groups of 16, of 16 bytes four groups of 8;
a group takes as many wavefronts as the maximum of distinct 32-bit words that its lanes access in
one bank. The minimum is one for each active group.

Other GPUs differ in the number of banks and lanes, and some serve lanes together that are not
consecutive: `BankModel` is that as data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from tilewright.layouts.linear import BLOCK, OFFSET, LinearLayout
from tilewright.layouts.vectors import MAX_VECTOR_BITS, Vectorised, linear_access

BANK_BYTES = 4
HALF_LANES = 32
"""Lanes after which the pattern of lanes that are served together repeats."""
QUAD = 4
WIDTHS = (1, 2, 4, 8, 16)
"""Bytes that a lane can move at once."""


@dataclass(frozen=True)
class BankModel:
    """Banks of a GPU's shared memory, and which lanes of a warp it serves together."""

    banks: int = 32
    lanes: int = 32
    write_banks: int = 32
    """Of stores, which some GPUs serve with fewer."""
    read_quads: tuple[tuple[int, ...], ...] = ()
    """The groups of 16-byte loads, in quads of lanes (quad 1: lanes 4 to 7) of each 32 lanes; none
    if consecutive lanes are served together."""

    def groups(self, width: int, *, writes: bool = False) -> tuple[tuple[int, ...], ...]:
        """The lanes that one wavefront can serve, for accesses of `width` bytes a lane."""
        return _lane_groups(self, width, writes)

    def banks_for(self, *, writes: bool) -> int:
        return self.write_banks if writes else self.banks


NVIDIA = BankModel()


@cache
def _lane_groups(model: BankModel, width: int, writes: bool) -> tuple[tuple[int, ...], ...]:
    if width == WIDTHS[-1] and model.read_quads and not writes:
        return tuple(
            tuple(half + QUAD * quad + lane for quad in quads for lane in range(QUAD))
            for half in range(0, model.lanes, HALF_LANES)
            for quads in model.read_quads
        )
    row_bytes = model.banks_for(writes=writes) * BANK_BYTES
    lanes = min(model.lanes, row_bytes // max(width, BANK_BYTES))
    return tuple(tuple(range(first, first + lanes)) for first in range(0, model.lanes, lanes))


@dataclass(frozen=True)
class BankReport:
    """What one warp's instructions cost."""

    vector_bytes: int
    instructions: int
    wavefronts: int
    fewest: int
    """The wavefronts that the same instructions would take without conflicts."""

    @property
    def conflicts(self) -> int:
        """Wavefronts too many."""
        return self.wavefronts - self.fewest

    @property
    def ways(self) -> float:
        """How many times longer the access takes than without conflicts."""
        return self.wavefronts / self.fewest if self.fewest else 1.0

    def __str__(self) -> str:
        text = f"{self.instructions} x {self.vector_bytes} B, {self.wavefronts} wavefronts"
        return f"{text} ({self.fewest} without conflicts)" if self.conflicts else text


def wavefronts(
    addresses: Sequence[int | None],
    width: int,
    model: BankModel = NVIDIA,
    *,
    writes: bool = False,
) -> int:
    """The wavefronts of one access: a byte address for each lane, None where a lane is idle."""
    banks = model.banks_for(writes=writes)
    return sum(
        _group(group, width, banks) for group in _groups(addresses, width, model, writes=writes)
    )


def fewest_wavefronts(
    addresses: Sequence[int | None],
    width: int,
    model: BankModel = NVIDIA,
    *,
    writes: bool = False,
) -> int:
    """What the access would take if banks were never shared."""
    found = _groups(addresses, width, model, writes=writes)
    return sum(any(a is not None for a in group) for group in found)


def _groups(
    addresses: Sequence[int | None], width: int, model: BankModel, *, writes: bool
) -> list[list[int | None]]:
    if width not in WIDTHS:
        raise ValueError(f"a lane moves 1, 2, 4, 8 or 16 bytes at once, not {width}")
    if any(address is not None and address % width for address in addresses):
        raise ValueError(f"addresses must be multiples of {width}")
    if len(addresses) > model.lanes:
        raise ValueError(f"{len(addresses)} addresses for {model.lanes} lanes")
    return [
        [addresses[lane] for lane in lanes if lane < len(addresses)]
        for lanes in model.groups(width, writes=writes)
    ]


def _group(addresses: Sequence[int | None], width: int, banks: int) -> int:
    cells = {
        cell
        for address in addresses
        if address is not None
        for cell in range(address // BANK_BYTES, (address + width - 1) // BANK_BYTES + 1)
    }
    load = [0] * banks
    for cell in cells:
        load[cell % banks] += 1
    return max(load)


def summed_wavefronts(
    accesses: Iterable[Sequence[int]],
    width: int,
    model: BankModel = NVIDIA,
    *,
    writes: bool = False,
) -> tuple[int, int]:
    """The wavefronts of several accesses, and the fewest possible; the last lanes may be idle.

    Results are those of `wavefronts` and `fewest_wavefronts`, added. A lane's bytes are in
    consecutive banks, from a multiple of their number on: it is enough to count the first of them.
    """
    if width not in WIDTHS:
        raise ValueError(f"a lane moves 1, 2, 4, 8 or 16 bytes at once, not {width}")
    unit = max(width, BANK_BYTES)
    slots = model.banks_for(writes=writes) * BANK_BYTES // unit
    groups = model.groups(width, writes=writes)
    total = fewest = 0
    for addresses in accesses:
        if any(address % width for address in addresses):
            raise ValueError(f"addresses must be multiples of {width}")
        count = len(addresses)
        for lanes in groups:
            units = {addresses[lane] // unit for lane in lanes if lane < count}
            if not units:
                continue
            fewest += 1
            used = [each % slots for each in units]
            total += 1 if len({*used}) == len(used) else max(map(used.count, used))
    return total, fewest


def report(
    found: Vectorised, element_bits: int, model: BankModel = NVIDIA, *, writes: bool = False
) -> BankReport:
    """The cost of a warp's instructions, their offsets in elements."""
    size = element_bits // 8
    if not size:
        raise ValueError(f"elements of {element_bits} bits have no addresses of their own")
    width = found.width * size
    total = fewest = 0
    for instruction in found.access:
        addresses = [None if offset is None else offset * size for offset in instruction]
        total += wavefronts(addresses, width, model, writes=writes)
        fewest += fewest_wavefronts(addresses, width, model, writes=writes)
    return BankReport(width, len(found.access), total, fewest)


def linear_conflicts(
    registers: LinearLayout,
    shared: LinearLayout,
    element_bits: int,
    limit: int = MAX_VECTOR_BITS,
) -> BankReport:
    """A warp moving a tensor between registers and shared memory, both laid out over bits.

    Registers are joined into vectors in whatever order suits; each element moves once.
    """
    access = registers.invert_and_compose(shared)
    offsets = access.sublayout([n for n in access.in_names if n != BLOCK], [OFFSET])
    return report(linear_access(offsets, element_bits, limit), element_bits)
