"""Which threads run an op: those of its role, or all of the block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile import KernelOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import walk_for

GROUP = 128
"""Threads of a warp group, which issue a ``wgmma`` together."""


@dataclass(frozen=True)
class Threads:
    """Neighbouring threads that run the same code."""

    first: int
    count: int
    warp_size: int
    """Lanes of a warp of the target (AMD: a wave)."""

    @property
    def warps(self) -> int:
        return self.count // self.warp_size


def threads_of(op: Operation) -> Threads:
    """The threads that run `op`, which is inside a kernel."""
    inner, outer, warp_size = op, op.parent_op(), warp_size_of(op)
    while outer is not None:
        if isinstance(outer, WsOp):
            role = next(
                index for index, region in enumerate(outer.regions) if _holds(region, inner)
            )
            ranges = outer.roles[role].ranges
            return Threads(ranges[0][0], outer.roles[role].num_threads, warp_size)
        if isinstance(outer, KernelOp):
            return Threads(0, outer.num_threads or GROUP, warp_size)
        inner, outer = outer, outer.parent_op()
    raise AssertionError("an op outside of a kernel has no threads")


def _holds(region: object, op: Operation) -> bool:
    return op.parent_region() is region


def kernels(op: Operation) -> Iterator[KernelOp]:
    """All kernels below an op."""
    return walk_for(op, KernelOp)
