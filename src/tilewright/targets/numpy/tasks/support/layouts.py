"""Bytes that are read through another layout than they were written through.

Hardware permutes the bytes of a tile (swizzles, core matrices); here tiles are row-major. As long
as a buffer is read as it was written, the result is the same. Where two types alias the same bytes
and one is read after the other was written, the value on a GPU differs from the one here, which is
reported once for each pair of layouts and line, as a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tile.support.problems import count_text

Warn = Callable[[str, str, int], None]
"""Takes a message, a note and a source id."""
PLAIN = "row-major, unpermuted"


@dataclass
class Layouts:
    """The layouts seen in one launch, by number."""

    warn: Warn | None = None
    _ids: dict[str, int] = field(default_factory=dict[str, int])
    _reported: set[tuple[int, int, int]] = field(default_factory=set[tuple[int, int, int]])

    def wrote(self, view: View) -> None:
        """Bytes are written through the layout of `view`."""
        view.bytes.cells(view.arena.layouts)[...] = self._id(view)

    def read(self, view: View, source_id: int) -> None:
        """Bytes are read; they should have been written with the same layout."""
        own = self._id(view)
        found = view.bytes.cells(view.arena.layouts)
        strange = (found != own) & (found != 0)
        if not strange.any():
            return
        other = int(found[strange].flat[0])
        if self.warn is None or (own, other, source_id) in self._reported:
            return
        self._reported.add((own, other, source_id))
        size = count_text(int(np.count_nonzero(strange)), "byte")
        layouts = {key: text or PLAIN for text, key in self._ids.items()}
        self.warn(
            f"not analysed: the value read from {view.name}: {size} of it were written with "
            "another layout, and the permutation by the hardware is not modelled",
            f"written as {layouts[other]}, read as {layouts[own]}",
            source_id,
        )

    def _id(self, view: View) -> int:
        return self._ids.setdefault(view.layout, len(self._ids) + 1)
