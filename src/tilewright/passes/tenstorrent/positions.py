"""Positions of elements in integer arithmetic.

    T.cast(bx * 32 + j, "float32")     a tile of integers, 32 bx + column, converted to floats

A position is affine in the row i and the column j of an element, with integer coefficients; the
rest is an integer that the reader computes. Where arithmetic uses a position, the reader writes a
tile with the row or the column of each element plus that integer.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp, ConstantOp, IndexCastOp, MuliOp, SelectOp, SubiOp
from tilewright.dialects.tensix.blocks import ConstantTileOp, ElementwiseOp, TileYieldOp
from tilewright.dialects.tile import AllocOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Mixed, integers_attr
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tile.clone_ops import copy_op

EXTENTS = "tt.extents"


@dataclass(frozen=True)
class Affine:
    """``row * i + column * j + base``."""

    row: int
    column: int
    base: Mixed

    @property
    def is_uniform(self) -> bool:
        return self.row == self.column == 0


class Positions:
    """Positions in the body of an element-wise op, as integers that are computed before it."""

    def __init__(self, op: ElementwiseOp) -> None:
        self.op = op
        self.rewriter = Rewriter()

    def affine(self, value: SSAValue, at: Operation) -> Affine:
        row, column = self.op.indices
        if value is row:
            return Affine(1, 0, 0)
        if value is column:
            return Affine(0, 1, 0)
        constant = constant_integer(value)
        if constant is not None:
            return Affine(0, 0, constant)
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.op.body.block:
            return Affine(0, 0, value)
        parts = [self.affine(each, at) for each in owner.operands]
        if isinstance(owner, (AddiOp, SubiOp)):
            sign = 1 if isinstance(owner, AddiOp) else -1
            one, other = parts
            join = self.plus if sign > 0 else self.minus
            return Affine(
                one.row + sign * other.row,
                one.column + sign * other.column,
                join(one.base, other.base),
            )
        if isinstance(owner, MuliOp):
            for one, other in (parts, parts[::-1]):
                if one.is_uniform and isinstance(one.base, int):
                    factor = one.base
                    base = self.times(other.base, factor)
                    return Affine(factor * other.row, factor * other.column, base)
        if all(each.is_uniform for each in parts) and is_removable(owner):
            bases = [self.value(each.base) for each in parts]
            made = copy_op(owner, dict(zip(owner.operands, bases, strict=True)))
            self.rewriter.insert_before(self.op, made)
            return Affine(0, 0, made.results[0])
        raise NotSupported(
            at, f"'{owner.name}' of a position has no tile intrinsic: compare positions directly"
        )

    # -- integers outside the op -------------------------------------------------------------------

    def value(self, value: Mixed) -> SSAValue:
        if isinstance(value, SSAValue):
            return value
        made = ConstantOp.of(value, IndexType())
        self.rewriter.insert_before(self.op, made)
        return made.results[0]

    def plus(self, left: Mixed, right: Mixed) -> Mixed:
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 or right == 0:
            return right if left == 0 else left
        made = AddiOp(self.value(left), self.value(right))
        self.rewriter.insert_before(self.op, made)
        return made.results[0]

    def times(self, value: Mixed, factor: int) -> Mixed:
        if isinstance(value, int):
            return factor * value
        made = MuliOp(value, self.value(factor))
        self.rewriter.insert_before(self.op, made)
        return made.results[0]

    def minus(self, left: Mixed, right: Mixed) -> Mixed:
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        if right == 0:
            return left
        made = SubiOp(self.value(left), self.value(right))
        self.rewriter.insert_before(self.op, made)
        return made.results[0]


def insert_positions(op: ElementwiseOp) -> ElementwiseOp:
    """Replace the positions that arithmetic uses by inputs."""
    while any(_convert_before_select(each, op) for each in list(op.body.block.ops)):
        pass
    casts = [
        each
        for each in op.body.block.ops
        if isinstance(each, IndexCastOp) and _is_position(each.operands[0], op)
    ]
    used = [each for each in casts if each.results[0].uses]
    return _Insertion(op).run(used) if used else op


def _convert_before_select(op: Operation, loop: ElementwiseOp) -> bool:
    """Select between integers of 32 bits instead of positions."""
    if not isinstance(op, IndexCastOp) or not _is_position(op.operands[0], loop):
        return False
    choice = op.operands[0].owner
    if not isinstance(choice, SelectOp):
        return False
    condition, yes, no = choice.operands
    type = op.results[0].type
    one, other = IndexCastOp(yes, type), IndexCastOp(no, type)
    made = [one, other, SelectOp(condition, one.results[0], other.results[0])]
    Rewriter().replace_op(op, made)
    return True


def _is_position(value: SSAValue, op: ElementwiseOp) -> bool:
    owner = value.owner
    if value in op.indices:
        return True
    if not isinstance(owner, Operation) or owner.parent is not op.body.block:
        return False
    return any(_is_position(each, op) for each in owner.operands)


@dataclass(frozen=True)
class _Position:
    """A position as a sum of tiles, each with a factor, and an integer."""

    factors: tuple[int, ...]
    tiles: tuple[SSAValue, ...]
    rest: Mixed


class _Insertion(Positions):
    def run(self, casts: list[IndexCastOp]) -> ElementwiseOp:
        op = self.op
        positions = [self._position(each) for each in casts]
        tiles = [tile for each in positions for tile in each.tiles]
        made = ElementwiseOp(
            op.block_tiles,
            [*op.inputs, *tiles],
            [*op.kinds, *("tile" for _ in tiles)],
            list(op.outputs),
            attributes=op.attributes,
        )
        values: dict[SSAValue, SSAValue] = dict(
            zip(op.body.block.args, made.body.block.args, strict=False)
        )
        elements = iter(made.elements[len(op.inputs) :])
        for cast, each in zip(casts, positions, strict=True):
            values[cast.results[0]] = self._sum(made, each, [next(elements) for _ in each.tiles])
        for each in op.body.block.ops:
            if each not in casts and not isinstance(each, TileYieldOp):
                made.body.block.add_op(copy_op(each, values))
        results = [values.get(each, each) for each in op.results_of_body]
        made.body.block.add_op(TileYieldOp(results))
        self.rewriter.replace_op(op, made, ())
        return made

    def _position(self, op: IndexCastOp) -> _Position:
        if op.results[0].type != i32:
            raise NotSupported(op, "the position of an element has 32 bits: use int32")
        form = self.affine(op.operands[0], op)
        factors: list[int] = []
        tiles: list[SSAValue] = []
        rest = form.base
        for factor, pattern in ((form.row, "row_index"), (form.column, "column_index")):
            if factor:
                # A tile with the factor 1 takes the integer.
                tiles.append(self._tile(pattern, rest if factor == 1 else 0))
                factors.append(factor)
                rest = 0 if factor == 1 else rest
        return _Position(tuple(factors), tuple(tiles), rest)

    def _tile(self, pattern: str, base: Mixed) -> SSAValue:
        rows, columns = self.op.block_tiles
        shape = (32 * rows, 32 * columns)
        alloc = AllocOp(buffer_type(i32, shape, Space.SHARED), name="position")
        alloc.attributes[EXTENTS] = integers_attr(shape)
        fill = ConstantTileOp(alloc.result, pattern, 0, self.value(base))
        self.rewriter.insert_before(self.op, [alloc, fill])
        return alloc.result

    def _sum(self, made: ElementwiseOp, position: _Position, elements: list[SSAValue]) -> SSAValue:
        """The position, in the body of the new op."""
        block = made.body.block
        terms: list[SSAValue] = []
        for factor, element in zip(position.factors, elements, strict=True):
            if factor != 1:
                scale = ConstantOp.of(factor, i32)
                scaled = MuliOp(element, scale.results[0])
                block.add_ops([scale, scaled])
                element = scaled.results[0]
            terms.append(element)
        if isinstance(position.rest, int):
            if position.rest or not terms:
                constant = ConstantOp.of(position.rest, i32)
                block.add_op(constant)
                terms.append(constant.results[0])
        else:
            cast = IndexCastOp(position.rest, i32)
            self.rewriter.insert_before(self.op, cast)
            terms.append(cast.results[0])
        total = terms[0]
        for term in terms[1:]:
            added = AddiOp(total, term)
            block.add_op(added)
            total = added.results[0]
        return total
