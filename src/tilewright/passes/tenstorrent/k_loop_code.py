"""The calls of the compute kernel for a K loop and its epilogue, by strategy.

whole      acquire ; for k { wait ; matmul ; pop } ; epilogue ; commit ; pack ; release
resident   wait for all panels ; per sub-block: acquire ; for all k: matmul ; epilogue ; pack
           pop all panels
spill      per step and sub-block: acquire ; reload ; matmul ; pack to the partial sums,
           in the last step epilogue and pack to the output

A panel that is retained over several blocks (`retained_panels`) is waited for up to the current
step, and not popped.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from xdsl.ir import SSAValue

from tilewright.dialects.tensix.blocks import ElementwiseOp, ShardTileOp
from tilewright.dialects.tensix.buffers import CBPopOp, CBPushOp, CBReserveOp, CBWaitOp
from tilewright.dialects.tensix.config import DstReleaseOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.math import CopyTileOp, MatmulBlockOp, MatmulTileOp
from tilewright.dialects.tensix.program import EndOp
from tilewright.dialects.tensix.sfpu import PackOp
from tilewright.ir.interfaces import constant_integer
from tilewright.passes.tenstorrent.annotations import get
from tilewright.passes.tenstorrent.circular_buffers import K_LOOP, needed_plan
from tilewright.passes.tenstorrent.compute_blocks import ComputeCode
from tilewright.passes.tenstorrent.dst_programs import dst_program
from tilewright.passes.tenstorrent.retained_panels import retained_panel
from tilewright.passes.tenstorrent.strategies import RESIDENT, WHOLE
from tilewright.passes.tile.clone_ops import copy_op


def lower_k_loop(code: ComputeCode, loop: MatmulKLoopOp, epilogue: ElementwiseOp) -> None:
    """The loop and its epilogue, at the position of the epilogue."""
    _KLoop(code, loop, epilogue).run()


class _KLoop:
    def __init__(self, code: ComputeCode, loop: MatmulKLoopOp, epilogue: ElementwiseOp) -> None:
        self.code, self.loop, self.epilogue = code, loop, epilogue
        plan: dict[str, Any] = get(loop, K_LOOP)
        self.strategy: str = plan["strategy"]
        self.steps: int = plan["steps"]
        self.high, self.wide = plan["subblock"]
        self.rows, self.columns, self.depth = loop.block_tiles
        self.a, self.b = code.cb(loop.a), code.cb(loop.b)
        self.a_tiles, self.b_tiles = self.rows * self.depth, self.columns * self.depth
        self.retained = {each: retained_panel(each) for each in (loop.a, loop.b)}

    def run(self) -> None:
        code = self.code
        code.location = self.loop.location
        others = [each for each in self.epilogue.inputs if each is not self.loop.acc]
        self._around_outputs(CBReserveOp)
        if self.strategy == WHOLE:
            self._find_panels()
            code.acquire()
            with self._steps() as (step, index):
                self._wait(1, step)
                self._multiply(code.constant(0), code.constant(0), step, self.depth, index)
                self._pop(1)
            code.wait(others)
            self._finish(code.constant(0), code.constant(0))
        elif self.strategy == RESIDENT:
            self._find_panels()
            code.wait(others)
            self._wait(self.steps, code.constant(0))
            with self._subblocks() as (row, column):
                code.acquire()
                with code.loop(self.steps, "k") as step:
                    self._multiply(row, column, step, self.depth, self._index(step))
                self._finish(row, column)
            self._pop(self.steps)
        else:
            self._spill(others)
        code.location = self.epilogue.location
        self._around_outputs(CBPushOp)
        code.pop(self.epilogue, self.loop.acc)

    @contextmanager
    def _steps(self) -> Generator[tuple[SSAValue, SSAValue]]:
        """The loop over K: its step, from 0 where a panel is retained, and its index."""
        code, loop = self.code, self.loop
        bounds = loop.lower_bound, loop.upper_bound, loop.step
        is_counted = any(panel is not None for panel in self.retained.values())
        if is_counted:
            bounds = code.constant(0), code.constant(self.steps), code.constant(1)
        with code.loop_over(*bounds, name="k") as step:
            yield step, self._index(step) if is_counted else step

    def _index(self, step: SSAValue) -> SSAValue:
        """The index of the K loop in its `step`-th iteration."""
        stride = constant_integer(self.loop.step)
        if stride is None:
            return step  # of a loop without operands in place
        return self.code.plus(self.loop.lower_bound, self.code.times(step, stride))

    @contextmanager
    def _subblocks(self) -> Generator[tuple[SSAValue, SSAValue]]:
        """Loops over the sub-blocks: the first tile row and column of each."""
        code = self.code
        with (
            code.loop(self.rows // self.high, "sr") as row,
            code.loop(self.columns // self.wide, "sc") as column,
        ):
            yield code.times(row, self.high), code.times(column, self.wide)

    def _operands(self) -> tuple[tuple[SSAValue, SSAValue, int], ...]:
        """The two operands: buffer, circular buffer, tiles of a step."""
        return (self.loop.a, self.a, self.a_tiles), (self.loop.b, self.b, self.b_tiles)

    def _find_panels(self) -> None:
        """The steps before this loop in the panels that are retained over blocks."""
        code = self.code
        self.before = {
            buffer: code.constant(0)
            if panel is None
            else code.times(code.step_of(panel.loops - 1), self.steps)
            for buffer, panel in self.retained.items()
        }

    def _wait(self, steps: int, step: SSAValue) -> None:
        """Wait for so many steps from `step` on: for a retained panel also for those before."""
        code = self.code
        for buffer, cb, tiles in self._operands():
            if needed_plan(buffer).is_in_place:
                continue
            pages = code.constant(tiles * steps)
            if self.retained[buffer] is not None:
                before = code.plus(self.before[buffer], step)
                pages = code.plus(code.times(before, tiles), pages)
            code.add(CBWaitOp(cb, pages))

    def _pop(self, steps: int) -> None:
        code = self.code
        for buffer, cb, tiles in self._operands():
            if self.retained[buffer] is None and not needed_plan(buffer).is_in_place:
                code.add(CBPopOp(cb, code.constant(tiles * steps)))

    def _find_operands(self, index: SSAValue) -> None:
        """Where in their shards the operands of the step with that loop index are."""
        values: dict[SSAValue, SSAValue] = {self.loop.induction_variable: index}
        for op in self.loop.body_block.ops:
            if isinstance(op, ShardTileOp):
                self.code.shard_tiles[op.buffer] = values.get(op.index, op.index)
            elif not isinstance(op, EndOp):
                self.code.add(copy_op(op, values))

    def _operand(
        self, buffer: SSAValue, step: SSAValue, row: SSAValue, column: SSAValue
    ) -> SSAValue:
        """The page of tile (row, column) of an operand in a step."""
        code = self.code
        if needed_plan(buffer).is_in_place:
            return code.tile_at(buffer, row, column)
        is_a = buffer is self.loop.a
        tiles, columns = (self.a_tiles, self.depth) if is_a else (self.b_tiles, self.columns)
        # Only the steps that are not popped yet count.
        before = code.constant(0)
        if self.retained[buffer] is not None:
            before = code.times(code.plus(self.before[buffer], step), tiles)
        elif self.strategy == RESIDENT:
            before = code.times(step, tiles)
        return code.plus(before, code.plus(code.times(row, columns), column))

    def _multiply(
        self, row: SSAValue, column: SSAValue, step: SSAValue, depth: int, index: SSAValue
    ) -> None:
        """Add one K step of the sub-block at (row, column) to the slots of DST.

        `index` is the index of the K loop in the `step`-th of the steps whose pages are there.
        """
        code = self.code
        transposed = self.loop.transpose_b is not None
        self._find_operands(index)
        with code.loop(depth, "kk") as k:
            left = self._operand(self.loop.a, step, row, k)
            right = self._operand(self.loop.b, step, k, column)
            first = code.constant(0)
            if self.high * self.wide == 1:
                code.add(MatmulTileOp((self.a, left), (self.b, right), first, transpose=transposed))
            else:
                # The last is the distance of rows of A, which in a shard are longer than a step.
                stride = needed_plan(self.loop.a).row_pages or self.depth
                block = (self.wide, self.high, stride)
                code.add(
                    MatmulBlockOp(
                        (self.a, left), (self.b, right), first, block, transpose=transposed
                    )
                )

    def _finish(self, row: SSAValue, column: SSAValue) -> None:
        """The epilogue on every tile of the sub-block, and the packs."""
        code, op = self.code, self.epilogue
        code.location = op.location
        position = list(op.inputs).index(self.loop.acc)
        count = self.high * self.wide
        busy = {*range(count)}
        packed: list[tuple[int, ...]] = []
        for tile in range(count):
            program = dst_program(op, {position: tile}, busy - {tile})
            tile_index = code.plus(row, code.constant(tile // self.wide))
            beside = code.plus(column, code.constant(tile % self.wide))
            code.instructions(program.instructions, op, tile_index, beside)
            busy.discard(tile)
            busy |= {*program.results}
            packed.append(program.results)
        code.hand_over()
        for position, buffer in enumerate(op.outputs):
            slots = [each[position] for each in packed]
            if self._is_chunked(buffer):
                code.pack_tiles(slots, buffer)
            else:
                self._pack_in_place(slots, buffer, row, column)
        code.add(DstReleaseOp())
        code.location = self.loop.location

    def _pack_in_place(
        self, slots: list[int], buffer: SSAValue, row: SSAValue, column: SSAValue
    ) -> None:
        """Pack to the tiles' pages of a buffer that is pushed as a whole."""
        code = self.code
        for position, slot in enumerate(slots):
            down = code.plus(row, code.constant(position // self.wide))
            across = code.plus(column, code.constant(position % self.wide))
            tile_index = code.tile_at(buffer, down, across)
            code.add(PackOp(code.constant(slot), code.cb(buffer), tile_index))

    def _is_chunked(self, buffer: SSAValue) -> bool:
        """Whether an output is pushed sub-block by sub-block."""
        plan = needed_plan(buffer)
        size = (self.high, self.wide)
        is_subblock = plan.subblock == size and plan.chunk == self.high * self.wide
        return is_subblock and not plan.is_in_place

    def _around_outputs(self, call: type[CBReserveOp] | type[CBPushOp]) -> None:
        """Reserve or push the outputs that are pushed as a whole."""
        code = self.code
        for buffer in self.epilogue.outputs:
            if not self._is_chunked(buffer) and not needed_plan(buffer).is_in_place:
                total = code.constant(self.rows * self.columns)
                code.add(call(code.cb(buffer), total))

    # -- spill -----------------------------------------------------------------------------------

    def _spill(self, others: list[SSAValue]) -> None:
        code = self.code
        steps = self.steps
        self._find_panels()
        code.wait(others)
        if steps != 1:
            self._step(code.constant(0), first=True, last=False)
            with code.loop_over(*self._middle(), name="k") as step:
                self._step(step, first=False, last=False)
        self._step(code.constant(max(0, steps - 1)), first=steps == 1, last=True)

    def _middle(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        code = self.code
        return code.constant(1), code.constant(max(1, self.steps - 1)), code.constant(1)

    def _step(self, step: SSAValue, *, first: bool, last: bool) -> None:
        """One K step: every sub-block, with the partial sums of the steps before."""
        code = self.code
        self._wait(1, step)
        partial = code.cb(self.loop.acc)
        count = self.high * self.wide
        with self._subblocks() as (row, column):
            code.acquire()
            if not first:
                code.add(CBWaitOp(partial, code.constant(count)))
                for tile in range(count):
                    code.add(CopyTileOp((partial, code.constant(tile)), code.constant(tile)))
                code.add(CBPopOp(partial, code.constant(count)))
            self._multiply(row, column, step, self.depth, self._index(step))
            if last:
                self._finish(row, column)
            else:
                code.hand_over()
                code.pack_tiles(list(range(count)), self.loop.acc)
                code.add(DstReleaseOp())
        self._pop(1)
