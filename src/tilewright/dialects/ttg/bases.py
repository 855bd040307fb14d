"""Properties of linear layouts that can be read off their bases.

A linear layout sends every bit of its inputs (register, lane, warp, CTA, offset) to a vector, its
*basis*, in the coordinates of the tensor; an input with several bits set goes to the XOR of their
bases. Checking that a layout is sound is linear algebra over two elements: a basis becomes one
integer, the concatenated bits of its coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.struct import Bases, Ints


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def joined(groups: Iterable[Bases]) -> Bases:
    """The bases of several input dimensions in one list."""
    return tuple(basis for group in groups for basis in group)


def rank_of(*groups: Bases) -> int:
    """The number of coordinates; 0 if there is no basis at all."""
    return next((len(basis) for basis in joined(groups)), 0)


def verify_ranks(bases: Bases, rank: int) -> None:
    """Raise unless every basis has `rank` coordinates."""
    for basis in bases:
        if len(basis) != rank:
            raise VerifyException(f"basis {list(basis)} does not have {rank} entries")


def extents(bases: Bases, rank: int) -> Ints:
    """The smallest tensor, in powers of two, that holds every point the bases reach."""
    largest = [max((basis[dim] for basis in bases), default=0) for dim in range(rank)]
    return tuple(1 << value.bit_length() for value in largest)


def moves_at_most_once(bases: Bases) -> bool:
    """Whether each basis moves in one dimension at most."""
    return all(sum(value != 0 for value in basis) <= 1 for basis in bases)


def without_broadcasts(bases: Bases) -> Bases:
    """The bases that move at all."""
    return tuple(basis for basis in bases if any(basis))


def _as_integers(bases: Bases) -> list[int]:
    sizes = extents(bases, rank_of(bases))
    vectors: list[int] = []
    for basis in bases:
        vector = 0
        for value, size in zip(basis, sizes, strict=True):
            vector = vector * size + value
        vectors.append(vector)
    return vectors


def dimension(bases: Bases) -> int:
    """How many of the bases are independent of each other."""
    pivots: list[int] = []
    for vector in _as_integers(bases):
        for pivot in pivots:
            vector = min(vector, vector ^ pivot)
        if vector:
            pivots.append(vector)
    return len(pivots)


def is_injective(bases: Bases) -> bool:
    """Whether no two inputs map to the same element."""
    return dimension(bases) == len(bases)


def is_surjective(bases: Bases) -> bool:
    """Whether every element is reached."""
    bits = sum(size.bit_length() - 1 for size in extents(bases, rank_of(bases)))
    return dimension(bases) == bits


def is_permutation(bases: Bases) -> bool:
    """Whether the bases that move are the coordinates' own bits, each once."""
    moving = without_broadcasts(bases)
    if not moves_at_most_once(moving):
        return False
    if not all(is_power_of_two(max(basis)) for basis in moving):
        return False
    return is_injective(moving) and is_surjective(moving)


def identity_bases(shape: Ints, order: Ints, scale: Ints | None = None) -> Bases:
    """One basis per bit of `shape`, fastest dimension first, each step times `scale`."""
    bases: list[tuple[int, ...]] = []
    for dim in order:
        step = 1 if scale is None else scale[dim]
        for bit in range(shape[dim].bit_length() - 1):
            bases.append(unit(len(shape), dim, step << bit))
    return tuple(bases)


def unit(rank: int, dim: int, value: int) -> tuple[int, ...]:
    """`value` in dimension `dim`, 0 elsewhere."""
    return tuple(value if each == dim else 0 for each in range(rank))


def permuted(bases: Bases, order: Sequence[int]) -> Bases:
    """The bases once dimension ``order[i]`` has become dimension ``i``."""
    return tuple(tuple(basis[dim] for dim in order) for basis in bases)


def order_of(bases: Bases, rank: int) -> Ints:
    """Dimensions in the order in which the bases first move in them, the others last."""
    seen: dict[int, None] = {}
    for basis in bases:
        for dim, value in enumerate(basis):
            if value:
                seen.setdefault(dim)
    return (*seen, *(dim for dim in reversed(range(rank)) if dim not in seen))


def cga_of(block: Bases) -> Bases:
    """The bases of the CTA's number in steps of one CTA's share: 1, 2, 4 ... in each dimension."""
    rank = rank_of(block)
    steps = [sorted({basis[dim] for basis in block} - {0}) for dim in range(rank)]
    return tuple(
        tuple(1 << steps[dim].index(value) if value else 0 for dim, value in enumerate(basis))
        for basis in block
    )
