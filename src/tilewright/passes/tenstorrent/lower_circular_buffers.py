"""Turn on-chip buffers into circular buffers in L1.

    %A_s = tile.alloc : 32x32xbf16   ->   %A_s = tile.alloc {tt.cb = {index = 0, pages = 2, ...}}

A buffer has one producer and one consumer (`separate-buffers`), and its contents a known end
(`liveness`). Pages: tiles per step times depth for loads, twice the block for stores, the block for
partial sums, twice the block for a buffer that is read while it is rewritten. Indices 0.. are
loads in the order of the arguments, then known contents, 16.. stores, 24.. intermediates. A
GEMM accumulates in DST where the block fits, see `strategies`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.blocks import ConstantTileOp, ElementwiseOp, ReleaseOp
from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.dialects.tensix.json_attr import json_of
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp, ReduceOp, buffer_type
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import integers_attr
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import DEPTH, chip_of, functions, put
from tilewright.passes.tenstorrent.block_ops import buffer_tiles, zero_fill
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import (
    buffers_read,
    buffers_written,
    is_block_op,
    role_of,
)
from tilewright.passes.tenstorrent.circular_buffers import (
    CONSTANT,
    K_LOOP,
    BufferPlan,
    format_of_buffer,
    set_plan,
)
from tilewright.passes.tenstorrent.dst_programs import bits_of, dst_program
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of
from tilewright.passes.tenstorrent.k_loops import ensure_epilogue, epilogue_of, steps_of
from tilewright.passes.tenstorrent.liveness import live_at_start, release_buffers
from tilewright.passes.tenstorrent.masks import EXTENTS
from tilewright.passes.tenstorrent.reports import NotSupported, reporting
from tilewright.passes.tenstorrent.strategies import (
    RESIDENT,
    SPILL,
    KLoopPlan,
    k_loop_plan,
)

OVER_BUDGET = "TW7050"
TOO_MANY = "TW7051"
COMPUTE = "tt.compute"

FIRST_OUTPUT, FIRST_INTERMEDIATE = 16, 24


@dataclass(frozen=True)
class LowerCircularBuffers(Pass):
    """Size and index the circular buffers of a core."""

    name = "lower-circular-buffers"

    l1_budget: int = 0
    """Bytes that circular buffers may take; 0 for what the chip has."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for program in [op for op in walk(function) if isinstance(op, CoreProgramOp)]:
                with reporting(engine):
                    _Lowering(function, program, self.l1_budget).run()


@dataclass(frozen=True)
class _Effort:
    """What is given up so that the buffers fit."""

    short_outputs: bool = False
    shallow: bool = False
    spill: bool = False


_EFFORTS = (
    _Effort(),
    _Effort(short_outputs=True),
    _Effort(short_outputs=True, shallow=True),
    _Effort(spill=True),
    _Effort(short_outputs=True, shallow=True, spill=True),
)


