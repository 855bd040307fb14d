"""From the layout of one tile to that of a whole tensor, spread over the CTAs of a cluster.

A tile that is too small is repeated in its first input (registers, or offsets), one dimension
after the other in the order of the tile's outputs. A tile that is too large wraps around: bits
that would leave the tensor hold copies instead. CTAs then divide the tensor by the *CGA bases*, one
for each bit of the CTA's index, counted in CTAs along each dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.layouts.linear import BLOCK, Basis, LinearLayout, dim

Shape = tuple[int, ...]
CgaBases = tuple[Basis, ...]


def dims_of(rank: int) -> list[str]:
    return [dim(axis) for axis in range(rank)]


def sized(shape: Sequence[int]) -> dict[str, int]:
    """The dimensions of a tensor by name."""
    return {dim(axis): size for axis, size in enumerate(shape)}


def counting(source: str, shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """`source` counts through `shape`, the first dimension of `order` fastest."""
    layout = LinearLayout.empty()
    for axis in order:
        layout = layout * LinearLayout.identity(shape[axis], source, dim(axis))
    return layout


def repeated(tile: LinearLayout, sizes: Mapping[str, int], source: str) -> LinearLayout:
    """The tile, repeated by `source` along every dimension in which it falls short."""
    layout = tile
    for name in tile.out_names:
        missing = max(1, sizes[name] // tile.out_size(name))
        layout = layout * LinearLayout.identity(missing, source, name)
    return layout


def wrapped(layout: LinearLayout, sizes: Mapping[str, int]) -> LinearLayout:
    """Bits that step out of the tensor hold copies."""
    names = layout.out_names
    bases = {
        source: [
            tuple(
                value if value < sizes[name] else 0
                for name, value in zip(names, basis, strict=True)
            )
            for basis in group
        ]
        for source, group in layout.bases
    }
    return LinearLayout.of(bases, {name: min(layout.out_size(name), sizes[name]) for name in names})


def ctas_along(cga: CgaBases, rank: int) -> Shape:
    """Into how many parts the CTAs of a cluster divide each dimension."""
    return tuple(
        1 << max((basis[axis] for basis in cga), default=0).bit_length() for axis in range(rank)
    )


def shape_per_cta(shape: Sequence[int], cga: CgaBases) -> Shape:
    """The part of a tensor that one CTA holds."""
    split = ctas_along(cga, len(shape))
    return tuple(max(1, size // parts) for size, parts in zip(shape, split, strict=True))


def spread(tile: LinearLayout, shape: Sequence[int], cga: CgaBases, source: str) -> LinearLayout:
    """A CTA's tile as the layout of a tensor of this shape."""
    rank = len(shape)
    part = sized(shape_per_cta(shape, cga))
    layout = wrapped(repeated(tile, part, source), part)
    names = dims_of(rank)
    ctas = LinearLayout.of({BLOCK: cga}, sized(ctas_along(cga, rank)))
    repeats = {name: shape[axis] // part[name] for axis, name in enumerate(names)}
    whole = layout.reordered(outs=names) * wrapped(ctas, repeats)
    return whole
