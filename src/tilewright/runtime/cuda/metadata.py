"""What a launcher has to know of a kernel, whichever compiler made it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TensorMapSpec(Protocol):
    """How a kernel wants the tensor maps of one parameter."""

    @property
    def element_bytes(self) -> int: ...
    @property
    def box(self) -> tuple[int, ...]: ...
    @property
    def swizzle_bytes(self) -> int: ...
    @property
    def cuda_type(self) -> int: ...
    @property
    def fp4_padded(self) -> bool: ...


class KernelMetadata(Protocol):
    """Launch metadata of a kernel: `parameters` in order, hidden ones last.

    `cluster` is in blocks. `num_ctas` is how many blocks one program has: the grid of a user
    counts programs, and is multiplied by it along x.
    """

    @property
    def num_warps(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def scratch_bytes(self) -> int: ...
    @property
    def scratch_align(self) -> int: ...
    @property
    def cluster(self) -> tuple[int, int, int]: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def tensor_maps(self) -> Sequence[TensorMapSpec]: ...
    @property
    def cooperative(self) -> bool: ...
    @property
    def pdl(self) -> bool: ...
    @property
    def num_ctas(self) -> int: ...