@dataclass
class _Lowering:
    function: FuncOp
    program: CoreProgramOp
    l1_budget: int
    k_loops: dict[MatmulKLoopOp, KLoopPlan] = field(default_factory=dict[MatmulKLoopOp, KLoopPlan])

    def run(self) -> None:
        chip = chip_of(self.function)
        for loop in self._loops():
            ensure_epilogue(loop)
        self._add_constants()
        self._initialise()
        release_buffers(self.program)
        self.fp32 = any(element_type_of(each.result.type) == f32 for each in self._allocs())
        self.slots = chip.dst_tiles(fp32_dest_acc=self.fp32, full_sync=False)
        budget = self.l1_budget or chip.cb_budget_bytes
        plans: dict[AllocOp, BufferPlan] = {}
        for effort in _EFFORTS:
            plans = self._plans(effort, budget)
            if _total(plans) <= budget:
                break
        else:
            raise NotSupported(self.program, _too_large(plans, budget, chip), OVER_BUDGET)
        for alloc, plan in self._numbered(plans, chip).items():
            set_plan(alloc, plan)
        self._annotate()

    def _allocs(self) -> list[AllocOp]:
        return [op for op in walk(self.program) if isinstance(op, AllocOp)]

    def _loops(self) -> list[MatmulKLoopOp]:
        return [op for op in walk(self.program) if isinstance(op, MatmulKLoopOp)]

    def _annotate(self) -> None:
        strategy, chosen = "blocks", (1, 1)
        for loop, plan in self.k_loops.items():
            strategy, chosen = plan.strategy, plan.subblock
            put(
                loop,
                K_LOOP,
                {"strategy": strategy, "subblock": list(chosen), "steps": plan.steps},
            )
        put(
            self.function,
            COMPUTE,
            {
                "strategy": strategy,
                "subblock": list(chosen),
                "dst_tiles": self.slots,
                "fp32_dest_acc": self.fp32,
            },
        )

    # -- known contents, contents before the first write -----------------------------------------

    def _add_constants(self) -> None:
        required: dict[tuple[str, Attribute], Operation] = {}
        # An epilogue finds the accumulator in DST, where the FPU cannot add a broadcast to it.
        accumulators = {epilogue_of(loop): loop.acc for loop in self._loops()}
        for op in walk(self.program):
            if isinstance(op, ReduceOp):
                required.setdefault(("scaler", element_type_of(op.src.type)), op)
            elif isinstance(op, ElementwiseOp) and _needs_zero(op, accumulators.get(op)):
                for value, kind in zip(op.inputs, op.kinds, strict=True):
                    if kind != "tile":
                        required.setdefault(("zero", element_type_of(value.type)), op)
        first = self.program.body_block.first_op
        assert first is not None
        for (what, element), op in required.items():
            alloc = AllocOp(buffer_type(element, (32, 32), Space.SHARED), name=f"{what}_tile")
            alloc.attributes[EXTENTS] = integers_attr((32, 32))
            alloc.attributes[CONSTANT] = StringAttr(what)
            pattern, value = ("scaler", 1.0) if what == "scaler" else ("constant", 0.0)
            fill = ConstantTileOp(alloc.result, pattern, bits_of(value))
            Rewriter().insert_before(first, [alloc, fill], op)
            last = self.program.body_block.last_op
            assert last is not None
            Rewriter().insert_before(last, ReleaseOp(alloc.result), op)

    def _initialise(self) -> None:
        """Contents that a loop may leave without having written them."""
        (loop,) = [op for op in self.program.body_block.ops if isinstance(op, ForOp)]
        for buffer in live_at_start(self.program):
            writers = [
                use.operation
                for use in buffer.uses
                if is_block_op(use.operation) and buffer in buffers_written(use.operation)
            ]
            if any(role_of(op) is not Role.COMPUTE for op in writers):
                raise NotSupported(
                    next(iter(writers), self.program),
                    f"'{name_of(buffer)}' is loaded in a loop and read after it, and the loop may "
                    "have no iteration: load it again after the loop",
                )
            first = loop.body.block.first_op
            assert first is not None
            Rewriter().insert_before(first, zero_fill(buffer), next(iter(writers), loop))

    # -- sizes -------------------------------------------------------------------------------------

    def _plans(self, effort: _Effort, budget: int) -> dict[AllocOp, BufferPlan]:
        self.k_loops = {loop: self._k_loop(loop, effort) for loop in self._loops()}
        found: dict[AllocOp, BufferPlan] = {}
        for alloc in self._allocs():
            plan = self._plan(alloc, effort)
            if plan is not None:
                found[alloc] = plan
        return found

    def _k_loop(self, loop: MatmulKLoopOp, effort: _Effort) -> KLoopPlan:
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
        return k_loop_plan(loop.block_tiles, steps_of(loop), spare, panels)

    def _plan(self, alloc: AllocOp, effort: _Effort) -> BufferPlan | None:
        buffer = alloc.result
        rows, columns = buffer_tiles(buffer)
        tiles = rows * columns
        writers = [op for op in _users(buffer) if buffer in buffers_written(op)]
        readers = [op for op in _users(buffer) if buffer in buffers_read(op)]
        producer = role_of(writers[0])
        consumer = Role.COMPUTE if CONSTANT in alloc.attributes else role_of(readers[0])
        loop = next((op for op in writers if isinstance(op, MatmulKLoopOp)), None)
        if loop is not None:
            return self._accumulator(loop, tiles)
        subblock, chunk, transposed = (1, 1), tiles, False
        if CONSTANT in alloc.attributes:
            pages = 1
        elif producer is Role.READER:
            pages, transposed = self._loaded(writers[0], readers[0], tiles, effort)
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

    def _accumulator(self, loop: MatmulKLoopOp, tiles: int) -> BufferPlan | None:
        plan = self.k_loops[loop]
        if plan.strategy != SPILL:
            return None
        chunk = plan.subblock[0] * plan.subblock[1]
        role = Role.COMPUTE.value
        return BufferPlan(-1, tiles, tiles, role, role, chunk, plan.subblock)

    def _loaded(
        self, load: Operation, reader: Operation, tiles: int, effort: _Effort
    ) -> tuple[int, bool]:
        """Pages of a loaded buffer, and whether its tiles are stored column by column."""
        loop = load.parent_op()
        if isinstance(loop, MatmulKLoopOp):
            transposed = loop.transpose_b is not None and loop.b is load.operands[1]
            plan = self.k_loops[loop]
            if plan.strategy == RESIDENT:
                return tiles * plan.steps, transposed
            return tiles * self._depth(loop, effort), transposed
        assert loop is not None
        return tiles * self._depth(loop, effort), False

    def _depth(self, loop: Operation, effort: _Effort) -> int:
        if loop is self.program:
            return 1  # written once
        if effort.shallow:
            return 2
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

    # -- indices -----------------------------------------------------------------------------------

    def _numbered(
        self, plans: dict[AllocOp, BufferPlan], chip: ChipSpec
    ) -> dict[AllocOp, BufferPlan]:
        arguments = list(self.function.body.block.args)

        def order(alloc: AllocOp) -> tuple[int, int]:
            copies = [op for op in _users(alloc.result) if isinstance(op, CopyOp)]
            tensors = [base_of(value) for op in copies for value in op.operands]
            used = [n for n, each in enumerate(arguments) if any(each is t for t in tensors)]
            return min(used, default=len(arguments)), list(plans).index(alloc)

        groups: dict[int, list[AllocOp]] = {0: [], 1: [], 2: [], 3: []}
        for alloc in sorted(plans, key=order):
            groups[_group(alloc, plans[alloc])].append(alloc)
        if len(plans) > chip.circular_buffers:
            raise NotSupported(
                self.program,
                f"{len(plans)} circular buffers needed, {chip.circular_buffers} available on "
                f"{chip.name}: use fewer buffers",
                TOO_MANY,
            )
        taken: set[int] = set()
        found: dict[AllocOp, BufferPlan] = {}
        for group, first in ((0, 0), (1, 0), (2, FIRST_OUTPUT), (3, FIRST_INTERMEDIATE)):
            for alloc in groups[group]:
                index = _free_index(first, taken, chip.circular_buffers)
                taken.add(index)
                old = plans[alloc]
                found[alloc] = BufferPlan(
                    index,
                    old.pages,
                    old.tiles,
                    old.producer,
                    old.consumer,
                    old.chunk,
                    old.subblock,
                    old.transposed,
                )
        return found


