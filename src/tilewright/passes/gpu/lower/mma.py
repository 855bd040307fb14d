"""A product by single warps: fragments from shared memory, then ``mma.sync`` on registers."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.fit import digits, expression
from tilewright.analysis.layout_inference.products import Product
from tilewright.analysis.layout_inference.scopes import WARP
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import LdMatrixOp, MmaOp
from tilewright.dialects.tile import AllocOp, GemmOp, Space, SpaceAttr, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.expressions import Coordinate, LayoutExpr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.matrix_moves import MatrixMove, load_a, load_b
from tilewright.passes.gpu.lower.expressions import combined, written
from tilewright.passes.gpu.lower.parallel import counted, opened
from tilewright.passes.gpu.lower.places import Places, SharedPart
from tilewright.passes.tile.code import Code

_ROWS, _COLUMNS = 16, 8


def lower_mma(op: GemmOp, product: Product, places: Places) -> None:
    """Replace a product by what each warp does of it."""
    code = Code(op)
    writer = _Writer(op, product, places, code)
    writer.clear()
    body, step = counted(code, writer.steps, names.UNROLL)
    writer.write(body, step)
    code.rewriter.erase(op)


class _Writer:
    """One product."""

    def __init__(self, op: GemmOp, product: Product, places: Places, code: Code) -> None:
        self.op = op
        self.places = places
        m, n, k = op.mnk
        down, across = product.warps
        self.depth = product.shape[2]
        self.rows, self.columns = m // down, n // across
        self.row_tiles, self.column_tiles = self.rows // _ROWS, self.columns // _COLUMNS
        self.steps = k // self.depth
        self.bits = bit_width(element_type_of(op.a.type))
        tid = places.thread_at(code, op)
        self.lane = combined(code, "mod", tid, WARP)
        warp = combined(code, "floordiv", tid, WARP)
        self.warp_row = combined(code, "floordiv", warp, across)
        self.warp_column = combined(code, "mod", warp, across)
        self.c = places.registers[base_of(op.c)].buffer
        self.a_size = _ROWS * self.depth // WARP
        self.b_size = _COLUMNS * self.depth // WARP
        self.code = code

    def clear(self) -> None:
        """Forget the sums, where the product replaces them."""
        code = self.code
        if self.op.clear_if is not None:
            code = opened(code, self.op.clear_if)
        elif self.op.clear is None:
            return
        element = element_type_of(self.c.type)
        zero = code.add(ConstantOp.of(0, element)).results[0]
        count = self.row_tiles * self.column_tiles * _ROWS * _COLUMNS // WARP
        body, register = counted(code, count, names.UNROLL)
        body.add(StoreOp(zero, self.c, [register]))

    def write(self, code: Code, step: SSAValue) -> None:
        a, a_start = self._a(code, step)
        b, b_start = self._b(code, step)
        inner, row = counted(code, self.row_tiles, names.UNROLL)
        inner, column = counted(inner, self.column_tiles, names.UNROLL)
        tile = combined(inner, "+", combined(inner, "*", row, self.column_tiles), column)
        a_index = combined(inner, "+", a_start(inner, row), 0)
        b_index = b_start(inner, column)
        c_index = combined(inner, "*", tile, _ROWS * _COLUMNS // WARP)
        inner.add(
            MmaOp(
                (a, inner.index(a_index)),
                (b, inner.index(b_index)),
                (self.c, inner.index(c_index)),
                (_ROWS, _COLUMNS, self.depth),
            )
        )

    # -- operands ----------------------------------------------------------------------------

    def _a(self, code: Code, step: SSAValue):
        if space_of(self.op.a.type) is Space.FRAGMENT:
            buffer = self.places.registers[base_of(self.op.a)].buffer
            per_row = self.steps

            def at(inner: Code, row: SSAValue) -> Mixed:
                tile = combined(inner, "+", combined(inner, "*", row, per_row), step)
                return combined(inner, "*", tile, self.a_size)

            return buffer, at
        buffer = self._registers(code, "a", self.row_tiles * self.a_size)
        part = self.places.shared_part(code, self.op.a)
        transposed = self.op.transpose_a is not None
        first = combined(code, "*", self.warp_row, self.rows)
        inner, tile = counted(code, self.row_tiles, names.UNROLL)
        along = combined(inner, "+", first, combined(inner, "*", tile, _ROWS))
        k = combined(inner, "*", step, self.depth)
        target = combined(inner, "*", tile, self.a_size)
        if self._moves_matrices(transposed, self.a_size):
            self._load_matrices(
                inner, part, load_a(transposed), (along, k), transposed, buffer, target
            )
        else:
            self._load_each(inner, part, (along, k), transposed, buffer, target, is_a=True)

        def start(inner: Code, row: SSAValue) -> Mixed:
            return combined(inner, "*", row, self.a_size)

        return buffer, start

    def _b(self, code: Code, step: SSAValue):
        if space_of(self.op.b.type) is Space.FRAGMENT:
            buffer = self.places.registers[base_of(self.op.b)].buffer
            steps = self.steps

            def at(inner: Code, column: SSAValue) -> Mixed:
                tile = combined(inner, "+", combined(inner, "*", column, steps), step)
                return combined(inner, "*", tile, self.b_size)

            return buffer, at
        buffer = self._registers(code, "b", self.column_tiles * self.b_size)
        part = self.places.shared_part(code, self.op.b)
        transposed = self.op.transpose_b is None  # columns of B are not contiguous along K
        wide = 16 if self.column_tiles % 2 == 0 else 8
        first = combined(code, "*", self.warp_column, self.columns)
        moves = self._moves_matrices(transposed, self.b_size)
        tile_columns = wide if moves else _COLUMNS
        inner, tile = counted(code, self.columns // tile_columns, names.UNROLL)
        along = combined(inner, "+", first, combined(inner, "*", tile, tile_columns))
        k = combined(inner, "*", step, self.depth)
        target = combined(inner, "*", tile, self.b_size * tile_columns // _COLUMNS)
        if moves:
            self._load_matrices(
                inner, part, load_b(wide, transposed), (along, k), transposed, buffer, target
            )
        else:
            self._load_each(inner, part, (along, k), transposed, buffer, target, is_a=False)

        def start(inner: Code, column: SSAValue) -> Mixed:
            return combined(inner, "*", column, self.b_size)

        return buffer, start

    def _moves_matrices(self, transposed: bool, size: int) -> bool:
        """Whether `ldmatrix` loads the fragment: 32 bytes of K, and 16-bit elements to turn."""
        return self.depth * self.bits == 256 and (not transposed or self.bits == 16) and size > 0

    def _registers(self, code: Code, name: str, size: int) -> SSAValue:
        element = element_type_of((self.op.a if name == "a" else self.op.b).type)
        type = MemRefType(element, (size,), NoneAttr(), SpaceAttr(Space.LOCAL))
        return code.add(AllocOp(type, name=f"{name}_frag")).results[0]

    def _load_matrices(
        self,
        code: Code,
        part: SharedPart,
        move: MatrixMove,
        origin: tuple[Mixed, Mixed],
        transposed: bool,
        buffer: SSAValue,
        target: Mixed,
    ) -> None:
        """Matrices by ``ldmatrix``: each lane names the row it is asked for."""
        unit = 128 // self.bits
        lanes = [move.address(lane) for lane in range(WARP)]
        row_offset = written(code, _of_lane([row for row, _ in lanes]), (self.lane,))
        column_offset = written(code, _of_lane([u * unit for _, u in lanes]), (self.lane,))
        along, k = origin
        first, second = (k, along) if transposed else (along, k)
        row = combined(code, "+", first, row_offset)
        column = combined(code, "+", second, column_offset)
        place = part.place(code, (row, column))
        code.add(
            LdMatrixOp(
                part.buffer,
                code.index(place),
                buffer,
                code.index(target),
                move.count,
                transposed=move.trans,
            )
        )

    def _load_each(
        self,
        code: Code,
        part: SharedPart,
        origin: tuple[Mixed, Mixed],
        transposed: bool,
        buffer: SSAValue,
        target: Mixed,
        *,
        is_a: bool,
    ) -> None:
        """Element by element, where no instruction loads the fragment."""
        width = max(1, 32 // self.bits)
        size = self.a_size if is_a else self.b_size
        inner, register = counted(code, size, names.UNROLL)
        lane, r = Coordinate(0), Coordinate(1)
        if is_a:
            along_text = lane // 4 + r // width % 2 * 8
            k_text = lane % 4 * width + r % width + r // (2 * width) * (4 * width)
        else:
            along_text = lane // 4
            k_text = lane % 4 * width + r % width + r // width * (4 * width)
        coordinates = (self.lane, register)
        along = combined(inner, "+", origin[0], written(inner, along_text, coordinates))
        k = combined(inner, "+", origin[1], written(inner, k_text, coordinates))
        indices = (k, along) if transposed else (along, k)
        place = part.place(inner, indices)
        loaded = inner.add(LoadOp(part.buffer, [inner.index(place)])).results[0]
        index = combined(inner, "+", target, register)
        inner.add(StoreOp(loaded, buffer, [inner.index(index)]))


def _of_lane(values: list[int]) -> LayoutExpr:
    table = np.array(values, dtype=np.int64)
    found = digits(table)
    assert found is not None, "rows of matrices follow the digits of the lane"
    return expression(found, Coordinate(0), len(values)) + int(table[0])
