"""Memory that the extents of a view reach out of.

Sizes of a view are what guards compare indices with. Nothing requires that all its elements exist,
only that the kernel accesses none that does not: the last row of a tensor may be shorter than its
stride, and a view may be larger than what a block accesses of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.targets.numpy.tile.support.problems import RuntimeFault, count_text, index_text
from tilewright.targets.numpy.windows import Window


@dataclass(frozen=True)
class MemoryLimit:
    """The memory that a view reaches out of."""

    tensor: str
    """Whose memory it is."""
    window: Window
    """Where the view is in it."""
    size: int
    """Its elements."""

    def check(self, name: str, index: tuple[Any, ...], *, writes: bool) -> None:
        """Report an access to elements that do not exist; indices are slices, or arrays."""
        if all(isinstance(each, slice) for each in index):
            self._check_box(name, index, writes)
            return
        arrays = np.broadcast_arrays(*index)
        flat = self._flat(arrays)
        bad = (flat < 0) | (flat >= self.size)
        if bad.any():
            first = int(np.argmax(bad.reshape(-1)))
            raise self._problem(name, [int(each.reshape(-1)[first]) for each in arrays], writes)

    def _check_box(self, name: str, box: Sequence[slice], writes: bool) -> None:
        """A box is inside if its lowest and its highest element are."""
        if any(each.stop <= each.start for each in box):
            return
        ends = [
            (each.start, each.stop - 1) if stride >= 0 else (each.stop - 1, each.start)
            for each, stride in zip(box, self.window.strides, strict=True)
        ]
        for index in ([low for low, _ in ends], [high for _, high in ends]):
            if not 0 <= int(self._flat(index)) < self.size:
                raise self._problem(name, index, writes)

    def confined(self, index: tuple[Any, ...], takes_part: Any) -> tuple[Any, ...] | None:
        """Indices with those of iterations that take no part replaced; None if none takes part."""
        if takes_part is None:
            return index
        *arrays, mask = np.broadcast_arrays(*index, takes_part)
        if not mask.any():
            return None
        first = int(np.argmax(mask.reshape(-1)))
        return tuple(np.where(mask, each, each.reshape(-1)[first]) for each in arrays)

    def _flat(self, index: Sequence[Any]) -> Any:
        flat: Any = np.int64(self.window.offset)
        for each, stride in zip(index, self.window.strides, strict=True):
            flat = flat + np.asarray(each, np.int64) * stride
        return flat

    def _problem(self, name: str, index: Sequence[int], writes: bool) -> RuntimeFault:
        verb = "write to" if writes else "read of"
        message = (
            f"{verb} {index_text(name, index)}, which is element {int(self._flat(index))} of the "
            f"memory of {self.tensor}: it has {count_text(self.size, 'element')}"
        )
        view = (
            f"the view has extents {_listed(self.window.shape)} and strides "
            f"{_listed(self.window.strides)}, and starts at element {self.window.offset}"
        )
        fix = f"guard the access, make the view smaller, or pass a larger array for {self.tensor}"
        return RuntimeFault("out of bounds", message, [view, fix])


def _listed(extents: Sequence[int]) -> str:
    return f"({', '.join(map(str, extents))})"
