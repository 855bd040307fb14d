"""`place-shared-memory`: every shared buffer of a kernel gets its place in one arena.

Buffers that are never needed at the same time may share bytes (`specs/passes.md` H3); the planner
of `memory.planner` finds the places, and its independent checker goes over them. Time is the order
of the ops at the top of the kernel, and of its consumers where it has roles: a buffer is needed
from the first of them that touches it to the last. What two roles touch is needed from the
beginning, as the one that fills it runs ahead. Barriers lie outside of any sharing. Buffers of a
storage-alias spec lie where `plan-storage-alias` put them, and get their place as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import (
    BulkStoreOp,
    MatrixOp,
    TmaReduceOp,
    TmaStoreOp,
    TmaStoreWaitOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.barriers import WaitOp
from tilewright.dialects.tile import AllocOp, StorageAliasSpecOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.memory.planner import Block, Problem, Space, plan_problem
from tilewright.memory.planner_check import check_offsets
from tilewright.memory.units import element_bytes
from tilewright.passes.gpu.shared_memory_report import limit_of, report_too_large

_BARRIER_BYTES = 8
_DEFAULT_ALIGN = 16
MISALIGNED = "TW5014"
"""A buffer whose place in shared storage its layout cannot have."""


@dataclass(frozen=True)
class PlaceSharedMemory(Pass):
    """Give shared buffers their addresses."""

    name = "place-shared-memory"

    share: bool = True
    """Whether buffers that are never needed together may share bytes."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and nv_names.KERNEL in function.attributes:
                self._place(function, engine)

    def _place(self, function: FuncOp, engine: DiagnosticEngine) -> None:
        allocs = [
            op
            for op in function.walk()
            if isinstance(op, AllocOp) and (op.space.is_shared or op.space.is_barrier)
        ]
        if not allocs:
            function.attributes[nv_names.SHARED_BYTES] = IntegerAttr(0, i64)
            return
        times = lifetimes(function) if self.share else {}
        end = max((stop for _, stop in times.values()), default=0) + 1
        parts = _parts(allocs)
        if not _check_alignment(parts, engine):
            return
        blocks = tuple(
            Block(
                str(number),
                part.bytes,
                max(_alignment(op) for op in part.allocs),
                live=(_needed(part, times, end),),
            )
            for number, part in enumerate(parts)
        )
        problem = Problem((Space("smem"),), blocks)
        plan = plan_problem(problem)
        offsets = {each: int(place) for each, place in plan.offsets.items()}
        for fault in check_offsets(problem, offsets):
            engine.error(
                function, f"two shared buffers were given the same bytes: {fault}", "TW9061"
            )
            return
        top, placed = 0, list[AllocOp]()
        for number, part in enumerate(parts):
            top = max(top, offsets[str(number)] + part.bytes)
            placed += part.place(offsets[str(number)])
        function.attributes[nv_names.SHARED_BYTES] = IntegerAttr(top, i64)
        if top > limit_of(function):
            report_too_large(function, placed, top, bytes_of, engine)


# -- what is placed ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A buffer, or all those that lie in the bytes of one spec."""

    allocs: tuple[AllocOp, ...]
    spec: StorageAliasSpecOp | None = None

    @property
    def bytes(self) -> int:
        return max(_inside(op) + bytes_of(op) for op in self.allocs)

    def place(self, start: int) -> list[AllocOp]:
        """Write the places down; the buffers as they are then."""
        if self.spec is None:
            (op,) = self.allocs
            op.properties["offset"] = IntegerAttr(start, i64)
            return [op]
        placed = [_on_its_own(op, start + _inside(op)) for op in self.allocs]
        Rewriter.erase_op(self.spec)
        return placed


def _check_alignment(parts: Sequence[_Part], engine: DiagnosticEngine) -> bool:
    """Whether buffers of a spec lie in it as their layouts demand; the author ordered them."""
    wrong = [op for part in parts for op in part.allocs if _inside(op) % _alignment(op)]
    for op in wrong:
        diagnostic = engine.error(
            op,
            f"'{op.buffer_name}' begins at byte {_inside(op)} of the storage it shares, but its "
            f"swizzle needs a multiple of {_alignment(op)}",
            MISALIGNED,
        )
        diagnostic.note(None, "help: name it first in its reuse_group: that one begins at byte 0")
    return not wrong


def _on_its_own(op: AllocOp, place: int) -> AllocOp:
    """The same buffer, without its spec."""
    new = AllocOp(op.type, name=op.buffer_name, offset=place)
    new.attributes.update(op.attributes)
    new.location = op.location
    new.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, new)
    return new


