"""The sizes of the circular buffers of a core, for what is given up so that they fit.

Pages: tiles per step times depth for loads, the panel for one that is retained, twice the block for
stores, the block for partial sums, twice the block for a buffer that is read while it is rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.blocks import ReleaseOp
from tilewright.dialects.tensix.json_attr import json_of
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp, GemmOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import DEPTH, chip_of
from tilewright.passes.tenstorrent.apply_tt_tuning import BAD_TUNING, stages_of, subblock_of
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import (
    buffers_read,
    buffers_written,
    is_block_op,
    role_of,
)
from tilewright.passes.tenstorrent.circular_buffers import CONSTANT, BufferPlan, format_of_buffer
from tilewright.passes.tenstorrent.dst_programs import dst_program
from tilewright.passes.tenstorrent.in_place import tensor_of, tensors_in_place
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of
from tilewright.passes.tenstorrent.infer_tt_shards import shards_of
from tilewright.passes.tenstorrent.k_loops import epilogue_of, steps_of
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tenstorrent.retained_panels import loop_of_load, retained_panel
from tilewright.passes.tenstorrent.strategies import RESIDENT, SPILL, KLoopPlan, k_loop_plan

Plans = dict[AllocOp, BufferPlan]


@dataclass(frozen=True)
class Effort:
    """What is given up so that the buffers fit."""

    short_outputs: bool = False
    shallow: bool = False
    spill: bool = False


EFFORTS = (
    Effort(),
    Effort(short_outputs=True),
    Effort(short_outputs=True, shallow=True),
    Effort(spill=True),
    Effort(short_outputs=True, shallow=True, spill=True),
)


@dataclass
class Sizing:
    """Sizes for a program whose contents have a known end (`liveness`)."""

    function: FuncOp
    program: CoreProgramOp
    k_loops: dict[MatmulKLoopOp, KLoopPlan] = field(default_factory=dict[MatmulKLoopOp, KLoopPlan])
    """How the loops accumulate, by the last call of `plans`."""

    def __post_init__(self) -> None:
        chip = chip_of(self.function)
        # Elements of 32 bits, integers included, take 32 bits in DST.
        self.fp32 = any(
            element_type_of(each.result.type) in (f32, i32) for each in allocs_of(self.program)
        )
        self.subblock = subblock_of(self.function)
        self.slots = chip.dst_tiles(fp32_dest_acc=self.fp32, full_sync=False)
        self.in_place = tensors_in_place(self.function)

    def plans(self, effort: Effort) -> Plans:
        """The circular buffers, not numbered yet."""
        self.k_loops = {loop: self._k_loop(loop, effort) for loop in k_loops_of(self.program)}
        found: Plans = {}
        for alloc in allocs_of(self.program):
            plan = self._plan(alloc, effort)
            if plan is not None:
                found[alloc] = plan
        return found

    def _k_loop(self, loop: MatmulKLoopOp, effort: Effort) -> KLoopPlan:
        epilogue = epilogue_of(loop)
        assert epilogue is not None
        position = list(epilogue.inputs).index(loop.acc)
        spare = self.slots - (dst_program(epilogue, {position: 0}).slots - 1)
        if spare < 1:
            raise NotSupported(
                epilogue,
                f"the expression after the GEMM needs more than the {self.slots} tiles of DST: "
                "store an intermediate result in a buffer",
            )
        panels = 0 if effort.spill else 1 << 30
        try:
            return k_loop_plan(loop.block_tiles, steps_of(loop), spare, panels, self.subblock)
        except ValueError as error:
            raise NotSupported(loop, str(error), BAD_TUNING) from None

    def _plan(self, alloc: AllocOp, effort: Effort) -> BufferPlan | None:
        buffer = alloc.result
        rows, columns = buffer_tiles(buffer)
        tiles = rows * columns
        writers = [op for op in users_of(buffer) if buffer in buffers_written(op)]
        readers = [op for op in users_of(buffer) if buffer in buffers_read(op)]
        producer = role_of(writers[0])
        consumer = Role.COMPUTE if CONSTANT in alloc.attributes else role_of(readers[0])
        loop = next((op for op in writers if isinstance(op, MatmulKLoopOp)), None)
        if loop is not None:
            return self._accumulator(loop, tiles)
        shard = self._shard(writers[0], readers)
        if shard is not None:
            return replace(
                shard,
                tiles=tiles,
                producer=producer.value,
                consumer=consumer.value,
                subblock=(rows, columns),
            )
        subblock, chunk, transposed = (1, 1), tiles, False
        if CONSTANT in alloc.attributes:
            pages = 1
        elif producer is Role.READER:
            pages, transposed = self._loaded(writers[0], buffer, tiles, effort)
            subblock = (rows, columns)
        elif consumer is Role.WRITER:
            subblock = self._stored_subblock(writers[0])
            chunk = subblock[0] * subblock[1]
            pages = 2 * (chunk if effort.short_outputs else tiles)
        else:
            is_rewritten = any(op in readers for op in writers)
            pages = 2 * tiles if is_rewritten else tiles
            subblock = (rows, columns)
        return BufferPlan(
            -1, pages, tiles, producer.value, consumer.value, chunk, subblock, transposed
        )

    def _shard(self, writer: Operation, readers: list[Operation]) -> BufferPlan | None:
        """The shard that an operand in place is in."""
        for op in (writer, *readers):
            tensor = tensor_of(op)
            if tensor is not None and tensor in self.in_place:
                shards = shards_of(self.function)[tensor]
                pages = shards.core_pages
                return BufferPlan(
                    *(-1, pages, pages, "", "", pages, (1, 1)),
                    tensor=name_of(tensor),
                    row_pages=shards.shape[1],
                )
        return None

    def _accumulator(self, loop: MatmulKLoopOp, tiles: int) -> BufferPlan | None:
        plan = self.k_loops[loop]
        if plan.strategy != SPILL:
            return None
        chunk = plan.subblock[0] * plan.subblock[1]
        role = Role.COMPUTE.value
        return BufferPlan(-1, tiles, tiles, role, role, chunk, plan.subblock)

    def _loaded(
        self, load: Operation, buffer: SSAValue, tiles: int, effort: Effort
    ) -> tuple[int, bool]:
        """Pages of a loaded buffer, and whether its tiles are stored column by column."""
        loop = loop_of_load(load, buffer)
        retained = retained_panel(buffer)
        transposed = isinstance(load, CopyOp) and all(
            _takes_transposed(op, buffer) for op in _readers_of(buffer)
        )
        if retained is not None:
            return retained.pages * retained.copies, transposed
        if isinstance(loop, MatmulKLoopOp):
            plan = self.k_loops[loop]
            if plan.strategy == RESIDENT:
                return tiles * plan.steps, transposed
            return tiles * self._depth(loop, effort), transposed
        assert loop is not None
        return tiles * self._depth(loop, effort), transposed

    def _depth(self, loop: Operation, effort: Effort) -> int:
        if loop is self.program:
            return 1  # written once
        if effort.shallow:
            return 2
        stages = stages_of(self.function)
        if stages is not None and DEPTH in loop.attributes:
            return stages
        depth = loop.attributes.get(DEPTH)
        if depth is not None:
            found = json_of(depth)
            assert isinstance(found, int)
            return found
        busiest = max(each.count for each in assignments_of(self.function))
        return 2 if busiest > 1 or loop.parent_op() is not self.program else 1

    def _stored_subblock(self, writer: Operation) -> tuple[int, int]:
        """The tiles that the producer of a stored buffer packs at a time."""
        for loop, plan in self.k_loops.items():
            if epilogue_of(loop) is writer:
                return plan.subblock
        return (1, 1)


def allocs_of(program: CoreProgramOp) -> list[AllocOp]:
    return [op for op in walk(program) if isinstance(op, AllocOp)]


def k_loops_of(program: CoreProgramOp) -> list[MatmulKLoopOp]:
    return [op for op in walk(program) if isinstance(op, MatmulKLoopOp)]


def _readers_of(buffer: SSAValue) -> list[Operation]:
    return [op for op in users_of(buffer) if buffer in buffers_read(op)]


def _takes_transposed(op: Operation, buffer: SSAValue) -> bool:
    """Whether an op takes a buffer only as the transposed right operand of a GEMM."""
    is_gemm = isinstance(op, (GemmOp, MatmulKLoopOp))
    return is_gemm and op.b is buffer and op.a is not buffer and op.transpose_b is not None


def users_of(buffer: SSAValue) -> list[Operation]:
    """The block ops that read or write a buffer, releases left out."""
    found = [use.operation for use in buffer.uses]
    ops = [op for op in found if is_block_op(op) and not isinstance(op, ReleaseOp)]
    return sorted(dict.fromkeys(ops), key=_position)


def _position(op: Operation) -> list[int]:
    """The position of an op in its program, for sorting."""
    found: list[int] = []
    each: Operation | None = op
    while each is not None and not isinstance(each, CoreProgramOp):
        count, before = 0, each.prev_op
        while before is not None:
            count, before = count + 1, before.prev_op
        found.append(count)
        each = each.parent_op()
    return found[::-1]


def _bytes(alloc: AllocOp, plan: BufferPlan) -> int:
    return plan.pages * format_of_buffer(alloc.result).tile_bytes


def total_bytes(plans: Plans) -> int:
    """L1 that the circular buffers of a core take, those on shards left out."""
    return sum(_bytes(alloc, plan) for alloc, plan in plans.items() if not plan.is_in_place)
