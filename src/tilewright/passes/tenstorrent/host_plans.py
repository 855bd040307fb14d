"""The plan of the host: collected from the annotations of a function and its kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.multicast import Core, Multicast
from tilewright.dialects.tensix.plan import (
    WORD_SUFFIX,
    CircularBufferPlan,
    ComputePlan,
    Cores,
    Grid,
    KernelPlan,
    Memory,
    Plan,
    Problem,
    ScalarPlan,
    Schedule,
    TensorPlan,
)
from tilewright.dialects.tensix.program import CoreProgramOp, KernelOp
from tilewright.dialects.tensix.residency import PanelPlan, Residency, StreamedPlan
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import (
    CORE_RANGES,
    L1_TENSORS,
    RESIDENCY,
    SCHEDULE,
    SHARD,
    chip_of,
    get,
)
from tilewright.passes.tenstorrent.assignments import rectangles
from tilewright.passes.tenstorrent.block_lists import with_block_lists
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.circular_buffers import format_of_buffer, needed_plan, plan_of
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of
from tilewright.passes.tenstorrent.infer_tt_shards import layouts_of, shards_of
from tilewright.passes.tenstorrent.k_loops import steps_of
from tilewright.passes.tenstorrent.lower_circular_buffers import COMPUTE
from tilewright.passes.tenstorrent.multicast_groups import multicast_of
from tilewright.passes.tenstorrent.multicast_pages import Part, parts_of, variant_name
from tilewright.passes.tenstorrent.retained_panels import retained_panel
from tilewright.passes.tenstorrent.scalar_words import format_of_scalar
from tilewright.passes.tenstorrent.split_launches import workspaces_of
from tilewright.passes.tenstorrent.traffic import predicted_traffic, written_pages

_PROCESSORS = {
    Role.READER: ("RISCV_1", 1),
    Role.COMPUTE: ("TRISC", None),
    Role.WRITER: ("RISCV_0", 0),
}


def reader_variants(
    function: FuncOp, multicast: Multicast
) -> dict[str, tuple[dict[str, Part], tuple[Core, ...]]]:
    """The readers of a program by name: what they do for each operand, and on which cores."""
    found: dict[str, tuple[dict[str, Part], tuple[Core, ...]]] = {}
    for each in assignments_of(function):
        if each.count:
            parts = parts_of(multicast, (each.x, each.y))
            name = variant_name(parts)
            _, cores = found.get(name, (parts, ()))
            found[name] = parts, (*cores, (each.x, each.y))
    return found


def host_plan(function: FuncOp, program: CoreProgramOp, kernels: Sequence[KernelOp]) -> Plan:
    """The plan of one launch."""
    schedule: dict[str, Any] = get(function, SCHEDULE)
    x, y, z = schedule["grid"]
    chip = chip_of(function)
    tensors = _tensors(function, program)
    cbs = _circular_buffers(program)
    compute: dict[str, Any] = get(function, COMPUTE)
    rect = schedule.get("rect")
    assignments = with_block_lists(program, assignments_of(function))
    multicast = multicast_of(function)
    variants = {} if multicast is None else reader_variants(function, multicast)
    return Plan(
        arch=chip.arch,
        kernel=function.sym_name.data,
        grid=Grid(x, y, z),
        block_tiles=_block_tiles(program),
        problem=Problem(y, x, _depth(program)),
        cores=Cores((schedule["cores"][0], schedule["cores"][1]), assignments),
        schedule=Schedule(
            schedule["policy"], schedule["order"], None if rect is None else (rect[0], rect[1])
        ),
        core_ranges=tuple(tuple(each) for each in get(function, CORE_RANGES)),
        tensors=tensors,
        cbs=cbs,
        kernels=tuple(_kernel(each, variants.get(each.sym_name.data)) for each in kernels),
        compute=ComputePlan(
            compute["strategy"],
            (compute["subblock"][0], compute["subblock"][1]),
            compute["dst_tiles"],
            compute["fp32_dest_acc"],
        ),
        memory=Memory(
            chip.cb_budget_bytes,
            _l1_bytes(function, cbs),
            sum(each.total_bytes for each in tensors if each.shards is None),
        ),
        traffic=predicted_traffic(function, program, assignments, multicast),
        multicast=multicast,
        scalars=_scalars(function, kernels),
        residency=_residency(function, program),
    )


def _residency(function: FuncOp, program: CoreProgramOp) -> Residency | None:
    """What stays in L1 over several blocks; None with residency off."""
    decided: dict[str, Any] | None = get(function, RESIDENCY)
    if decided is None:
        return None
    panels: list[PanelPlan] = []
    for alloc in [op for op in walk(program) if isinstance(op, AllocOp)]:
        panel = retained_panel(alloc.result)
        if panel is not None:
            panels.append(
                PanelPlan(
                    panel.tensor,
                    alloc.buffer_name,
                    needed_plan(alloc.result).index,
                    panel.axes,
                    panel.pages,
                    panel.copies,
                    panel.loads,
                    panel.blocks,
                )
            )
    panels.sort(key=lambda each: each.cb)
    return Residency(
        decided["mode"],
        tuple(panels),
        tuple(StreamedPlan(**each) for each in decided["streamed"]),
    )


def _scalars(function: FuncOp, kernels: Sequence[KernelOp]) -> tuple[ScalarPlan, ...]:
    """The scalar arguments that a kernel takes as words."""
    words = {name for kernel in kernels for name in kernel.runtime_arg_names}
    found: list[ScalarPlan] = []
    for position, argument in enumerate(function.body.block.args):
        format = format_of_scalar(argument.type)
        if format is not None and f"{name_of(argument)}{WORD_SUFFIX}" in words:
            found.append(ScalarPlan(name_of(argument), position, format.value))
    return tuple(found)


def _l1_bytes(function: FuncOp, cbs: Sequence[CircularBufferPlan]) -> int:
    """L1 of a core: circular buffers, and the shards that exist while the program runs."""
    shards: list[tuple[str, int]] = get(function, L1_TENSORS) or []
    own = sum(each.total_bytes for each in cbs if each.tensor is None)
    return own + sum(size for _, size in shards)


def _tensors(function: FuncOp, program: CoreProgramOp) -> tuple[TensorPlan, ...]:
    layouts = layouts_of(function)
    read: set[SSAValue] = set()
    written: set[SSAValue] = set()
    for op in walk(program):
        if isinstance(op, CopyOp) and role_of(op) is Role.READER:
            read.add(base_of(op.src))
        elif isinstance(op, CopyOp) and role_of(op) is Role.WRITER:
            written.add(base_of(op.dst))
    pages_written = written_pages(program, assignments_of(function))
    placed: list[dict[str, Any]] = get(function, SHARD)
    shards, workspaces = shards_of(function), workspaces_of(function)
    found: list[TensorPlan] = []
    for position, argument in enumerate(function.body.block.args):
        layout = layouts.get(argument)
        if layout is None:
            continue
        pages = math.prod(layout.tiles)
        is_whole = argument not in read and pages_written.get(argument, 0) >= pages
        role = "input" if argument not in written else "output" if is_whole else "inout"
        found.append(
            TensorPlan(
                name=name_of(argument),
                arg=position,
                role=role,
                shape=layout.shape,
                padded=layout.padded,
                format=layout.format.value,
                tiles=layout.tiles,
                page_bytes=layout.format.tile_bytes,
                dims=layout.dims,
                granules=layout.granules,
                starts=layout.starts,
                limits=layout.limits,
                layout=placed[position]["memory"],
                shards=shards.get(argument),
                workspace=position in workspaces,
            )
        )
    return tuple(found)


def _circular_buffers(program: CoreProgramOp) -> tuple[CircularBufferPlan, ...]:
    found: list[CircularBufferPlan] = []
    for op in walk(program):
        plan = plan_of(op.result) if isinstance(op, AllocOp) else None
        if plan is not None and isinstance(op, AllocOp):
            format = format_of_buffer(op.result)
            found.append(
                CircularBufferPlan(
                    plan.index,
                    op.buffer_name,
                    format.value,
                    plan.pages,
                    format.tile_bytes,
                    plan.producer,
                    plan.consumer,
                    plan.tensor or None,
                )
            )
    return tuple(sorted(found, key=lambda each: each.index))


def _kernel(
    kernel: KernelOp, variant: tuple[dict[str, Part], tuple[Core, ...]] | None
) -> KernelPlan:
    processor, noc = _PROCESSORS[kernel.role]
    return KernelPlan(
        role=kernel.role.value,
        file=f"{kernel.sym_name.data}.cpp",
        processor=processor,
        noc=noc,
        compile_args=kernel.compile_arg_names,
        runtime_args=kernel.runtime_arg_names,
        cores="active" if variant is None else rectangles(variant[1]),
    )


def _block_tiles(program: CoreProgramOp) -> tuple[int, int, int]:
    """The tiles of a block: of the K loop, or of what is stored."""
    for op in walk(program):
        if isinstance(op, MatmulKLoopOp):
            return op.block_tiles
    for op in walk(program):
        if isinstance(op, CopyOp) and role_of(op) is Role.WRITER:
            rows, columns = buffer_tiles(op.src)
            return rows, columns, 1
    return 1, 1, 1


def _depth(program: CoreProgramOp) -> int:
    """K in tiles; 1 without a K loop."""
    loops = [op for op in walk(program) if isinstance(op, MatmulKLoopOp)]
    return loops[0].block_tiles[2] * steps_of(loops[0]) if loops else 1
