"""Comparisons of positions as tiles of ones and zeros.

    k * 32 + j < 100      a tile with 1 in the columns below 100 - 32 k, 0 elsewhere
    q + i >= k + j        1 where the column is below the row plus q - k + 1

The difference of the two sides is affine in the row i and the column j of the element, with
coefficients -1, 0 and 1; the rest is an integer that the reader computes. The reader writes
the tile, and compute selects by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IndexType, UnitAttr, f32, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.arith import (
    AndiOp,
    CmpfOp,
    CmpiOp,
    ConstantOp,
    MaxsiOp,
    MaxuiOp,
    MinsiOp,
    MinuiOp,
    OriOp,
    SelectOp,
    XoriOp,
)
from tilewright.dialects.tensix.blocks import ConstantTileOp, ElementwiseOp, TileYieldOp
from tilewright.dialects.tile import AllocOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Mixed, integers_attr
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tenstorrent.dst_instructions import bits_of
from tilewright.passes.tenstorrent.dst_programs import MASK
from tilewright.passes.tenstorrent.positions import EXTENTS, Affine, Positions
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tile.clone_ops import copy_op

_EVERYWHERE = 1 << 20
"""A limit that no buffer reaches."""
_PREDICATES = ("lt", "le", "gt", "ge")
_EQUALITIES: Mapping[str, tuple[str, str, type[AndiOp | OriOp]]] = {
    "eq": ("sle", "sge", AndiOp),
    "ne": ("slt", "sgt", OriOp),
}
"""Two comparisons and what joins them."""


@dataclass(frozen=True)
class _Pattern:
    """A tile pattern, and whether it is 0 where the comparison holds."""

    name: str
    limit: Mixed
    is_negated: bool = False


def insert_masks(op: ElementwiseOp) -> ElementwiseOp:
    """Replace the comparisons of positions in an element-wise op by inputs."""
    for each in list(op.body.block.ops):
        is_equality = isinstance(each, CmpiOp) and each.predicate_name in _EQUALITIES
        if isinstance(each, CmpiOp) and is_equality and not _is_of_data(each, op):
            _expand_equality(each)
    while any(_expand_bound(each) for each in list(op.body.block.ops)):
        pass
    comparisons = [
        each for each in op.body.block.ops if isinstance(each, CmpiOp) and not _is_of_data(each, op)
    ]
    if not comparisons:
        return op
    return _Masking(op).run(comparisons)


def _expand_equality(op: CmpiOp) -> None:
    """``a == b`` as ``a <= b and a >= b``, ``a != b`` as ``a < b or a > b``."""
    below, above, join = _EQUALITIES[op.predicate_name]
    one, other = CmpiOp(below, *op.operands), CmpiOp(above, *op.operands)
    Rewriter().replace_op(op, [one, other, join(one, other)])


def _is_of_data(op: Operation, loop: ElementwiseOp) -> bool:
    """Whether a comparison depends on elements of inputs."""
    pending: list[SSAValue] = list(op.operands)
    while pending:
        value = pending.pop()
        if value in loop.elements:
            return True
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is op.parent:
            pending += owner.operands
    return False


def _expand_bound(op: Operation) -> bool:
    """``x < min(a, b)`` as ``x < a and x < b``, ``x < max(a, b)`` as ``x < a or x < b``, ..."""
    if not isinstance(op, CmpiOp) or op.predicate_name[1:] not in _PREDICATES:
        return False
    for position in (0, 1):
        bound = op.operands[position].owner
        if not isinstance(bound, (MinsiOp, MinuiOp, MaxsiOp, MaxuiOp)):
            continue
        if bound.parent is not op.parent:
            continue  # the same for all elements
        is_minimum = isinstance(bound, (MinsiOp, MinuiOp))
        is_upper = (op.predicate_name[1:] in ("lt", "le")) == (position == 1)
        made: list[CmpiOp] = []
        for value in bound.operands:
            sides = [value, op.operands[1]] if position == 0 else [op.operands[0], value]
            made.append(CmpiOp(op.predicate_name, *sides))
        join = AndiOp if is_minimum == is_upper else OriOp
        Rewriter().replace_op(op, [*made, join(*made)])
        return True
    return False


class _Masking(Positions):
    def run(self, comparisons: Sequence[CmpiOp]) -> ElementwiseOp:
        op = self.op
        patterns = [self._pattern(each) for each in comparisons]
        element = next(
            (
                element_type_of(each.type)
                for each in (*op.outputs, *op.inputs)
                if isinstance(element_type_of(each.type), AnyFloat)
            ),
            None,
        )
        if element is None:
            element = f32
        masks = [self._mask(each, element) for each in patterns]
        made = ElementwiseOp(
            op.block_tiles,
            [*op.inputs, *masks],
            [*op.kinds, *("tile" for _ in masks)],
            list(op.outputs),
            attributes=op.attributes,
        )
        values: dict[SSAValue, SSAValue] = dict(
            zip(op.body.block.args, made.body.block.args, strict=False)
        )
        block = made.body.block
        elements = made.elements[len(op.inputs) :]
        for comparison, pattern, mask in zip(comparisons, patterns, elements, strict=True):
            values[comparison.results[0]] = _truth(block, mask, element, pattern.is_negated)
        for each in op.body.block.ops:
            if not (each in comparisons or isinstance(each, TileYieldOp) or _is_index(each)):
                block.add_op(copy_op(each, values))
        block.add_op(TileYieldOp([values.get(each, each) for each in op.results_of_body]))
        self.rewriter.replace_op(op, made, ())
        return made

    def _mask(self, pattern: _Pattern, element: Attribute) -> SSAValue:
        """A buffer with the pattern, written before the op."""
        rows, columns = self.op.block_tiles
        alloc = AllocOp(buffer_type(element, (32 * rows, 32 * columns), Space.SHARED), name="mask")
        alloc.attributes[EXTENTS] = integers_attr((32 * rows, 32 * columns))
        fill = ConstantTileOp(alloc.result, pattern.name, bits_of(1.0), self.value(pattern.limit))
        self.rewriter.insert_before(self.op, [alloc, fill])
        return alloc.result

    # -- comparisons -----------------------------------------------------------------------------

    def _pattern(self, op: CmpiOp) -> _Pattern:
        predicate = op.predicate_name.removeprefix("s").removeprefix("u")
        if predicate not in _PREDICATES:
            raise NotSupported(
                op, f"comparison '{op.predicate_name}' of positions: use <, <=, > or >="
            )
        left, right = (self.affine(each, op) for each in op.operands)
        sign = 1 if predicate in ("lt", "le") else -1
        row, column = sign * (left.row - right.row), sign * (left.column - right.column)
        return self._of_form(op, row, column, self._base(predicate, left, right))

    def _base(self, predicate: str, left: Affine, right: Affine) -> Mixed:
        """The integer b in ``row * i + column * j + b < 0``."""
        if predicate in ("lt", "le"):
            base = self.minus(left.base, right.base)
        else:
            base = self.minus(right.base, left.base)
        return self.plus(base, -1) if predicate in ("le", "ge") else base

    def _of_form(self, op: CmpiOp, row: int, column: int, base: Mixed) -> _Pattern:
        """The pattern of ``row * i + column * j + base < 0``."""
        if (row, column) == (0, 0):
            test = CmpiOp("slt", self.value(base), self.value(0))
            limits = self.value(_EVERYWHERE), self.value(0)
            chosen = SelectOp(test, *limits)
            self.rewriter.insert_before(self.op, [test, chosen])
            return _Pattern("rows_below", chosen.results[0])
        below, above = self.minus(0, base), self.plus(base, 1)
        forms = {
            (0, 1): _Pattern("columns_below", below),
            (0, -1): _Pattern("columns_below", above, is_negated=True),
            (1, 0): _Pattern("rows_below", below),
            (-1, 0): _Pattern("rows_below", above, is_negated=True),
            (-1, 1): _Pattern("triangle_below", below),
            (1, -1): _Pattern("triangle_below", above, is_negated=True),
        }
        if (row, column) not in forms:
            raise NotSupported(
                op,
                "a comparison of positions has coefficients other than -1, 0 and 1: compare the "
                "row or the column of an element, or their difference",
            )
        return forms[row, column]


def _truth(block: Block, mask: SSAValue, element: Attribute, is_negated: bool) -> SSAValue:
    """The condition that a mask stands for."""
    zero = ConstantOp.of(0.0, element)
    test = CmpfOp("une", mask, zero)
    test.attributes[MASK] = UnitAttr()
    block.add_ops([zero, test])
    if not is_negated:
        return test.results[0]
    true = ConstantOp.of(1, i1)
    inverse = XoriOp(test, true)
    block.add_ops([true, inverse])
    return inverse.results[0]


def _is_index(op: Operation) -> bool:
    """Whether an op computes a position, which only comparisons use."""
    return any(isinstance(each.type, IndexType) for each in op.results)
