"""The blocks of a core as a list: run-time arguments instead of an order that is looked up.

A raster without a closed form is evaluated for every core and iteration when the plan is made; the
kernels then read ``row * columns + column`` of the next block from their arguments.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import ControlFlow, words_of

LONGEST_LIST = 256
"""Blocks of a core; of the 341 run-time arguments the others are addresses and counts."""


def block_loop(op: Operation) -> ForOp:
    """The loop over the blocks of a core around an op."""
    found: Operation | None = op
    while found is not None:
        parent = found.parent_op()
        if isinstance(found, ForOp) and isinstance(parent, CoreProgramOp):
            return found
        found = parent
    raise AssertionError(f"'{op.name}' is not in the loop over blocks")


def with_block_lists(
    program: CoreProgramOp, assignments: tuple[Assignment, ...]
) -> tuple[Assignment, ...]:
    """The assignments, with the blocks of each core if a raster of the program is listed."""
    found = next(
        (
            op
            for op in walk(program)
            if isinstance(op, RasterOp) and op.listed is block_loop(op).induction_variable
        ),
        None,
    )
    if found is None:
        return assignments
    return tuple(
        replace(core, blocks=_blocks(program, found, core)) if core.count else core
        for core in assignments
    )


def _blocks(program: CoreProgramOp, raster: RasterOp, core: Assignment) -> tuple[int, ...]:
    words = words_of(core)
    arguments: dict[SSAValue, int] = {
        argument: words[name]
        for name, argument in zip(program.argument_names, program.body_block.args, strict=True)
        if name in words
    }
    index = block_loop(raster).induction_variable
    found: list[int] = []
    for iteration in range(core.steps):
        flow = ControlFlow(_ignore, {**arguments, index: iteration})
        row, column = flow.value(raster.row), flow.value(raster.column)
        found.append(row * flow.value(raster.columns) + column)
    return tuple(found)


def _ignore(op: Operation, times: int) -> None:
    """Only values are required."""
