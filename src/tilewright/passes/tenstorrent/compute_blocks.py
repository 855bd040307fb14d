"""The calls of the compute kernel for one op on blocks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, released
from tilewright.dialects.tensix.buffers import CBPopOp, CBPushOp, CBReserveOp, CBWaitOp
from tilewright.dialects.tensix.config import (
    DstAcquireOp,
    DstCommitOp,
    DstReleaseOp,
    DstWaitOp,
    InitOp,
)
from tilewright.dialects.tensix.functions import InitKey
from tilewright.dialects.tensix.json_attr import attribute_of
from tilewright.dialects.tensix.math import (
    BcastOp,
    BinaryOp,
    CopyTileOp,
    MatmulBlockOp,
    MatmulTileOp,
    TransposeTileOp,
)
from tilewright.dialects.tensix.math import ReduceOp as ReduceTileOp
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.sfpu import (
    BinaryDstOp,
    FillOp,
    FillWordOp,
    PackOp,
    TypecastOp,
    UnaryOp,
    UnaryScalarOp,
    WhereOp,
)
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, GemmOp, ReduceOp, TransposeOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.rewrite import inherit_location
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.block_ops import buffer_tiles, reduces_columns
from tilewright.passes.tenstorrent.circular_buffers import (
    CONSTANT,
    BufferPlan,
    needed_plan,
    plan_of,
)
from tilewright.passes.tenstorrent.dst_instructions import (
    ZERO,
    Binary,
    Copy,
    DstProgram,
    Fill,
    Fpu,
    Instruction,
    Scalar,
    Typecast,
    Unary,
    Where,
)
from tilewright.passes.tenstorrent.dst_programs import dst_program
from tilewright.passes.tenstorrent.kernel_code import KernelCode
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tenstorrent.retained_panels import retained_panel
from tilewright.passes.tenstorrent.shard_code import after_blocks, before_blocks
from tilewright.passes.tenstorrent.strategies import subblock

OUTPUT = "tt.output"


class ComputeCode(KernelCode):
    """Appends the calls of compute kernels."""

    def __init__(self, kernel: KernelOp) -> None:
        super().__init__(kernel)
        self.anchor: Operation | None = None
        self.constant_tiles: dict[tuple[str, Attribute], SSAValue] = {}
        self.shard_tiles: dict[SSAValue, SSAValue] = {}
        """Where in its shard the contents of a buffer are."""
        self.allocs = [op for op in walk(kernel) if isinstance(op, AllocOp)]

    # -- where code goes -------------------------------------------------------------------------

    def at(self, op: Operation) -> None:
        """Put what follows before `op`."""
        assert op.parent is not None
        self.anchor, self.block, self.location = op, op.parent, op.location

    def add(self, op: Operation) -> Operation:
        if self.anchor is None or self.block is not self.anchor.parent:
            return super().add(op)
        inherit_location(op, self.location)
        self.block.insert_op_before(op, self.anchor)
        return op

    def begin(self) -> None:
        """Wait for tiles of known contents and for shards, which stay until the end."""
        for op in self.allocs:
            what = op.attributes.get(CONSTANT)
            if isinstance(what, StringAttr):
                self.constant_tiles[what.data, element_type_of(op.result.type)] = op.result
        last = next((op for op in reversed(self.allocs)), None)
        following = None if last is None else last.next_op
        if following is not None:
            self.at(following)
            for buffer in self.constant_tiles.values():
                self.add(CBWaitOp(self.cb(buffer), self.constant(1)))
            before_blocks(self, self.kernel, Role.COMPUTE)

    def finish(self) -> None:
        """Release shards; tiles of known contents are released by ops of their own."""
        self.anchor, self.block = None, self.kernel.body_block
        after_blocks(self, self.kernel, Role.COMPUTE)

    # -- circular buffers ------------------------------------------------------------------------

    def tile_at(
        self, buffer: SSAValue, row: SSAValue, column: SSAValue, first: SSAValue | None = None
    ) -> SSAValue:
        """The page of tile (row, column) of a buffer; `first` is the one of its first tile."""
        plan = needed_plan(buffer)
        _, columns = buffer_tiles(buffer)
        stride = plan.row_pages if plan.is_in_place else columns
        start = self.first_tile(buffer) if first is None else first
        return self.plus(start, self.plus(self.times(row, stride), column))

    def wait(self, buffers: Sequence[SSAValue]) -> None:
        for buffer in dict.fromkeys(buffers):
            plan = needed_plan(buffer)
            if plan.is_in_place:
                continue
            pages = self.plus(self.first_tile(buffer), self.constant(plan.tiles))
            self.add(CBWaitOp(self.cb(buffer), pages))

    def first_tile(self, buffer: SSAValue) -> SSAValue:
        """The first tile of a buffer's contents: not 0 in a shard or in a retained panel."""
        if needed_plan(buffer).is_in_place:
            return self.shard_tiles[buffer]
        panel = retained_panel(buffer)
        if panel is None:
            return self.constant(0)
        return self.times(self.step_of(panel.loops), panel.tiles)

    def step_of(self, depth: int) -> SSAValue:
        """The iteration of the `depth` loops inside the loop over blocks, counted as one loop."""
        step = self.constant(0)
        for loop in self._loops_around()[1 : 1 + depth]:
            lower, upper, stride = (
                constant_integer(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)
            )
            assert lower is not None and upper is not None and stride is not None, loop
            own = self.quotient(self.minus(loop.induction_variable, self.constant(lower)), stride)
            step = self.plus(self.times(step, -(-(upper - lower) // stride)), own)
        return step

    def _loops_around(self) -> list[ForOp]:
        """The loops around the current position, the loop over blocks first."""
        found: list[ForOp] = []
        op = self.anchor
        while op is not None:
            if isinstance(op, ForOp):
                found.insert(0, op)
            op = op.parent_op()
        return found

    def pop(self, op: Operation, popped: SSAValue | None = None) -> None:
        """Release what `op` reads last, but for a buffer that is `popped` already."""
        for buffer in dict.fromkeys(released(op)):
            if buffer is not popped and plan_of(buffer) is not None:
                plan = needed_plan(buffer)
                if plan.is_in_place:
                    continue
                self.add(CBPopOp(self.cb(buffer), self.constant(plan.tiles)))

    def release(self, buffer: SSAValue) -> None:
        plan = plan_of(buffer)
        if plan is not None:
            panel = retained_panel(buffer)
            pages = self.constant(plan.tiles if panel is None else panel.pages)
            self.add(CBWaitOp(self.cb(buffer), pages))
            self.add(CBPopOp(self.cb(buffer), pages))

    def constant_tile(self, what: str, like: SSAValue) -> SSAValue:
        """The circular buffer of a tile of zeros, or of the scaler of reductions."""
        return self.cb(self.constant_tiles[what, element_type_of(like.type)])

    # -- sections of DST -------------------------------------------------------------------------

    def acquire(self) -> None:
        self.add(DstAcquireOp())

    def hand_over(self) -> None:
        """From math to the packer."""
        self.add(DstCommitOp())
        self.add(DstWaitOp())

    def pack_tiles(self, slots: Sequence[int], buffer: SSAValue) -> None:
        """One push of tiles in order."""
        cb, count = self.cb(buffer), self.constant(len(slots))
        self.add(CBReserveOp(cb, count))
        for slot in slots:
            self.add(PackOp(self.constant(slot), cb))
        self.add(CBPushOp(cb, count))

    # -- element-wise ----------------------------------------------------------------------------

    def elementwise(self, op: ElementwiseOp) -> None:
        rows, columns = op.block_tiles
        program = dst_program(op)
        self.check_slots(op, program)
        self.wait(op.inputs)
        placed = [each for each in op.outputs if needed_plan(each).is_in_place]
        reserved = [
            each for each in op.outputs if each not in placed and _is_reserved(needed_plan(each))
        ]
        for buffer in reserved:
            self.add(CBReserveOp(self.cb(buffer), self.constant(rows * columns)))
        with self.loop(rows, "r") as row, self.loop(columns, "c") as column:
            self.acquire()
            self.instructions(program.instructions, op, row, column)
            self.hand_over()
            for slot, buffer in zip(program.results, op.outputs, strict=True):
                if buffer in reserved or buffer in placed:
                    tile = self.tile_at(buffer, row, column)
                    self.add(PackOp(self.constant(slot), self.cb(buffer), tile))
                else:
                    self.pack_tiles([slot], buffer)
            self.add(DstReleaseOp())
        for buffer in reserved:
            self.add(CBPushOp(self.cb(buffer), self.constant(rows * columns)))
        self.pop(op)

    def check_slots(self, op: ElementwiseOp, program: DstProgram) -> None:
        limit = self.kernel.dst_tiles
        if program.slots > limit:
            raise NotSupported(
                op,
                f"the expression needs {program.slots} tiles of DST at once, and a section has "
                f"{limit}: store an intermediate result in a buffer",
            )

    def instructions(
        self,
        program: Sequence[Instruction],
        op: ElementwiseOp,
        row: SSAValue,
        column: SSAValue,
    ) -> None:
        """The math for the tile at (row, column) of the block."""
        tiles = [self._tile(op, position, row, column) for position in range(len(op.inputs))]
        for each in program:
            self.add(self._instruction(each, op, tiles))

    def _tile(
        self, op: ElementwiseOp, position: int, row: SSAValue, column: SSAValue
    ) -> tuple[SSAValue, SSAValue] | None:
        """The circular buffer of an input and the index of its tile."""
        buffer = op.inputs[position]
        if plan_of(buffer) is None:
            return None  # in DST already
        kind = op.kinds[position]
        zero = self.constant(0)
        down = row if kind in ("tile", "col") else zero
        across = column if kind in ("tile", "row") else zero
        return self.cb(buffer), self.tile_at(buffer, down, across)

    def _instruction(
        self,
        each: Instruction,
        op: ElementwiseOp,
        tiles: Sequence[tuple[SSAValue, SSAValue] | None],
    ) -> Operation:
        slot = self.constant(each.slot)
        if isinstance(each, Copy):
            tile = tiles[each.input]
            assert tile is not None
            return CopyTileOp(tile, slot)
        if isinstance(each, Fpu):
            right = tiles[each.right]
            assert right is not None
            if each.left == ZERO:
                zero = self.constant_tile("zero", op.inputs[each.right])
                return BcastOp("add", each.dim or "scalar", (zero, self.constant(0)), right, slot)
            left = tiles[each.left]
            assert left is not None
            if each.dim is None:
                return BinaryOp(each.function, left, right, slot)
            return BcastOp(each.function, each.dim, left, right, slot)
        if isinstance(each, Unary):
            return UnaryOp(each.function, slot)
        if isinstance(each, Scalar):
            bits = each.bits if isinstance(each.bits, SSAValue) else self.constant(each.bits)
            return UnaryScalarOp(each.function, slot, bits)
        if isinstance(each, Fill):
            if isinstance(each.bits, SSAValue):
                return FillWordOp(slot, each.bits, each.format)
            if each.format != "f32":
                return FillWordOp(slot, self.constant(each.bits), each.format)
            return FillOp(slot, each.bits)
        if isinstance(each, Typecast):
            return TypecastOp(slot, each.source, each.target)
        if isinstance(each, Where):
            slots = [self.constant(n) for n in (each.condition, each.left, each.right)]
            return WhereOp(slots[0], slots[1], slots[2], slot, each.format)
        assert isinstance(each, Binary)
        return BinaryDstOp(each.function, self.constant(each.left), self.constant(each.right), slot)

    # -- GEMM into a buffer ----------------------------------------------------------------------

    def gemm(self, op: GemmOp) -> None:
        """``C (+)= A B`` in sub-blocks of DST; the old contents of C are copied there first."""
        rows, columns = buffer_tiles(op.c)
        a_rows, a_columns = buffer_tiles(op.a)
        depth = a_rows if op.transpose_a is not None else a_columns
        transposed = op.transpose_b is not None
        a_plan, b_plan = needed_plan(op.a), needed_plan(op.b)
        # A step over K takes tiles of B that are adjacent in L1: a row of them.
        is_column = depth == 1 and not b_plan.is_in_place
        has_rows = not transposed or b_plan.transposed or is_column
        high, wide = subblock(rows, columns if has_rows else 1, self.kernel.dst_tiles)
        clears = op.clear is not None
        self.wait([op.a, op.b] if clears else [op.a, op.b, op.c])
        a_first, b_first = self.first_tile(op.a), self.first_tile(op.b)
        count = self.constant(rows * columns)
        cb = self.cb(op.c)
        self.add(CBReserveOp(cb, count))
        with self.loop(rows // high, "sr") as down, self.loop(columns // wide, "sc") as across:
            row, column = self.times(down, high), self.times(across, wide)
            corner = self.plus(self.times(row, columns), column)
            tiles = [
                self.plus(corner, self.constant(r * columns + c))
                for r in range(high)
                for c in range(wide)
            ]
            self.acquire()
            if not clears:
                for slot, tile in enumerate(tiles):
                    self.add(CopyTileOp((cb, tile), self.constant(slot)))
            with self.loop(depth, "k") as k:
                left = self.tile_at(op.a, row, k, a_first)
                if b_plan.transposed:
                    right = self.plus(b_first, self.plus(self.times(k, columns), column))
                else:
                    at = (column, k) if transposed else (k, column)
                    right = self.tile_at(op.b, *at, b_first)
                stride = a_plan.row_pages if a_plan.is_in_place else depth
                block = (wide, high, stride)
                operands = (self.cb(op.a), left), (self.cb(op.b), right)
                self.add(self._matmul(*operands, block, transpose=transposed))
            self.hand_over()
            for slot, tile in enumerate(tiles):
                self.add(PackOp(self.constant(slot), cb, tile))
            self.add(DstReleaseOp())
        self.add(CBPushOp(cb, count))
        self.pop(op)

    def _matmul(
        self,
        left: tuple[SSAValue, SSAValue],
        right: tuple[SSAValue, SSAValue],
        block: tuple[int, int, int],
        *,
        transpose: bool,
    ) -> Operation:
        """One step over K of a sub-block, from the first slot on."""
        wide, high, _ = block
        first = self.constant(0)
        if high * wide == 1:
            return MatmulTileOp(left, right, first, transpose=transpose)
        return MatmulBlockOp(left, right, first, block, transpose=transpose)

    # -- reductions, transposition ---------------------------------------------------------------

    def reduction(self, op: ReduceOp) -> None:
        kind = op.kind.data
        if kind not in ("sum", "max"):
            raise NotSupported(
                op, f"reduction '{kind}' has no tile intrinsic: use T.reduce_sum or T.reduce_max"
            )
        rows, columns = buffer_tiles(op.src)
        across = reduces_columns(op.src, op.dst)
        dim = "row" if across else "col"
        scaler = self.constant_tile("scaler", op.src)
        results, steps = (rows, columns) if across else (columns, rows)
        cb, count = self.cb(op.dst), self.constant(results)
        first = self.first_tile(op.src)
        self.wait([op.src] if op.clear else [op.src, op.dst])
        self.add(CBReserveOp(cb, count))
        with self.loop(results, "r") as result:
            self.acquire()
            with self.loop(steps, "s") as step:
                at = (result, step) if across else (step, result)
                tile = self.tile_at(op.src, *at, first)
                reduce = ReduceTileOp(
                    kind,
                    dim,
                    (self.cb(op.src), tile),
                    (scaler, self.constant(0)),
                    self.constant(0),
                )
                reduce.attributes[OUTPUT] = attribute_of(needed_plan(op.dst).index)
                self.add(reduce)
            if not op.clear:
                self.add(CopyTileOp((cb, result), self.constant(1)))
                function = "add" if kind == "sum" else "max"
                slots = self.constant(0), self.constant(1)
                self.add(BinaryDstOp(function, slots[0], slots[1], slots[0]))
            self.hand_over()
            self.add(PackOp(self.constant(0), cb, result))
            self.add(DstReleaseOp())
        self.add(InitOp(InitKey("reduce_end"), [self.cb(op.src)]))
        self.add(CBPushOp(cb, count))
        self.pop(op)

    def transposition(self, op: TransposeOp) -> None:
        rows, columns = buffer_tiles(op.dst)
        cb, count = self.cb(op.dst), self.constant(rows * columns)
        first = self.first_tile(op.src)
        self.wait([op.src])
        self.add(CBReserveOp(cb, count))
        with self.loop(rows, "r") as row, self.loop(columns, "c") as column:
            self.acquire()
            source = self.tile_at(op.src, column, row, first)
            self.add(TransposeTileOp((self.cb(op.src), source), self.constant(0)))
            self.hand_over()
            tile = self.plus(self.times(row, columns), column)
            self.add(PackOp(self.constant(0), cb, tile))
            self.add(DstReleaseOp())
        self.add(CBPushOp(cb, count))
        self.pop(op)


def _is_reserved(plan: BufferPlan) -> bool:
    """Whether a buffer is pushed as a whole: its reader is compute, which indexes its tiles."""
    return plan.chunk == plan.tiles
