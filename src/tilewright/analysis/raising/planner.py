"""From a prepared kernel to the plan: ops, addresses, values, buffers, loops, in this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from tilewright.analysis.raising.accesses import bases_of, plan_accesses
from tilewright.analysis.raising.addresses import addresses_of
from tilewright.analysis.raising.constants import is_zero
from tilewright.analysis.raising.loops import plan_loops
from tilewright.analysis.raising.plan import Access, RaisePlan
from tilewright.analysis.raising.refusals import (
    ADDRESS,
    NO_COUNTERPART,
    NO_EXTENT,
    SLOW,
    Refusal,
    Refusals,
)
from tilewright.analysis.raising.regions import is_region_load, plan_copies, stored_tiles
from tilewright.analysis.raising.sequence import share_in_sequence
from tilewright.analysis.raising.shared import fit_stages
from tilewright.analysis.raising.slots import Slots, assign_slots
from tilewright.analysis.raising.staging import plan_staging
from tilewright.analysis.raising.support import check_ops
from tilewright.analysis.raising.tasks import Tasks, captured_tensors, plan_tasks
from tilewright.analysis.raising.user_buffers import bytes_in_use
from tilewright.analysis.raising.values import ValueClass, Values, classify_values
from tilewright.analysis.raising.views import View
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.ttng import AsyncTMACopyGlobalToLocalOp, AsyncTMACopyLocalToGlobalOp
from tilewright.dialects.type_utils import shape_of

SHARED_BYTES = 232_448
"""Shared memory of a block on sm_90 (CUDA C++ programming guide, technical specifications)."""


def plan_raising(
    function: FuncOp, num_stages: int = 3, shared_bytes: int = SHARED_BYTES, num_warps: int = 4
) -> RaisePlan:
    """Decide everything; what cannot be raised is in ``refusals``.

    `shared_bytes` is what a block may have of shared memory.
    """
    refusals = Refusals()
    check_ops(function, refusals)
    tasks = plan_tasks(function, num_warps, refusals)
    addresses = addresses_of(function)
    accesses, views = plan_accesses(addresses, refusals)
    _refuse_copies(accesses, refusals)
    values = classify_values(function, bases_of(accesses), stored_tiles(accesses))
    copies = plan_copies(accesses, values)
    slots = assign_slots(function, values)
    _orient(accesses, slots)
    _refuse_captured(tasks, values, refusals)
    loops = plan_loops(function, values, num_stages, is_user_scheduled=tasks.has_tasks)
    share_in_sequence(function, slots, loops)
    loops = fit_stages(function, slots, loops, shared_bytes - tasks.shared_bytes)
    staged = plan_staging(
        copies,
        accesses,
        slots,
        loops,
        shared_bytes,
        lambda store: bytes_in_use(function, tasks, store, values.positions),
    )
    remarks = _slow(accesses, values, views)
    return RaisePlan(
        function,
        addresses,
        accesses,
        views,
        copies,
        staged,
        values,
        slots,
        loops,
        tasks,
        refusals.listed(),
        remarks,
    )


def _refuse_copies(accesses: Mapping[Operation, Access], refusals: Refusals) -> None:
    """Asynchronous copies move boxes of a tensor, with zeros outside."""
    for op, access in accesses.items():
        match op:
            case AsyncCopyGlobalToLocalOp():
                shape = shape_of(op.result.type)
                has_zeros = op.other is None or is_zero(op.other)
            case AsyncTMACopyGlobalToLocalOp():
                shape, has_zeros = shape_of(op.result.type), True
            case AsyncTMACopyLocalToGlobalOp():
                shape, has_zeros = shape_of(op.src.type), True
            case _:
                continue
        if access.box is None and not isinstance(op, AsyncCopyGlobalToLocalOp):
            refusals.add(
                ADDRESS,
                op,
                "a TMA copy of a tensor that the host does not have: its address or extents are "
                "computed by the kernel",
                "pass a descriptor, or compute shape and strides from arguments",
            )
            continue
        order = None if access.box is None else access.box.order(shape)
        if order is None or list(order) != sorted(order) or not has_zeros or access.fills_nan:
            refusals.add(
                ADDRESS,
                op,
                "an asynchronous copy whose address and mask are not a box of a tensor, or with "
                "another value than zero outside of it",
                "use an affine address along rows, a mask that bounds each dimension, other=0.0",
            )


def _refuse_captured(tasks: Tasks, values: Values, refusals: Refusals) -> None:
    """Tensors in registers belong to threads: other tasks cannot read them."""
    for value, task in captured_tensors(tasks):
        owner = value.owner
        if values.is_buffer(value) and isinstance(owner, Operation):
            refusals.add(
                NO_COUNTERPART,
                owner,
                f"a tensor that is computed before the tasks, and used by {task.name}",
                "compute it in the task, or store it with tlx.local_store",
            )


def _orient(accesses: Mapping[Operation, Access], slots: Slots) -> None:
    """Shared buffers hold operands as memory does: transposed, if the box is."""
    for op, access in accesses.items():
        slot = slots.of.get(op.results[0]) if op.results else None
        if slot is None or not slot.is_shared or access.box is None or len(slot.shape) != 2:
            continue
        slot.is_transposed = access.box.order(slot.shape) == (1, 0)


def _slow(
    accesses: Mapping[Operation, Access], values: Values, views: Sequence[View]
) -> tuple[Refusal, ...]:
    """Operands of GEMMs that are copied element by element."""
    found = Refusals()
    for op, access in accesses.items():
        if not op.results or values.classes.get(op.results[0]) is not ValueClass.SHARED:
            continue
        if not is_region_load(op, access):
            found.add(
                SLOW,
                op,
                "an operand of a GEMM is copied element by element: its address and mask are "
                "not a box of a tensor",
                "use an affine address, and a mask that bounds each dimension",
            )
        elif access.box is not None and None in views[access.box.view].extents:
            found.add(
                NO_EXTENT,
                op,
                "an operand of a GEMM has no known extent along a dimension: what the array has "
                "left is used",
                "mask the access, or derive its start from program ids and loop counters",
            )
    return found.listed()