def _users(buffer: SSAValue) -> list[Operation]:
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


def _group(alloc: AllocOp, plan: BufferPlan) -> int:
    if CONSTANT in alloc.attributes:
        return 1
    if plan.producer == Role.READER.value:
        return 0
    return 2 if plan.consumer == Role.WRITER.value else 3


def _free_index(first: int, taken: set[int], limit: int) -> int:
    candidates = [*range(first, limit), *range(first)]
    return next(index for index in candidates if index not in taken)


def _bytes(alloc: AllocOp, plan: BufferPlan) -> int:
    return plan.pages * format_of_buffer(alloc.result).tile_bytes


def _total(plans: dict[AllocOp, BufferPlan]) -> int:
    return sum(_bytes(alloc, plan) for alloc, plan in plans.items())


def _too_large(plans: dict[AllocOp, BufferPlan], budget: int, chip: ChipSpec) -> str:
    rows = " | ".join(
        f"{alloc.buffer_name} {plan.pages} x {format_of_buffer(alloc.result).tile_bytes}"
        for alloc, plan in plans.items()
    )
    return (
        f"L1: {_total(plans)} B needed for circular buffers, {budget} B available on {chip.name}: "
        f"{rows}; use smaller blocks"
    )


def _needs_zero(op: ElementwiseOp, accumulator: SSAValue | None) -> bool:
    """Whether a broadcast input is copied to DST, which the FPU does by adding it to zeros."""
    given = {} if accumulator is None else {list(op.inputs).index(accumulator): 0}
    return dst_program(op).needs_zero or dst_program(op, given).needs_zero