def _inside(op: AllocOp) -> int:
    """Where a buffer begins in the bytes of its spec."""
    return 0 if op.alias is None else op.offset_bytes or 0


def _parts(allocs: Sequence[AllocOp]) -> list[_Part]:
    parts = [_Part((op,)) for op in allocs if op.alias is None]
    specs = {op.alias.owner: None for op in allocs if op.alias is not None}
    for spec in specs:
        assert isinstance(spec, StorageAliasSpecOp)
        shared = tuple(op for op in allocs if op.alias is spec.result)
        parts.append(_Part(shared, spec))
    return parts


def _needed(part: _Part, times: Mapping[SSAValue, tuple[int, int]], end: int) -> tuple[int, int]:
    """From the first moment at which one of its buffers is needed, to the last."""
    if any(op.space.is_barrier or op.result not in times for op in part.allocs):
        return 0, end
    spans = [times[op.result] for op in part.allocs]
    return min(first for first, _ in spans), max(last for _, last in spans)


# -- lifetimes ---------------------------------------------------------------------------------


def lifetimes(function: FuncOp) -> dict[SSAValue, tuple[int, int]]:
    """For every shared buffer when it is needed: the first moment, and the one behind the last."""
    moments = _moments(function)
    found: dict[SSAValue, tuple[int, int]] = {}
    in_flight: dict[type[Operation], set[SSAValue]] = {kind: set() for kind in _WAITS.values()}
    for op in function.walk():
        for buffer in _touched(op) | _read_until(op, in_flight):
            moment, runs_ahead = _moment(op, moments, function)
            first, last = found.get(buffer, (moment, moment + 1))
            start = 0 if runs_ahead else min(first, moment)
            found[buffer] = (start, max(last, moment + 1))
    return found


_WAITS: Mapping[type[Operation], type[WaitOp]] = {
    WgmmaOp: WgmmaWaitOp,
    TmaStoreOp: TmaStoreWaitOp,
    TmaReduceOp: TmaStoreWaitOp,
    BulkStoreOp: TmaStoreWaitOp,
}
"""What goes on reading shared memory after it was issued, and what waits for its end."""


def _read_until(op: Operation, in_flight: dict[type[Operation], set[SSAValue]]) -> set[SSAValue]:
    """Buffers that something issued before has been reading until `op`, if it waits for that."""
    wait = _WAITS.get(type(op))
    if wait is not None:
        in_flight[wait] |= _touched(op)
    if not isinstance(op, WaitOp) or type(op) not in in_flight:
        return set()
    found = in_flight[type(op)]
    if op.pending.value.data == 0:
        in_flight[type(op)] = set()
    return found


def _touched(op: Operation) -> set[SSAValue]:
    """Shared buffers that an op reads or writes; products know them by descriptors."""
    values = [
        each.owner.buffer if isinstance(each.owner, MatrixOp) else each for each in op.operands
    ]
    return {base_of(each) for each in values if _is_shared(each)}


def _is_shared(value: SSAValue) -> bool:
    base = base_of(value)
    return isinstance(base.owner, AllocOp) and base.owner.space.is_shared


def _moments(function: FuncOp) -> Mapping[Operation, int]:
    """The numbers of the ops at the top of the kernel, and of its last role."""
    found: dict[Operation, int] = {}
    _number(function.body.block, found)
    return found


def _number(block: IrBlock, found: dict[Operation, int]) -> None:
    for op in block.ops:
        if isinstance(op, WsOp):
            _number(op.bodies[-1].block, found)
        else:
            found[op] = len(found)


def _moment(op: Operation, moments: Mapping[Operation, int], function: FuncOp) -> tuple[int, bool]:
    """When an op runs, and whether it is of a role that runs ahead of the last one."""
    current: Operation | None = op
    while current is not None and current is not function:
        if current in moments:
            return moments[current], False
        current = current.parent_op()
    return 0, True


def _alignment(op: AllocOp) -> int:
    if op.space.is_barrier:
        return _BARRIER_BYTES
    found = op.attributes.get(nv_names.ALIGN)
    return found.value.data if isinstance(found, IntegerAttr) else _DEFAULT_ALIGN


def bytes_of(op: AllocOp) -> int:
    """Bytes of a shared buffer, or of barriers."""
    if op.space.is_barrier:
        return num_elements(op.result.type) * _BARRIER_BYTES
    return num_elements(op.result.type) * element_bytes(bit_width(op.result.type))
