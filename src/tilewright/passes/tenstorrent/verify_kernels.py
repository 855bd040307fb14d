"""Checks of the three kernels of a program, derived from their ops alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import ArgOp, RasterOp
from tilewright.dialects.tensix.base import TensixOp, cb_type, constant_of
from tilewright.dialects.tensix.buffers import (
    CBCountOp,
    CBPopOp,
    CBPushOp,
    CBReserveOp,
    cb_index,
)
from tilewright.dialects.tensix.noc import NocBarrierOp, NocReadTileOp, NocWriteTileOp
from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.protocol import Rule, violations
from tilewright.dialects.tensix.types import Role
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import ControlFlow, words_of

SEVERAL_ROLES = "TW7107"
UNBALANCED = "TW7108"
BAD_BLOCK_SIZE = "TW7109"
BAD_SECTION = "TW7111"
MISSING_INIT = "TW7112"
MISSING_BARRIER = "TW7113"
DIFFERENT_RASTERS = "TW7114"
RAW_ACCESS = "TW7117"
CIRCULAR_WAIT = "TW7119"

_ALLOWED = ("scf.for", "scf.if", "scf.yield")


@dataclass(frozen=True)
class Problem:
    """One fault of a kernel."""

    op: Operation
    message: str
    code: str


def kernel_problems(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    """What is wrong with the kernels of a program."""
    for kernel in kernels:
        yield from _protocol(kernel)
        yield from _block_sizes(kernel)
        if kernel.role.moves_data:
            yield from _barriers(kernel)
        else:
            yield from _raw_accesses(kernel)
    yield from _roles(plan, kernels)
    yield from _balance(plan, kernels)
    yield from _rasters(kernels)


def _protocol(kernel: KernelOp) -> Iterator[Problem]:
    for each in violations(kernel):
        code = BAD_SECTION if each.rule in (Rule.SECTION, Rule.SLOT) else MISSING_INIT
        yield Problem(each.op, str(each), code)


def _raw_accesses(kernel: KernelOp) -> Iterator[Problem]:
    for op in walk(kernel):
        if op is kernel or isinstance(op, TensixOp) or op.name in _ALLOWED:
            continue
        if not op.name.startswith("arith.") and op.name != "tensix.end":
            yield Problem(
                op,
                f"'{op.name}' in a compute kernel: it consists of calls on tiles, loops and "
                "integer arithmetic",
                RAW_ACCESS,
            )


# -- circular buffers ------------------------------------------------------------------------------


def _counts(kernel: KernelOp) -> Iterator[CBCountOp]:
    for op in walk(kernel):
        if isinstance(op, CBCountOp):
            yield op


def _index(op: CBCountOp) -> int:
    found = cb_index(op.cb)
    return -1 if found is None else found


def _block_sizes(kernel: KernelOp) -> Iterator[Problem]:
    for op in _counts(kernel):
        pages = cb_type(op.cb).pages
        count = constant_of(op.pages)
        if count is None:
            continue
        if count > pages:
            yield Problem(
                op,
                f"'{op.name}' of {count} pages blocks forever: circular buffer {_index(op)} has "
                f"{pages}; use a deeper buffer",
                CIRCULAR_WAIT,
            )
        elif isinstance(op, (CBPushOp, CBPopOp)) and pages % count:
            yield Problem(
                op,
                f"'{op.name}' of {count} pages on circular buffer {_index(op)} with {pages}: block "
                "sizes have to divide the page count, or a block straddles the end",
                BAD_BLOCK_SIZE,
            )


def _roles(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    declared = {each.index: (each.producer, each.consumer) for each in plan.cbs}
    for kernel in kernels:
        for op in _counts(kernel):
            producer, consumer = declared.get(_index(op), ("", ""))
            produces = isinstance(op, (CBReserveOp, CBPushOp))
            expected = producer if produces else consumer
            if kernel.role.value != expected:
                yield Problem(
                    op,
                    f"'{op.name}' on circular buffer {_index(op)} in the {kernel.role.value} "
                    f"kernel: its {'producer' if produces else 'consumer'} is "
                    f"{expected or 'not declared'}",
                    SEVERAL_ROLES,
                )


def _balance(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    """Pages pushed and popped per circular buffer, for every core with other arguments."""
    seen: set[tuple[int, ...]] = set()
    for core in plan.cores.active:
        key = (core.count,) if _depends_on_count_only(kernels) else _key(core)
        if key in seen:
            continue
        seen.add(key)
        pushed, popped, last = _totals(kernels, core)
        for index in sorted({*pushed, *popped}):
            if pushed.get(index, 0) != popped.get(index, 0):
                yield Problem(
                    last[index],
                    f"circular buffer {index}: {pushed.get(index, 0)} pages pushed and "
                    f"{popped.get(index, 0)} popped on core ({core.x}, {core.y})",
                    UNBALANCED,
                )
                return


def _key(core: Assignment) -> tuple[int, ...]:
    return (core.start_tile, core.count, *(core.rect or ()))


def _depends_on_count_only(kernels: Sequence[KernelOp]) -> bool:
    """Whether all control flow is constant but for the number of blocks."""
    for kernel in kernels:
        for op in walk(kernel):
            if op.name == "scf.if":
                return False
            if isinstance(op, ForOp):
                for bound in (op.lower_bound, op.upper_bound, op.step):
                    owner = bound.owner
                    is_count = (
                        isinstance(owner, ArgOp)
                        and owner.label is not None
                        and owner.label.data == "count"
                    )
                    if constant_of(bound) is None and not is_count:
                        return False
    return True


def _totals(
    kernels: Sequence[KernelOp], core: Assignment
) -> tuple[dict[int, int], dict[int, int], dict[int, Operation]]:
    pushed: dict[int, int] = {}
    popped: dict[int, int] = {}
    last: dict[int, Operation] = {}
    words = words_of(core)
    for kernel in kernels:
        flow: ControlFlow

        def visit(op: Operation, times: int) -> None:
            if isinstance(op, (CBPushOp, CBPopOp)):
                totals = pushed if isinstance(op, CBPushOp) else popped
                index = _index(op)
                totals[index] = totals.get(index, 0) + times * flow.value(op.pages)  # noqa: B023
                last[index] = op

        values: dict[SSAValue, int] = {
            op.result: words[op.label.data]
            for op in walk(kernel)
            if isinstance(op, ArgOp) and op.label is not None and op.label.data in words
        }
        flow = ControlFlow(visit, values)
        flow.block(kernel.body_block, 1)
    return pushed, popped, last


# -- transfers -------------------------------------------------------------------------------------


def _barriers(kernel: KernelOp) -> Iterator[Problem]:
    found: dict[Operation, Problem] = {}
    _walk_transfers(kernel.body_block, frozenset(), found)
    yield from found.values()


def _walk_transfers(
    block: Block, pending: frozenset[str], found: dict[Operation, Problem]
) -> frozenset[str]:
    """Transfers in flight after a block; a loop body is entered with those of its own end."""
    for op in block.ops:
        if isinstance(op, NocReadTileOp):
            pending |= {"read"}
        elif isinstance(op, NocWriteTileOp):
            pending |= {"write"}
        elif isinstance(op, NocBarrierOp):
            pending -= {"write" if op.kind.data == "flush" else op.kind.data}
        elif isinstance(op, CBPushOp) and "read" in pending:
            found[op] = Problem(
                op,
                f"pages of circular buffer {_index(op)} are pushed while reads are in flight: "
                "tensix.noc_barrier read is missing before the push",
                MISSING_BARRIER,
            )
        elif isinstance(op, CBPopOp) and "write" in pending:
            found[op] = Problem(
                op,
                f"pages of circular buffer {_index(op)} are popped while writes are in flight: "
                "tensix.noc_barrier write is missing before the pop",
                MISSING_BARRIER,
            )
        elif op.regions:
            ends = [
                _walk_transfers(inner, pending, found)
                for region in op.regions
                for inner in region.blocks
            ]
            merged = pending.union(*ends)
            for region in op.regions:
                for inner in region.blocks:
                    _walk_transfers(inner, merged, found)
            pending = merged
    return pending


def _rasters(kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    maps = {
        kernel.role: {
            (op.raster.policy, op.raster.block) for op in walk(kernel) if isinstance(op, RasterOp)
        }
        for kernel in kernels
        if kernel.role.moves_data
    }
    reader, writer = maps.get(Role.READER, set()), maps.get(Role.WRITER, set())
    if reader and writer and reader != writer:
        kernel = next(each for each in kernels if each.role is Role.WRITER)
        yield Problem(
            kernel,
            f"reader and writer use different raster maps: {_shown(reader)} and {_shown(writer)}",
            DIFFERENT_RASTERS,
        )


def _shown(maps: set[tuple[str, tuple[int, int] | None]]) -> str:
    return ", ".join(sorted(f"{policy} {block or ''}".strip() for policy, block in maps))
