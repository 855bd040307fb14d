"""The concurrent roles of a kernel, and the trip counts to try.

Concurrent roles are those of one or more ``tile.ws`` that follow each other, or the whole block of
a kernel that has none but copies asynchronously. Loops with barriers in them are *essential*: of
roles that the compiler made, the innermost ones all have the same trip count, chosen here;
user-written loops run by their bounds, with assumed values for arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from tilewright.dialects.nv import MBarrierType
from tilewright.dialects.tile import AllocOp, AsyncCopyOp, KernelOp, Tcgen05GemmOp, WsOp
from tilewright.dialects.tile.interfaces import is_async
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.warps import role_text
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.effects import always_removable
from tilewright.ir.traversal import walk

_ORDERING = (
    "nv.cp_async.",
    "nv.tma_store.",
    "nv.wgmma.wait",
    "tile.tcgen05_",
    "nv.bar",
    "tile.sync",
)
_ENTRIES = (1, 3)
"""How many times a loop is entered: the third entry starts at the parity that the second left."""


def is_essential(op: Operation) -> bool:
    """Whether an op, or one in it, synchronises or is asynchronous."""
    return any(
        isinstance(each, BarrierOp)
        or each.name.startswith(_ORDERING)
        or (not each.regions and is_async(each))
        for each in walk(op)
    )


@dataclass(frozen=True)
class Member:
    """One role: its code, its threads."""

    name: str
    blocks: tuple[Block, ...]
    """Its blocks, in order: roles of several ``tile.ws`` may have the same threads."""
    threads: tuple[int, ...]
    """The indices of its threads in the block."""


@dataclass(frozen=True)
class LaunchedBlock:
    """A block of a launch, and the integers that the function was called with."""

    arguments: tuple[int | None, ...]
    """By position among the arguments of the function; None for those that are no integers."""
    block: tuple[int, int, int]


@dataclass(frozen=True)
class TripCounts:
    """Trip counts of loops; None leaves them to their bounds."""

    inner: int | None
    outer: int | None
    argument: int = 1
    """The value assumed for run-time arguments."""
    launched: LaunchedBlock | None = None
    """Where it is known: nothing is assumed then."""

    def __str__(self) -> str:
        if self.launched is not None:
            return f"in block {self.launched.block} of this launch"
        if self.inner is None:
            return f"with run-time arguments and sizes of {self.argument}"
        again = "" if self.outer in (None, 1) else f", entered {self.outer} times"
        return f"with trip count {self.inner}{again}"


@dataclass(frozen=True)
class ConcurrentRoles:
    """Members that start together."""

    kernel: KernelOp
    members: tuple[Member, ...]
    is_custom: bool
    """Whether the user wrote the roles."""

    @property
    def slots(self) -> int:
        """The longest array of barriers, or of buffer versions that copies fill."""
        rows = [
            op.type.get_shape()[0]
            for op in walk(self.kernel)
            if isinstance(op, AllocOp) and isinstance(element_type_of(op.type), MBarrierType)
        ]
        return max(rows, default=2)

    def trip_counts(self) -> Iterator[TripCounts]:
        """The trip counts to try."""
        limit = 2 * self.slots + 1
        if self.is_custom:
            yield from (TripCounts(None, None, argument) for argument in (*range(limit + 1), 64))
            return
        entered_again = any(_depth(block) > 1 for each in self.members for block in each.blocks)
        for outer in _ENTRIES if entered_again else (1,):
            for inner in range(limit + 1):
                yield TripCounts(inner, outer)


def _depth(block: Block) -> int:
    """How deep essential loops are nested."""
    deepest = 0
    for op in block.ops:
        if op.regions and is_essential(op):
            inside = max((_depth(b) for region in op.regions for b in region.blocks), default=0)
            deepest = max(deepest, inside + (0 if op.name == "scf.if" else 1))
    return deepest


def all_concurrent_roles(kernel: KernelOp) -> Iterator[ConcurrentRoles]:
    """The groups of concurrent roles of a kernel, in program order."""
    together: list[WsOp] = []
    found = False
    for op in kernel.body_block.ops:
        if isinstance(op, WsOp):
            found = True
            together.append(op)
        elif together and not isinstance(op, AllocOp) and not always_removable(type(op)):
            yield _concurrent(kernel, together)
            together = []
    if together:
        yield _concurrent(kernel, together)
    asynchronous = (AsyncCopyOp, Tcgen05GemmOp)
    if not found and any(isinstance(op, asynchronous) for op in walk(kernel)):
        threads = tuple(range(kernel.num_threads or 1))
        yield ConcurrentRoles(
            kernel, (Member("block", (kernel.body_block,), threads),), is_custom=True
        )


def _concurrent(kernel: KernelOp, roles: list[WsOp]) -> ConcurrentRoles:
    blocks: dict[tuple[int, ...], list[Block]] = {}
    names: dict[tuple[int, ...], str] = {}
    for op in roles:
        for role, region in zip(op.roles, op.regions, strict=True):
            threads = tuple(each for start, stop in role.ranges for each in range(start, stop))
            names.setdefault(threads, role_text(role.name) if op.is_custom else role.name)
            blocks.setdefault(threads, []).append(region.block)
    members = [Member(names[each], tuple(found), each) for each, found in blocks.items()]
    return ConcurrentRoles(kernel, tuple(members), any(op.is_custom for op in roles))
