"""Dimensions, buffers and tensors of a random kernel, and what a statement of it may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.tenstorrent.values import Known


@dataclass(frozen=True)
class Dim:
    """A dimension of the problem, cut into blocks."""

    name: str
    size: int
    block: int

    @property
    def blocks(self) -> int:
        return -(-self.size // self.block)


@dataclass(frozen=True)
class Memory:
    """A buffer of blocks, or a tensor in global memory."""

    name: str
    dims: tuple[Dim, ...]
    dtype: str
    space: str = "global"
    role: str = "input"

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of a tensor."""
        return tuple(dim.size for dim in self.dims)

    @property
    def blocks(self) -> tuple[int, ...]:
        """The extents of a buffer."""
        return tuple(dim.block for dim in self.dims)


@dataclass(frozen=True)
class Scalar:
    """A scalar argument of the kernel."""

    name: str
    dtype: str
    value: int


@dataclass(frozen=True)
class Offsets:
    """An int32 tensor with the first row of each block."""

    name: str
    values: tuple[int, ...]


@dataclass
class Scope:
    """What the statements of a block of the kernel may use."""

    known: dict[str, Known]
    """Buffers that are written, by name."""
    frozen: set[str] = field(default_factory=set[str])
    """Buffers written before a loop, which the loop may not write."""
    growing: dict[str, float] = field(default_factory=dict[str, float])
    """Accumulators of a loop, and what one iteration may still add."""
    loops: dict[str, str] = field(default_factory=dict[str, str])
    """The loop index of each dimension that a loop around the block runs over."""
    depth: int = 0
    only_ready: bool = False
    """Whether the block is a branch: only buffers that hold values may be written, in place."""

    def may_write(self, name: str) -> bool:
        if self.only_ready and name not in self.known:
            return False
        return name not in self.frozen and name not in self.growing

    def inner(self) -> Scope:
        return Scope(
            *(dict(self.known), set(self.frozen), dict(self.growing), dict(self.loops)),
            self.depth + 1,
            self.only_ready,
        )
