"""Layouts given by their bases: ``#ttg.linear`` and ``#ttg.shared_linear``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.encodings.tiling import CgaBases, repeated, sized, wrapped
from tilewright.layouts.linear import BLOCK, OFFSET, REGISTER, LinearLayout


@dataclass(frozen=True)
class Linear:
    """A register layout; tensors larger than it repeat it, smaller ones hold copies."""

    layout: LinearLayout

    @property
    def cga(self) -> CgaBases:
        """The bases of CTAs, counted in parts of the tensor that one CTA holds."""
        whole = self.layout
        part = [
            1 + max((b[axis] for n, g in whole.bases if n != BLOCK for b in g), default=0)
            for axis in range(len(whole.out_dims))
        ]
        return tuple(
            tuple(value // size for value, size in zip(basis, part, strict=True))
            for basis in whole.bases_of(BLOCK)
        )

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        source = OFFSET if OFFSET in self.layout.in_names else REGISTER
        sizes = sized(shape)
        return wrapped(repeated(self.layout, sizes, source), sizes)
