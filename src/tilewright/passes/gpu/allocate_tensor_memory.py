"""`allocate-tensor-memory`: every buffer in tensor memory gets its columns.

    %S = tile.alloc : memref<128x128xf32, #tmem>     ->    {nv.column = 0}
    %P = tile.alloc : memref<128x128xbf16, #tmem>    ->    {nv.column = 128}
                                                           kernel {nv.tmem_columns = 256}

A block allocates once: a power of two of columns, 32 to 512. Buffers with disjoint live ranges
share columns; `memory.planner` computes where they begin, and its independent checker verifies
that. Live ranges are in program order of the statements of the kernel: a loop, and roles next to
each other, count as one statement. What the tensor core accesses last is live to the end, as its
end is not a statement.

Without it, tensor memory is refused: other architectures have none (TW4003), and a kernel that
needs more than 512 columns cannot start (TW5080).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.layout_inference.tensor_memory import (
    MAX_COLUMNS,
    MIN_COLUMNS,
    accumulates,
    layout_of,
)
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.tile import AllocOp, KernelOp, Space, Tcgen05GemmOp, WsOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.tensor_memory import Tcgen05CopyScalesOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.codes.shared import OVERLAPPING_BUFFERS
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.memory.planner import Block, Problem, plan_problem
from tilewright.memory.planner import Space as Memory
from tilewright.memory.planner.check import check_offsets

TOO_MANY_COLUMNS = "TW5080"
_ALIGNED = 32
"""Buffers of so many columns begin at a multiple of it, smaller ones at a multiple of 4."""


@dataclass(frozen=True)
class AllocateTensorMemory(Pass):
    """Give buffers in tensor memory their columns."""

    name = "allocate-tensor-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            allocs = [
                op for op in walk(kernel) if isinstance(op, AllocOp) and op.space is Space.TMEM
            ]
            if allocs:
                _allocate(kernel, allocs, engine)


def _allocate(kernel: KernelOp, allocs: list[AllocOp], engine: DiagnosticEngine) -> None:
    live = _live_ranges(kernel, allocs)
    sizes = [layout_of(op).columns for op in allocs]
    blocks = tuple(
        Block(
            str(index),
            size,
            _ALIGNED if size >= _ALIGNED else 4,
            "tmem",
            live=(live[op.result],),
        )
        for index, (op, size) in enumerate(zip(allocs, sizes, strict=True))
    )
    problem = Problem((Memory("tmem", unit="columns"),), blocks)
    offsets = {each: int(offset) for each, offset in plan_problem(problem).offsets.items()}
    for fault in check_offsets(problem, offsets):
        engine.error(
            kernel,
            f"internal compiler error: overlapping buffers in tensor memory: {fault}",
            OVERLAPPING_BUFFERS,
        )
        return
    height = max(offsets[block.id] + block.size for block in blocks)
    if height > MAX_COLUMNS:
        _report(kernel, allocs, sizes, height, engine)
        return
    total = MIN_COLUMNS
    while total < height:
        total *= 2
    kernel.attributes[nv_names.TMEM_COLUMNS] = IntegerAttr(total, i64)
    for index, op in enumerate(allocs):
        op.attributes[nv_names.COLUMN] = IntegerAttr(offsets[str(index)], i64)
        if accumulates(op):
            op.attributes[nv_names.ACCUMULATOR] = UnitAttr()


def _live_ranges(kernel: KernelOp, allocs: list[AllocOp]) -> Mapping[SSAValue, tuple[int, int]]:
    """From the first statement of the kernel that uses a buffer until after the last."""
    time, previous = 0, False
    uses: dict[SSAValue, list[int]] = {op.result: [] for op in allocs}
    last: dict[SSAValue, Operation] = {}
    for statement in kernel.body.block.ops:
        is_role = isinstance(statement, WsOp)
        if not isinstance(statement, AllocOp):
            time += 0 if is_role and previous else 1
            previous = is_role
        for op in walk(statement):
            for operand in op.operands:
                base = base_of(operand)
                if base in uses and not isinstance(op, AllocOp):
                    uses[base].append(time)
                    last[base] = op
    end = time + 1
    found: dict[SSAValue, tuple[int, int]] = {}
    for buffer, times in uses.items():
        if not times:
            found[buffer] = (0, 0)
            continue
        is_pending = isinstance(last[buffer], Tcgen05GemmOp | Tcgen05CopyScalesOp)
        found[buffer] = (min(times), end if is_pending else max(times) + 1)
    return found


def _report(
    kernel: KernelOp,
    allocs: list[AllocOp],
    sizes: list[int],
    height: int,
    engine: DiagnosticEngine,
) -> None:
    diagnostic = engine.error(
        kernel,
        f"tensor memory: {height} columns needed, {MAX_COLUMNS} available in a block",
        TOO_MANY_COLUMNS,
    )
    for op, size in zip(allocs, sizes, strict=True):
        shape = " x ".join(map(str, shape_of(op.result.type)))
        diagnostic.note(
            op, f"'{op.buffer_name}': {shape} of {element_type_of(op.result.type)}, {size} columns"
        )
    diagnostic.note(
        None,
        "help: use smaller tiles, fewer stages of accumulators, or a pair of blocks (use_2cta)",
    )
