"""Two texts that grow together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Text:
    """The lines of the kernel and of its reference, each with its indentation."""

    def __init__(self) -> None:
        self.tile: list[str] = []
        self.numpy: list[str] = []
        self._tile_depth = 0
        self._numpy_depth = 0

    def both(self, line: str) -> None:
        self.add(line, line)

    def add(self, tile: str | None, numpy: str | None) -> None:
        if tile is not None:
            self.tile.append("    " * self._tile_depth + tile)
        if numpy is not None:
            self.numpy.append("    " * self._numpy_depth + numpy)

    @contextmanager
    def block(self, tile: str | None, numpy: str | None) -> Iterator[None]:
        """Lines inside are those of a statement's body; without a header they are not indented."""
        self.add(tile, numpy)
        self._tile_depth += tile is not None
        self._numpy_depth += numpy is not None
        yield
        self._tile_depth -= tile is not None
        self._numpy_depth -= numpy is not None

    @contextmanager
    def block_of_tile(self) -> Iterator[None]:
        """A body in the kernel only: NumPy works on whole arrays."""
        self._tile_depth += 1
        yield
        self._tile_depth -= 1
