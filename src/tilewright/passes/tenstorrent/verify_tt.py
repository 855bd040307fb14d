"""Check a whole program: the plan of the host and its three kernels.

    plan       grid, assignment of blocks, cores, circular buffers, L1, pages, arguments
    kernels    one producer and one consumer per circular buffer, pushes = pops, block sizes, DST,
               inits, barriers, raster maps
    shards     tensors in L1 and the circular buffers on them
    multicast  rectangles, receivers, block counts and semaphores of the groups and of the ops
    residency  a panel that is not loaded in a block is the one that the block needs
    flow       a run of the circular-buffer calls of a core, without data: no circular waits

Everything is derived again from the kernels and compared with the plan; nothing is taken from the
passes before. An error stops the compilation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.tensix.buffers import CBOp
from tilewright.dialects.tensix.chips import CHIPS, ChipSpec
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.plan import Assignment, KernelPlan, Plan
from tilewright.dialects.tensix.program import HostPlanOp, KernelOp
from tilewright.dialects.tensix.rasters import Raster
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.assignments import blocks_of
from tilewright.passes.tenstorrent.verify_flow import flow_problems
from tilewright.passes.tenstorrent.verify_kernels import kernel_problems
from tilewright.passes.tenstorrent.verify_multicast import (
    BAD_MULTICAST,
    group_problems,
    multicast_op_problems,
    protocol_problems,
)
from tilewright.passes.tenstorrent.verify_residency import residency_problems
from tilewright.passes.tenstorrent.verify_shards import (
    BAD_SHARDS,
    shard_op_problems,
    shard_problems,
)

MISSING = "TW7100"
BAD_GRID = "TW7101"
BAD_ASSIGNMENT = "TW7102"
BAD_CORES = "TW7103"
BAD_INDEX = "TW7104"
L1_OVERFLOW = "TW7105"
BAD_PAGE = "TW7106"
BAD_ARGUMENTS = "TW7115"

_REQUIRED = ("grid", "cores", "schedule", "core_ranges", "tensors", "cbs", "kernels", "compute")
_NEARLY_FULL = 0.8
_ALIGNMENT = 16

Problems: TypeAlias = Iterator[tuple[str, str]]
"""Code and message."""


@dataclass(frozen=True)
class VerifyTt(Pass):
    """Check the plan and the kernels of a program."""

    name = "verify-tt"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        kernels = [op for op in module.ops if isinstance(op, KernelOp)]
        plans = [op for op in module.ops if isinstance(op, HostPlanOp)]
        for op in plans:
            missing = [name for name in _REQUIRED if name not in op.plan.data]
            if missing:
                engine.error(op, f"Missing required attribute: {missing[0]}", MISSING)
                continue
            plan = Plan.from_attr(op.plan)
            before = engine.error_count
            own = kernels if len(plans) == 1 else _listed(plan, kernels)
            for code, message in plan_problems(plan, own):
                engine.error(op, message, code)
            for problem in kernel_problems(plan, own):
                engine.error(problem.op, problem.message, problem.code)
            for problem in multicast_op_problems(plan, _chip(plan), own):
                engine.error(problem.op, problem.message, problem.code)
            for problem in shard_op_problems(plan, own):
                engine.error(problem.op, problem.message, problem.code)
            if engine.error_count == before:
                for code, message in _word_problems(plan):
                    engine.error(op, message, code)
            if engine.error_count == before:
                for problem in residency_problems(plan, own):
                    engine.error(problem.op, problem.message, problem.code)
            if engine.error_count == before:
                for problem in (*protocol_problems(plan, own), *flow_problems(plan, own)):
                    engine.error(problem.op, problem.message, problem.code)
            _warn(plan, op, engine)
        if len(plans) > 1:
            known = [name for op in plans for name in _kernel_names(op)]
            for kernel in [each for each in kernels if known.count(each.sym_name.data) != 1]:
                count = known.count(kernel.sym_name.data)
                engine.error(
                    kernel,
                    f"kernel '{kernel.sym_name.data}' is listed by {count} of {len(plans)} plans "
                    "of the chain: expected one",
                    BAD_ARGUMENTS,
                )
        if kernels and not plans:
            engine.error(kernels[0], "Missing required attribute: tensix.host_plan", MISSING)


def _listed(plan: Plan, kernels: list[KernelOp]) -> list[KernelOp]:
    """The kernels of one launch of a chain."""
    return [each for each in kernels if plan.kernel_named(each.sym_name.data) is not None]


def _kernel_names(op: HostPlanOp) -> list[str]:
    if any(name not in op.plan.data for name in _REQUIRED):
        return []
    return [each.name for each in Plan.from_attr(op.plan).kernels]


def _chip(plan: Plan) -> ChipSpec:
    return next(each for each in CHIPS.values() if each.arch == plan.arch)


def plan_problems(plan: Plan, kernels: list[KernelOp]) -> Problems:
    """What is wrong with a plan."""
    chip = _chip(plan)
    yield from _grid_problems(plan)
    yield from _core_problems(plan, chip)
    yield from _buffer_problems(plan, chip, kernels)
    yield from _argument_problems(plan, chip, kernels)
    yield from ((BAD_MULTICAST, message) for message in group_problems(plan, chip))
    yield from ((BAD_SHARDS, message) for message in shard_problems(plan))


def _grid_problems(plan: Plan) -> Problems:
    grid = (plan.grid.x, plan.grid.y, plan.grid.z)
    if min(grid) < 1:
        yield (
            BAD_GRID,
            f"Grid dimensions must be positive, got {grid[0]} x {grid[1]} x {grid[2]}: launch at "
            "least one block",
        )
        return
    found: Counter[int] = Counter()
    for each in plan.cores.assignments:
        found.update(blocks_of(each, plan.schedule.policy, grid, plan.cores.num_cores))
    total = plan.grid.total_tiles
    wrong = [block for block in range(total) if found[block] != 1]
    outside = [block for block in found if not 0 <= block < total]
    if wrong or outside:
        block = (wrong or outside)[0]
        yield (
            BAD_ASSIGNMENT,
            f"block {block} is assigned to {found[block]} cores, {total} blocks in all: every "
            "block has to be assigned once; recompute the schedule with infer-tt-schedule",
        )
    yield from _list_problems(plan)


def _list_problems(plan: Plan) -> Problems:
    """Lists of blocks that are not in the order of the schedule."""
    order = Raster(plan.schedule.order, plan.schedule.rect)
    for core in plan.cores.active:
        if core.blocks is None:
            continue
        rows, columns = plan.grid.y, plan.grid.x
        if core.rect is None:
            grid = (plan.grid.x, plan.grid.y, plan.grid.z)
            steps = blocks_of(core, plan.schedule.policy, grid, plan.cores.num_cores)
        else:
            rows, columns = core.rect[2] + core.ghosts[0], core.rect[3] + core.ghosts[1]
            steps = range(core.steps)
        points = [order.at(step % (rows * columns), rows, columns) for step in steps]
        if core.blocks != tuple(row * columns + column for row, column in points):
            yield (
                BAD_ASSIGNMENT,
                f"the blocks listed for core ({core.x}, {core.y}) are not those of the order "
                f"{order.policy} from block {core.start_tile} on",
            )
            return


def _core_problems(plan: Plan, chip: ChipSpec) -> Problems:
    width, height = plan.cores.grid
    widest, tallest = chip.largest_grid
    if width > widest or height > tallest:
        yield (
            BAD_CORES,
            f"core grid {width}x{height}: {chip.name} has at most {widest}x{tallest} cores",
        )
    for role in dict.fromkeys(each.role for each in plan.kernels):
        kernels = [each for each in plan.kernels if each.role == role]
        for core in plan.cores.active:
            count = sum(each.runs_on(core) for each in kernels)
            if count != 1:
                yield (
                    BAD_CORES,
                    f"core ({core.x}, {core.y}) runs {count} {role} kernels: every active core "
                    "runs one",
                )
                return
    for each in plan.core_ranges:
        if len(each) != 6:
            yield (
                BAD_CORES,
                "Core range must have 6 elements: [start_x, start_y, end_x, end_y, start_tile, "
                f"count], got {len(each)}",
            )
            return
        x0, y0, x1, y1 = each[:4]
        if not (0 <= x0 <= x1 < width and 0 <= y0 <= y1 < height):
            yield (
                BAD_CORES,
                f"core range ({x0}, {y0}) to ({x1}, {y1}) is outside the core grid of "
                f"{width} x {height}",
            )


def _buffer_problems(plan: Plan, chip: ChipSpec, kernels: list[KernelOp]) -> Problems:
    indices = [each.index for each in plan.cbs]
    for index, count in Counter(indices).items():
        if count > 1 or not 0 <= index < chip.circular_buffers:
            yield (
                BAD_INDEX,
                f"circular buffer {index} is declared {count} times; {chip.name} has the indices "
                f"0 to {chip.circular_buffers - 1}, each once",
            )
    declared = {
        (op.index, op.type.pages, op.type.page_bytes)
        for kernel in kernels
        for op in walk(kernel)
        if isinstance(op, CBOp)
    }
    planned = {(each.index, each.pages, each.page_bytes) for each in plan.cbs}
    for index, pages, size in sorted(declared ^ planned):
        where = "the kernels" if (index, pages, size) in declared else "the plan"
        yield (
            BAD_INDEX,
            f"Mismatch between the plan and the kernels: circular buffer {index} with {pages} "
            f"pages of {size} B is in {where} only",
        )
    shards = sum(each.l1_bytes for each in plan.tensors)
    used = sum(each.total_bytes for each in plan.cbs if each.tensor is None) + shards
    if used > chip.cb_budget_bytes:
        what = "circular buffers and shards" if shards else "circular buffers"
        yield (
            L1_OVERFLOW,
            f"{what} take {used} B of L1, {chip.cb_budget_bytes} B available on "
            f"{chip.name}: use smaller blocks",
        )
    for each in plan.cbs:
        size = Format(each.format).tile_bytes
        if each.page_bytes != size or each.page_bytes % _ALIGNMENT:
            yield (
                BAD_PAGE,
                f"pages of circular buffer {each.index} have {each.page_bytes} B, a tile of "
                f"{each.format} has {size} B and pages are aligned to {_ALIGNMENT} B",
            )


def _argument_problems(plan: Plan, chip: ChipSpec, kernels: list[KernelOp]) -> Problems:
    for kernel in kernels:
        listed = plan.kernel_named(kernel.sym_name.data)
        if listed is None:
            yield (
                BAD_ARGUMENTS,
                f"the plan lists no kernel '{kernel.sym_name.data}', a {kernel.role.value} kernel",
            )
            continue
        names = kernel.runtime_arg_names
        longest = max(
            (_word_count(plan, listed, each) for each in plan.cores_of(listed)), default=0
        )
        if longest > chip.max_runtime_args:
            yield (
                BAD_ARGUMENTS,
                f"the {kernel.role.value} kernel has {longest} run-time arguments, at most "
                f"{chip.max_runtime_args} are guaranteed",
            )
        if names != listed.runtime_args or kernel.compile_arg_names != listed.compile_args:
            yield (
                BAD_ARGUMENTS,
                f"arguments of the {kernel.role.value} kernel differ from the plan: "
                f"{', '.join(names)} and {', '.join(listed.runtime_args)}",
            )


def _word_count(plan: Plan, kernel: KernelPlan, core: Assignment) -> int:
    """The run-time words of a core; 0 if the plan lacks some, see `_word_problems`."""
    try:
        return len(plan.runtime_words(kernel, core))
    except KeyError:
        return 0


def _word_problems(plan: Plan) -> Problems:
    """Run-time arguments that the plan has no value for on a core that needs one."""
    for kernel in plan.kernels:
        for core in plan.cores_of(kernel):
            try:
                plan.runtime_words(kernel, core)
            except KeyError as name:
                yield (
                    BAD_ARGUMENTS,
                    f"the plan has no value for the argument {name} of {kernel.name} on core "
                    f"({core.x}, {core.y})",
                )
                break


def _warn(plan: Plan, op: Operation, engine: DiagnosticEngine) -> None:
    budget: int = plan.memory.l1_budget
    if budget * _NEARLY_FULL < plan.memory.l1_used <= budget:
        engine.warning(
            op,
            f"circular buffers take {plan.memory.l1_used} B of {budget} B of L1: larger blocks "
            "will not fit",
            L1_OVERFLOW,
        )
