"""How many pages the cores read and write, predicted from the program of a core.

The executors count exactly the predicted pages.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.tensix.plan import Assignment, Traffic
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.control_flow import ControlFlow, words_of


def predicted_traffic(program: CoreProgramOp, assignments: tuple[Assignment, ...]) -> Traffic:
    """The pages that all cores read and write."""
    pages = {Role.READER: 0, Role.WRITER: 0}

    def visit(op: Operation, times: int) -> None:
        if isinstance(op, CopyOp) and (role := role_of(op)) in pages:
            rows, columns = buffer_tiles(op.dst if role is Role.READER else op.src)
            pages[role] += times * rows * columns

    for core in assignments:
        if core.count:
            words = words_of(core)
            values = [words[name] for name in program.argument_names]
            arguments = dict(zip(program.body_block.args, values, strict=True))
            ControlFlow(visit, {**arguments}).block(program.body_block, 1)
    return Traffic(pages[Role.READER], pages[Role.WRITER])
