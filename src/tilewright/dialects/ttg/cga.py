"""How the CTAs of a cluster (a CGA) share a tensor: the ``CGALayout`` key.

The value lists one basis per bit of the CTA's number; ``[[0, 1]]`` splits the last dimension
between two CTAs, ``[[0, 0]]`` gives both the whole. A single CTA has no bits and the key is left
out. Releases before 3.6 wrote three lists instead, which are read and turned into bases::

    CTAsPerCGA = [1, 2], CTASplitNum = [1, 2], CTAOrder = [1, 0]    →    CGALayout = [[0, 1]]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.bases import is_permutation, is_power_of_two, unit
from tilewright.dialects.ttg.interfaces import LayoutEncoding
from tilewright.dialects.ttg.struct import (
    BASES,
    UINTS,
    Bases,
    FieldKind,
    Ints,
    Struct,
    key,
    struct_attr,
)

_LEGACY_KEYS = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")


def cga_bases(ctas_per_cga: Ints, cta_split_num: Ints, cta_order: Ints) -> Bases:
    """Bases from the lists of older releases; CTAs beyond the split hold copies."""
    bases: list[tuple[int, ...]] = []
    rank = len(ctas_per_cga)
    for dim in cta_order:
        split = min(cta_split_num[dim], ctas_per_cga[dim]).bit_length() - 1
        copies = ctas_per_cga[dim].bit_length() - 1 - split
        bases += [unit(rank, dim, 1 << bit) for bit in range(split)]
        bases += [unit(rank, dim, 0)] * copies
    return tuple(bases)


def cta_split_num(cga: Bases, rank: int) -> Ints:
    """Into how many parts each dimension is split."""
    parts = [1] * rank
    for basis in cga:
        for dim, value in enumerate(basis):
            if value:
                parts[dim] *= 2
    return tuple(parts)


def shape_per_cta(shape: Ints, cga: Bases, rank: int) -> Ints:
    """The share of one CTA; dimensions before the layout's are not split."""
    split = (1,) * (len(shape) - rank) + cta_split_num(cga, rank)
    return tuple(max(extent // parts, 1) for extent, parts in zip(shape, split, strict=True))


@struct_attr
class CgaStruct(Struct, LayoutEncoding):
    """Base of layouts with a ``CGALayout`` key."""

    LEGACY: ClassVar[Mapping[str, FieldKind[Any]]] = dict.fromkeys(_LEGACY_KEYS, UINTS)

    cga_layout: Bases = key("CGALayout", BASES, default=())

    @property
    @override
    def cga(self) -> Bases:
        return self.cga_layout

    @classmethod
    @override
    def upgrade(cls, values: dict[str, Any], parser: AttrParser) -> dict[str, Any]:
        old = [values.pop(name) for name in _LEGACY_KEYS if name in values]
        if not old:
            return values
        if len(old) != len(_LEGACY_KEYS):
            parser.raise_error(f"'{cls.name}' needs all or none of {', '.join(_LEGACY_KEYS)}")
        problem = _legacy_problem(*old)
        if problem is not None:
            parser.raise_error(problem)
        return values | {"CGALayout": cga_bases(*old)}

    @override
    def verify(self) -> None:
        if any(len(basis) != self.rank for basis in self.cga_layout):
            raise VerifyException(f"'CGALayout' entry length does not match rank {self.rank}")
        if not is_permutation(self.cga_layout):
            raise VerifyException(
                "After removing broadcast bases the CGA encoding must be a permutation matrix"
            )


def _legacy_problem(ctas: Ints, split: Ints, order: Ints) -> str | None:
    if not len(ctas) == len(split) == len(order):
        return "CTAsPerCGA, CTASplitNum, and CTAOrder must all have the same rank"
    if sorted(order) != list(range(len(order))):
        return f"CTAOrder must be a permutation of 0..(rank-1), but was {list(order)}"
    for name, values in (("CTAsPerCGA", ctas), ("CTASplitNum", split)):
        if not all(map(is_power_of_two, values)):
            return f"Every element in {name} must be a power of two"
    return None
