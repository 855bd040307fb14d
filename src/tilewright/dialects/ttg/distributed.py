"""Layouts of tensors in registers: blocked, linear, slices and operands of dots."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.bases import (
    cga_of,
    is_permutation,
    is_power_of_two,
    is_surjective,
    joined,
    moves_at_most_once,
    permuted,
    rank_of,
    verify_ranks,
)
from tilewright.dialects.ttg.cga import CgaStruct
from tilewright.dialects.ttg.interfaces import DistributedEncoding
from tilewright.dialects.ttg.mma import AmdMfmaEncoding, AmdWmmaEncoding, NvidiaMmaEncoding
from tilewright.dialects.ttg.struct import (
    ATTRIBUTE,
    BASES,
    UINT,
    UINTS,
    Bases,
    Ints,
    Struct,
    key,
    struct_attr,
)


def verify_order(order: Ints) -> None:
    """Raise unless `order` names every dimension once."""
    if sorted(order) != list(range(len(order))):
        raise VerifyException(f"order must be a permutation of 0..(rank-1), but was {list(order)}")


@struct_attr
class BlockedEncoding(CgaStruct, DistributedEncoding):
    """Each thread holds a small block, each warp a block of those, each CTA one of those.

    `order` lists the dimensions from the fastest to the slowest.
    """

    name = "ttg.blocked"
    ASM_ALIAS: ClassVar[str] = "blocked"

    size_per_thread: Ints = key("sizePerThread", UINTS)
    threads: Ints = key("threadsPerWarp", UINTS)
    warps_per_cta: Ints = key("warpsPerCTA", UINTS)
    order: Ints = key("order", UINTS)

    @property
    @override
    def rank(self) -> int:
        return len(self.order)

    @property
    @override
    def threads_per_warp(self) -> int:
        return prod(self.threads)

    @property
    @override
    def num_warps(self) -> int:
        return prod(self.warps_per_cta)

    @override
    def verify(self) -> None:
        if len({len(self.size_per_thread), len(self.threads), len(self.warps_per_cta)}) != 1 or (
            len(self.order) != len(self.threads)
        ):
            raise VerifyException(
                "sizePerThread, threadsPerWarp, warpsPerCTA, and order must all have the same rank."
            )
        for what, values in (
            ("sizePerThread", self.size_per_thread),
            ("threadsPerWarp", self.threads),
            ("warpsPerCTA", self.warps_per_cta),
        ):
            if not all(map(is_power_of_two, values)):
                raise VerifyException(f"Every element in {what} must be a power of two.")
        verify_order(self.order)
        super().verify()

    @override
    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        position = {dim: index for index, dim in enumerate(order)}
        return BlockedEncoding(
            size_per_thread=_permuted(self.size_per_thread, order),
            threads=_permuted(self.threads, order),
            warps_per_cta=_permuted(self.warps_per_cta, order),
            order=tuple(position[dim] for dim in self.order),
            cga_layout=permuted(self.cga_layout, order),
        )

    @override
    def after_split(self, shape: Sequence[int]) -> Attribute | None:
        last = (self.size_per_thread[-1], self.threads[-1], self.warps_per_cta[-1])
        if last != (2, 1, 1) or any(basis[-1] for basis in self.cga_layout):
            return None
        return BlockedEncoding(
            size_per_thread=self.size_per_thread[:-1],
            threads=self.threads[:-1],
            warps_per_cta=self.warps_per_cta[:-1],
            order=tuple(dim for dim in self.order if dim != self.rank - 1),
            cga_layout=tuple(basis[:-1] for basis in self.cga_layout),
        )


def _permuted(values: Ints, order: Sequence[int]) -> Ints:
    return tuple(values[dim] for dim in order)


@struct_attr
class LinearEncoding(Struct, DistributedEncoding):
    """Bases for each bit of register, lane, warp and CTA, every element held once or copied."""

    name = "ttg.linear"
    ASM_ALIAS: ClassVar[str] = "linear"

    register: Bases = key("register", BASES)
    lane: Bases = key("lane", BASES)
    warp: Bases = key("warp", BASES)
    block: Bases = key("block", BASES)

    @property
    def bases(self) -> Bases:
        return joined((self.register, self.lane, self.warp, self.block))

    @property
    @override
    def rank(self) -> int:
        return rank_of(self.bases)

    @property
    @override
    def cga(self) -> Bases:
        return cga_of(self.block)

    @property
    @override
    def threads_per_warp(self) -> int:
        return 1 << len(self.lane)

    @property
    @override
    def num_warps(self) -> int:
        return 1 << len(self.warp)

    @override
    def verify(self) -> None:
        if not self.rank:
            raise VerifyException("Empty Layout not supported")
        verify_ranks(self.bases, self.rank)
        self.verify_bases()

    @override
    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        parts = (self.register, self.lane, self.warp, self.block)
        turned = (permuted(part, order) for part in parts)
        return type(self)(**dict(zip(("register", "lane", "warp", "block"), turned, strict=True)))

    def verify_bases(self) -> None:
        """Raise if the bases do not make a layout of this kind."""
        if not is_permutation(self.bases):
            raise VerifyException(
                "LinearEncodingAttr requires a permutation matrix layout "
                "after removing broadcast bases"
            )


@struct_attr
class GenericLinearEncoding(LinearEncoding):
    """A linear layout whose warps may be permuted within rows, or share an element."""

    name = "ttg.generic_linear"
    ASM_ALIAS: ClassVar[str] = "generic_linear"

    @override
    def verify_bases(self) -> None:
        for what, bases in (
            ("register", self.register),
            ("lane", self.lane),
            ("block", self.block),
        ):
            if not moves_at_most_once(bases):
                raise VerifyException(
                    "In a generic linear layout, register, lane, and block bases must move in at "
                    f"most one dimension. Swizzled bases found in '{what}'."
                )
        if not is_surjective(self.bases):
            raise VerifyException(
                "Generic linear layout must be surjective, i.e. all output values must be covered "
                "by some input."
            )


@struct_attr
class SliceEncoding(Struct, DistributedEncoding):
    """The layout of a tensor that lost dimension `dim`, as a reduction leaves it."""

    name = "ttg.slice"

    dim: int = key("dim", UINT)
    parent: Attribute = key("parent", ATTRIBUTE)

    @property
    def parent_layout(self) -> DistributedEncoding:
        assert isinstance(self.parent, DistributedEncoding), "checked by verify"
        return self.parent

    @property
    @override
    def rank(self) -> int:
        return self.parent_layout.rank - 1

    @property
    @override
    def cga(self) -> Bases:
        return tuple(basis[: self.dim] + basis[self.dim + 1 :] for basis in self.parent_layout.cga)

    @property
    @override
    def threads_per_warp(self) -> int:
        return self.parent_layout.threads_per_warp

    @property
    @override
    def num_warps(self) -> int:
        return self.parent_layout.num_warps

    @override
    def verify(self) -> None:
        if not isinstance(self.parent, DistributedEncoding):
            raise VerifyException("expected a distributed encoding trait")
        rank = self.parent.rank
        if rank <= 1:
            raise VerifyException("parent layout must have at least rank >= 2")
        if self.dim >= rank:
            raise VerifyException(f"slice dim={self.dim} must be less than the parent rank={rank}")

    @override
    def after_expand_dims(self, axis: int) -> Attribute | None:
        if self.dim != axis:
            raise VerifyException("Incompatible slice dimension for ExpandDimsOp operand")
        return self.parent


@struct_attr
class DotOperandEncoding(Struct, DistributedEncoding):
    """Operand `op_idx` (0 for A, 1 for B) of the dot whose result has layout `parent`.

    `k_width` is the number of consecutive elements along K that a thread holds.
    """

    name = "ttg.dot_op"

    op_idx: int = key("opIdx", UINT)
    parent: Attribute = key("parent", ATTRIBUTE)
    k_width: int = key("kWidth", UINT, default=0)

    @property
    def parent_layout(self) -> DistributedEncoding:
        assert isinstance(self.parent, DistributedEncoding), "checked by verify"
        return self.parent

    @property
    @override
    def rank(self) -> int:
        return self.parent_layout.rank

    @property
    @override
    def cga(self) -> Bases:
        k_dim = self.rank - 1 if self.op_idx == 0 else self.rank - 2
        return tuple(
            tuple(0 if dim == k_dim else value for dim, value in enumerate(basis))
            for basis in self.parent_layout.cga
        )

    @property
    @override
    def threads_per_warp(self) -> int:
        return self.parent_layout.threads_per_warp

    @property
    @override
    def num_warps(self) -> int:
        return self.parent_layout.num_warps

    @override
    def verify(self) -> None:
        if self.op_idx not in (0, 1):
            raise VerifyException(f"ttg.dot_op opIdx parameter can be 0 or 1, got: {self.op_idx}")
        problem = _k_width_problem(self.op_idx, self.parent, self.k_width)
        if problem is not None:
            raise VerifyException(f"ttg.dot_op {problem}")


_WMMA_K_WIDTHS = {1: (8, 16), 2: (4, 8, 16)}


def _k_width_problem(op_idx: int, parent: Attribute, k_width: int) -> str | None:
    """What is wrong with the operand of a dot in layout `parent`."""
    match parent:
        case NvidiaMmaEncoding():
            if not k_width:
                return "kWidth parameter is mandatory for Ampere or Hopper MMA parent"
            if op_idx != 0 and parent.is_hopper:
                return (
                    "opIdx parameter must be 0 for Hopper MMA parent, since Hopper WGMMA only "
                    "allows first operand to be in registers"
                )
        case AmdWmmaEncoding(version=3):
            return None if k_width else "kWidth parameter is mandatory for WMMA v3 "
        case AmdWmmaEncoding(version=version):
            widths = _WMMA_K_WIDTHS[version]
            if k_width not in widths:
                return (
                    f"kWidth parameter must be {'/'.join(map(str, widths))} for WMMA v{version} "
                    "(including packed cases for `scaled_dot`)"
                )
        case AmdMfmaEncoding():
            return None if k_width else "kWidth parameter is mandatory for MFMA parent"
        case BlockedEncoding():
            if k_width:
                return "kWidth parameter is not supported when the parent is a blocked layout"
        case _:
            return f"unexpected parent layout: {parent}"
    return None
