"""How many pages the cores read and write, predicted from the program of a core.

The executors count exactly the predicted pages. A tensor of which fewer pages are written than it
has retains the caller's values in the others, so that the host has to upload it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.multicast import Multicast
from tilewright.dialects.tensix.plan import Assignment, Traffic
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.control_flow import ControlFlow, words_of
from tilewright.passes.tenstorrent.in_place import tensor_of, tensors_in_place
from tilewright.passes.tenstorrent.infer_tt_shards import shards_of
from tilewright.passes.tenstorrent.multicast_groups import operand_of
from tilewright.passes.tenstorrent.multicast_pages import Part, parts_of


def predicted_traffic(
    function: FuncOp,
    program: CoreProgramOp,
    assignments: tuple[Assignment, ...],
    multicast: Multicast | None = None,
) -> Traffic:
    """The pages that all cores read, write and multicast."""
    dram = {Role.READER: 0, Role.WRITER: 0}
    l1 = {Role.READER: 0, Role.WRITER: 0}
    sent = 0
    parts: Mapping[str, Part] = {}
    shards, in_place = shards_of(function), tensors_in_place(function)

    def visit(op: Operation, times: int) -> None:
        nonlocal sent
        tensor = tensor_of(op)
        if tensor is None or tensor in in_place:
            return
        assert isinstance(op, CopyOp)
        role = role_of(op)
        rows, columns = buffer_tiles(op.dst if role is Role.READER else op.src)
        pages = times * rows * columns
        part = parts.get(operand_of(op) or "", Part.ALONE)
        is_read = role is Role.READER
        if not is_read or part is not Part.RECEIVER:
            (l1 if tensor in shards else dram)[role] += pages
        sent += pages if is_read and part is Part.SENDER else 0

    for core in assignments:
        parts = {} if multicast is None else parts_of(multicast, (core.x, core.y))
        _visit(program, (core,), visit)
    return Traffic(
        dram[Role.READER],
        dram[Role.WRITER],
        sent,
        l1_page_reads=l1[Role.READER],
        l1_page_writes=l1[Role.WRITER],
    )


def written_pages(
    program: CoreProgramOp, assignments: tuple[Assignment, ...]
) -> dict[SSAValue, int]:
    """The pages of each tensor that all cores write."""
    pages: dict[SSAValue, int] = {}

    def visit(op: Operation, times: int) -> None:
        if isinstance(op, CopyOp) and role_of(op) is Role.WRITER:
            rows, columns = buffer_tiles(op.src)
            tensor = base_of(op.dst)
            pages[tensor] = pages.get(tensor, 0) + times * rows * columns

    _visit(program, assignments, visit)
    return pages


def _visit(
    program: CoreProgramOp,
    assignments: tuple[Assignment, ...],
    visit: Callable[[Operation, int], None],
) -> None:
    """Call `visit` with every op and the number of its executions, core by core."""
    for core in assignments:
        if core.count:
            words = words_of(core)
            values = [words[name] for name in program.argument_names]
            arguments = dict(zip(program.body_block.args, values, strict=True))
            ControlFlow(visit, {**arguments}).block(program.body_block, 1)
