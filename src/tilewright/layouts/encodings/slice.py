"""A layout with one dimension taken away: where the results of a reduction live.

Threads that differed along that dimension hold copies; registers that did are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.encodings.blocked import Encoding
from tilewright.layouts.encodings.tiling import CgaBases
from tilewright.layouts.linear import REGISTER, LinearLayout, dim


@dataclass(frozen=True)
class Slice:
    """``#ttg.slice``."""

    axis: int
    parent: Encoding

    @property
    def cga(self) -> CgaBases:
        return tuple((*b[: self.axis], *b[self.axis + 1 :]) for b in self.parent.cga)

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        full = [*shape[: self.axis], 1, *shape[self.axis :]]
        parent = self.parent.to_linear(full)
        names = [name for name in parent.out_names if name != dim(self.axis)]
        flat = parent.sublayout(parent.in_names, names)
        renumbered = {name: dim(axis) for axis, name in enumerate(names)}
        return flat.without_copies(REGISTER).renamed(renumbered)
