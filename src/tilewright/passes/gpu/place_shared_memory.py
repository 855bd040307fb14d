"""`place-shared-memory`: every shared buffer of a kernel gets its place in one arena.

Buffers that are never needed at the same time may share bytes (`specs/passes.md` H3); the planner
of `memory.planner` finds the places, and its independent checker goes over them. Time is the order
of the ops at the top of the kernel, and of its consumers where it has roles: a buffer is needed
from the first of them that touches it to the last. What two roles touch is needed from the
beginning, as the one that fills it runs ahead. Barriers lie outside of any sharing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.memory.planner import Block, Problem, Space, plan_problem
from tilewright.memory.planner_check import check_offsets
from tilewright.passes.gpu.shared_memory_report import limit_of, report_too_large

_BARRIER_BYTES = 8
_DEFAULT_ALIGN = 16


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
        blocks = tuple(
            Block(
                str(number),
                bytes_of(op),
                _alignment(op),
                live=((0, end) if op.space.is_barrier else times.get(op.result, (0, end)),),
            )
            for number, op in enumerate(allocs)
        )
        problem = Problem((Space("smem"),), blocks)
        plan = plan_problem(problem)
        offsets = {each: int(place) for each, place in plan.offsets.items()}
        for fault in check_offsets(problem, offsets):
            engine.error(
                function, f"two shared buffers were given the same bytes: {fault}", "TW9061"
            )
            return
        top = 0
        for number, op in enumerate(allocs):
            place = offsets[str(number)]
            op.properties["offset"] = IntegerAttr(place, i64)
            top = max(top, place + bytes_of(op))
        function.attributes[nv_names.SHARED_BYTES] = IntegerAttr(top, i64)
        if top > limit_of(function):
            report_too_large(function, allocs, top, bytes_of, engine)


# -- lifetimes ---------------------------------------------------------------------------------


def lifetimes(function: FuncOp) -> dict[SSAValue, tuple[int, int]]:
    """For every shared buffer when it is needed: the first moment, and the one behind the last."""
    moments = _moments(function)
    found: dict[SSAValue, tuple[int, int]] = {}
    for op in function.walk():
        touched = {base_of(each) for each in op.operands if _is_shared(each)}
        for buffer in touched:
            moment, runs_ahead = _moment(op, moments, function)
            first, last = found.get(buffer, (moment, moment + 1))
            start = 0 if runs_ahead else min(first, moment)
            found[buffer] = (start, max(last, moment + 1))
    return found


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
    return num_elements(op.result.type) * bit_width(element_type_of(op.result.type)) // 8
