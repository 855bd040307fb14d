"""The interface of layouts, for code that handles all of them.

::

    LayoutEncoding             rank, cga (how the CTAs of a cluster share the tensor)
    ├─ DistributedEncoding     on tensors: elements live in registers of threads
    │  └─ MmaEncoding          ... as a tensor-core instruction leaves them
    └─ MemDescEncoding         on memory descriptors: elements live at offsets
       └─ SharedEncoding       ... of shared memory

    SharedSpace                the shared memory of this CTA, or of another one in the cluster

Dialects built on this one derive their own layouts from these (tensor memory, placeholders).
The classes carry no data, so an attribute lists them after its dataclass base. Which warp holds
which element is computed elsewhere; here are only the questions that need no arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.layout_rules import LayoutRules
from tilewright.dialects.ttg.context import num_ctas_at, num_warps_at, threads_per_warp_at
from tilewright.dialects.ttg.struct import Bases
from tilewright.dialects.type_utils import AnyTensor, bit_width, rank_of, shape_of

if TYPE_CHECKING:
    from tilewright.dialects.ttg.types import MemDescType


class SharedSpace(ABC):  # noqa: B024 - a mark, there is nothing to ask
    """A memory space whose buffers have shared-memory layouts."""


class LayoutEncoding(LayoutRules, ABC):
    """A map between the elements of a tensor and the locations that hold them."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """The number of dimensions of the tensors it describes."""

    @property
    @abstractmethod
    def cga(self) -> Bases:
        """Where each bit of the CTA's number moves in the tensor; empty for a single CTA."""

    @property
    def num_ctas(self) -> int:
        return 1 << len(self.cga)

    def cta_problem(self, op: Operation) -> str | None:
        """Why a cluster of the size at `op` cannot hold this layout."""
        required = num_ctas_at(op)
        if self.num_ctas == required:
            return None
        return (
            f"{self}.\nLayout has {self.num_ctas} CTAs per CGA, but the context requires "
            f"{required} CTAs per CGA."
        )

    @override
    def tensor_problem(self, type: AnyTensor, op: Operation) -> str | None:
        if self.rank != rank_of(type):
            return (
                f"Layout has rank {self.rank}, but the tensor it's attached to has rank "
                f"{rank_of(type)}."
            )
        problem = self.cta_problem(op)
        return self.register_problem(type, op) if problem is None else problem

    def register_problem(self, type: AnyTensor, op: Operation) -> str | None:
        """Why the registers of the threads at `op` cannot hold `type`."""
        return "Non-distributed layout is not allowed in tensor type."


class DistributedEncoding(LayoutEncoding):
    """A layout of tensors: each thread holds some elements."""

    @property
    @abstractmethod
    def threads_per_warp(self) -> int:
        """The number of threads of a warp."""

    @property
    @abstractmethod
    def num_warps(self) -> int:
        """The number of warps of a CTA."""

    @override
    def register_problem(self, type: AnyTensor, op: Operation) -> str | None:
        shape = shape_of(type)
        if any(extent & (extent - 1) for extent in shape):
            listed = ", ".join(map(str, shape))
            return (
                f"Layout has shape {listed}, but the tensor it's attached to has shape {listed} "
                "which is not a power of two."
            )
        threads = threads_per_warp_at(op)
        if self.threads_per_warp != threads:
            return (
                f"{self}.\nLayout has {self.threads_per_warp} threads per warp, but the module "
                f"specifies {threads} threads per warp."
            )
        warps = num_warps_at(op)
        if warps is None:
            return (
                "Could not determine the number of warps per CTA. Operation is not in a context "
                "with `ttg.num-warps`."
            )
        if self.num_warps != warps:
            return (
                f"{self}.\nLayout has {self.num_warps} warps per CTA, but the context requires "
                f"{warps} warps per CTA."
            )
        return None

    @override
    def after_reduce(self, axis: int) -> Attribute | None:
        from tilewright.dialects.ttg.distributed import SliceEncoding  # which is one itself

        return SliceEncoding(dim=axis, parent=self.as_attribute()) if self.rank > 1 else None

    def as_attribute(self) -> Attribute:
        """This layout as what it is in the IR."""
        assert isinstance(self, Attribute), "layouts are attributes"
        return self

    @override
    def dot_problem(self, a: Attribute, b: Attribute) -> str | None:
        from tilewright.dialects.ttg import dot  # which imports all layouts

        return dot.dot_problem(self.as_attribute(), a, b)

    @override
    def after_expand_dims(self, axis: int) -> Attribute | None:
        raise VerifyException("ExpandDimsOp operand encoding must be SliceEncodingAttr")

    @override
    def is_equivalent(self, other: Attribute, shape: Sequence[int]) -> bool:
        # Two spellings of one layout are compared by computing where elements go. Without that,
        # only what cannot be the same is rejected.
        return (
            isinstance(other, DistributedEncoding)
            and self.rank == other.rank
            and self.num_warps == other.num_warps
            and self.threads_per_warp == other.threads_per_warp
        )


class MmaEncoding(DistributedEncoding):
    """The layout of the accumulator of a matrix instruction."""


class MemDescEncoding(LayoutEncoding):
    """A layout of memory descriptors."""

    @abstractmethod
    def verify_memdesc(self, type: MemDescType) -> None:
        """Raise if `type`, sound in itself, cannot have this layout."""


class SharedEncoding(MemDescEncoding):
    """A layout of shared memory."""

    @property
    @abstractmethod
    def alignment(self) -> int:
        """The alignment in bytes that a buffer needs by default."""

    @override
    def verify_memdesc(self, type: MemDescType) -> None:
        if not isinstance(type.memory_space, SharedSpace):
            raise VerifyException(
                "memorySpace must be SharedMemorySpace for shared encoding. "
                f"Got {type.memory_space}"
            )
        width = bit_width(type.element_type)
        if width % 8:
            raise VerifyException(
                f"shared-memory element type bit width must be a multiple of 8; got {width}"
            )
        if self.rank not in (len(type.shape), len(type.shape) - 1):
            raise VerifyException(
                "rank must be equal to or one less than the shape size. "
                f"Got {self.rank} and {len(type.shape)}"
            )
        self.verify_shape(type)

    def verify_shape(self, type: MemDescType) -> None:
        """Raise if the shapes of `type` do not fit this layout."""
