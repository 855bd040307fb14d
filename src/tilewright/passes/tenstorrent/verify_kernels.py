"""Checks of the three kernels of a program, derived from their ops alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import ArgAtOp, ArgOp, RasterOp
from tilewright.dialects.tensix.base import TensixOp, cb_type
from tilewright.dialects.tensix.buffers import (
    CBCountOp,
    CBPopOp,
    CBPushOp,
    CBReserveOp,
    cb_index,
)
from tilewright.dialects.tensix.noc import NocBarrierOp, NocReadTileOp, NocWriteTileOp
from tilewright.dialects.tensix.plan import BLOCK_IDS, Assignment, Plan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.protocol import Rule, violations
from tilewright.dialects.tensix.types import Role
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import ControlFlow, lists_of

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
        count = constant_integer(op.pages)
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
    seen: set[tuple[int | str, ...]] = set()
    only_count = _depends_on_count_only(kernels)
    for core in plan.cores.active:
        own = kernels_on(plan, kernels, core)
        names = [each.sym_name.data for each in own]
        key = (core.steps, *names) if only_count else (*_key(core), *names)
        if key in seen:
            continue
        seen.add(key)
        pushed, popped, last = _totals(own, core)
        for index in sorted({*pushed, *popped}):
            if pushed.get(index, 0) != popped.get(index, 0):
                yield Problem(
                    last[index],
                    f"circular buffer {index}: {pushed.get(index, 0)} pages pushed and "
                    f"{popped.get(index, 0)} popped on core ({core.x}, {core.y})",
                    UNBALANCED,
                )
                return


def kernels_on(plan: Plan, kernels: Sequence[KernelOp], core: Assignment) -> list[KernelOp]:
    """The kernels that a core runs."""
    listed = [(each, plan.kernel_named(each.sym_name.data)) for each in kernels]
    return [each for each, own in listed if own is None or own.runs_on(core)]


def _key(core: Assignment) -> tuple[int, ...]:
    return (core.start_tile, core.count, *(core.rect or ()), *core.ghosts)


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
                    if constant_integer(bound) is None and not is_count:
                        return False
    return True


def _totals(
    kernels: Sequence[KernelOp], core: Assignment
) -> tuple[dict[int, int], dict[int, int], dict[int, Operation]]:
    pushed: dict[int, int] = {}
    popped: dict[int, int] = {}
    last: dict[int, Operation] = {}
    for kernel in kernels:
        flow: ControlFlow

        def visit(op: Operation, times: int) -> None:
            if isinstance(op, (CBPushOp, CBPopOp)):
                totals = pushed if isinstance(op, CBPushOp) else popped
                index = _index(op)
                totals[index] = totals.get(index, 0) + times * flow.value(op.pages)  # noqa: B023
                last[index] = op

        flow = ControlFlow(visit, argument_values(kernel, core), lists_of(core))
        flow.block(kernel.body_block, 1)
    return pushed, popped, last


def argument_values(kernel: KernelOp, core: Assignment) -> dict[SSAValue, int]:
    """The run-time arguments of a kernel that determine its control flow on a core."""
    words = core.words
    return {
        op.result: words[op.label.data]
        for op in walk(kernel)
        if isinstance(op, ArgOp) and op.label is not None and op.label.data in words
    }


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
    """Readers, of which receivers of all operands need no map, against writers."""
    maps = {
        kernel: {_map_of(op) for op in walk(kernel) if isinstance(op, RasterOp)}
        for kernel in kernels
    }
    readers = [maps[each] for each in kernels if each.role is Role.READER and maps[each]]
    for kernel in [each for each in kernels if each.role is Role.WRITER and maps[each]]:
        writer = maps[kernel]
        reader = next((each for each in readers if each != writer), None)
        if reader is None:
            continue
        yield Problem(
            kernel,
            f"reader and writer use different raster maps: {_shown(reader)} and {_shown(writer)}",
            DIFFERENT_RASTERS,
        )


def _map_of(op: RasterOp) -> str:
    """The map as text, with the list of blocks if its ids come from there."""
    raster = op.raster
    shown = raster.policy if raster.block is None else f"{raster.policy} {raster.block}"
    return f"{shown} of {BLOCK_IDS}" if isinstance(op.tile.owner, ArgAtOp) else shown


def _shown(maps: set[str]) -> str:
    return ", ".join(sorted(maps))
