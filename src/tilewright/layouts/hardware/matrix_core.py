"""Fragments of AMD's matrix instructions: which lane of a wave holds which element of A, B, C.

All of them (MFMA of gfx9, WMMA of gfx11 and gfx12) are one pattern. M = N; lane ``l`` has row
``l % M`` of A and column ``l % M`` of B and C, and the *group* ``g = l / M`` of the lane chooses
along the other direction, which is cut into runs that are dealt to the groups in order::

    A (i, k)   i = l % M    k = w * (g + groups * (r / w)) + r % w        w: ``k_width``
    B (k, j)   j = l % M    k likewise
    C (i, j)   j = l % M    i = c * (g + groups * (r / c)) + r % c        c: ``run``

gfx11 repeats A and B: all groups of lanes hold all of K (``groups`` is 1, with copies).

*K may be permuted*, in A and B alike, because a sum does not depend on the order of its terms. With
``w`` the width of the instruction the table above is the manual's; with a multiple of it a lane
reads so many contiguous elements at once and feeds several instructions: instruction ``s`` takes
registers ``s * width`` and up, of both operands. ``w = c`` makes the transposed accumulator of one
GEMM the operand A of the next.

*Transposed accumulators*: with B as the first operand and A as the second, the instruction gives
the transposed result; a lane has ``c`` neighbouring columns of a row instead of rows of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.layouts.fragment import Fragment


@dataclass(frozen=True)
class MatrixCore:
    """The fragments of one matrix instruction, and of tiles that several instructions compute."""

    side: int
    """M and N."""
    k: int
    wave: int
    """Lanes."""
    width: int
    """Elements of A, and of B, that a lane holds for one instruction."""
    run: int
    """Neighbouring rows of the accumulator in registers of a lane."""

    def __post_init__(self) -> None:
        if self.wave % self.side or (self.width * self.lane_groups) % self.k:
            raise ValueError(
                f"{self.wave} lanes of {self.width} elements do not hold {self.side} x {self.k}"
            )

    @property
    def lane_groups(self) -> int:
        """Sets of `side` lanes."""
        return self.wave // self.side

    @property
    def copies(self) -> int:
        """How many lanes hold an element of A."""
        return self.width * self.lane_groups // self.k

    @property
    def groups(self) -> int:
        """Sets of lanes among which K is divided."""
        return self.lane_groups // self.copies

    @property
    def accumulators(self) -> int:
        """Elements of the accumulator that a lane holds for one instruction."""
        return self.side * self.side // self.wave

    def is_k_width(self, k_width: int, depth: int) -> bool:
        """Whether a lane can hold runs of `k_width` of an operand's `depth` elements along K."""
        if depth % self.k or depth % (k_width * self.groups):
            return False
        return k_width % self.width == 0 or self.width % k_width == 0

    def widest_k_width(self, element_bits: int, depth: int, access_bits: int = 128) -> int:
        """The most contiguous elements along K that a lane can hold for one access.

        Where the operand of one instruction is wider than an access, K is permuted so that lanes
        still read contiguous accesses.
        """
        found = 1
        while found * 2 * element_bits <= access_bits and self.is_k_width(found * 2, depth):
            found *= 2
        return found

    # --- one instruction, or several along K ------------------------------------------------

    def a(self, depth: int | None = None, k_width: int | None = None) -> Fragment:
        """The operand A, side x depth."""
        depth, width = self._checked(depth, k_width)
        side, groups = self.side, self.groups

        def register(i: Any, k: Any) -> Any:
            return k % width + width * (k // (width * groups))

        def thread(i: Any, k: Any, *copy: Any) -> Any:
            group = k // width % groups
            return i + side * (group + groups * copy[0] if copy else group)

        return Fragment((side, depth), thread, register, self.copies)

    def b(self, depth: int | None = None, k_width: int | None = None) -> Fragment:
        """The operand B, depth x side."""
        return transposed(self.a(depth, k_width))

    def c(self, transpose: bool = False) -> Fragment:
        """The accumulator, side x side; `transpose` if A and B change places."""
        side, groups, run = self.side, self.lane_groups, self.run

        def thread(i: Any, j: Any) -> Any:
            return j + side * (i // run % groups)

        def register(i: Any, j: Any) -> Any:
            return i % run + run * (i // (run * groups))

        found = Fragment((side, side), thread, register)
        return transposed(found) if transpose else found

    def _checked(self, depth: int | None, k_width: int | None) -> tuple[int, int]:
        depth, width = depth or self.k, k_width or self.width
        if not self.is_k_width(width, depth):
            raise ValueError(
                f"K = {depth} is not divisible into runs of {width} for {self.groups} groups of "
                f"lanes and instructions of K = {self.k}"
            )
        return depth, width

    # --- the tile of a block ----------------------------------------------------------------

    def accumulator(
        self, shape: tuple[int, int], waves: tuple[int, int], transpose: bool = False
    ) -> Fragment:
        """The accumulator of a block's tile.

        Each wave has one rectangle, waves counted row by row; instructions follow row by row in
        it, with `accumulators` registers each.
        """
        return self._tiles(self.c(transpose), shape, waves)

    def operand_a(
        self, shape: tuple[int, int], waves: tuple[int, int], k_width: int | None = None
    ) -> Fragment:
        """A of a block's GEMM in registers; waves along N own the same rows.

        Tile by tile along M, and for each of them all of K: ``depth / K`` instructions of `width`.
        """
        whole = self._tiles(self.a(shape[1], k_width), shape, (waves[0], 1))
        return _shared(whole, self.wave, waves, along=1)

    def operand_b(
        self, shape: tuple[int, int], waves: tuple[int, int], k_width: int | None = None
    ) -> Fragment:
        """B of a block's GEMM in registers; waves along M own the same columns."""
        whole = self._tiles(self.b(shape[0], k_width), shape, (1, waves[1]))
        return _shared(whole, self.wave, waves, along=0)

    def _tiles(self, base: Fragment, shape: tuple[int, int], waves: tuple[int, int]) -> Fragment:
        for axis in range(2):
            if shape[axis] % (base.shape[axis] * waves[axis]):
                raise ValueError(
                    f"{shape[axis]} is not a multiple of {waves[axis]} waves x {base.shape[axis]}"
                )
        inside = (
            shape[0] // (base.shape[0] * waves[0]),
            shape[1] // (base.shape[1] * waves[1]),
        )
        return base.repeat(inside).repeat(waves, on_threads=True)


def transposed(fragment: Fragment) -> Fragment:
    """The same lanes and registers for the transposed tile."""
    rows, columns = fragment.shape

    def thread(i: Any, j: Any, *replica: Any) -> Any:
        return fragment.thread(j, i, *replica)

    def register(i: Any, j: Any) -> Any:
        return fragment.index(j, i)

    return Fragment((columns, rows), thread, register, fragment.replicas)


def _shared(fragment: Fragment, wave: int, waves: tuple[int, int], along: int) -> Fragment:
    """Copies for the waves that differ along one direction of the row-major grid of waves."""
    times, columns, copies = waves[along], waves[1], fragment.replicas
    if times == 1:
        return fragment

    def thread(i: Any, j: Any, replica: Any) -> Any:
        found = fragment.thread_of(i, j, replica=replica % copies)
        lane, index, other = found % wave, found // wave, replica // copies
        if along == 1:
            return lane + wave * (index * columns + other)
        return lane + wave * (other * columns + index)

    return Fragment(fragment.shape, thread, fragment.index, copies * times)
