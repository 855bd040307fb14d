"""Folds of ops that rearrange elements."""

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, f32, i32

from tests.dialects.fold_support import (
    constant,
    fold_values,
    folded_attribute,
    folded_number,
    folded_operand,
    tensor,
    unknown,
)
from tilewright.dialects import tt
from tilewright.ir.text.literals import SplatElementsAttr


def test_splat_of_a_constant():
    op = tt.SplatOp(constant(2.5, f32), tensor(f32, 64, 32))
    assert folded_attribute(op) == SplatElementsAttr.get(2.5, tensor(f32, 64, 32))
    assert fold_values(tt.SplatOp(unknown(f32), tensor(f32, 64))) is None


def test_unsplat():
    x = unknown(f32)
    assert folded_operand(tt.UnsplatOp(tt.SplatOp(x, tensor(f32, 1)).result)) is x
    assert folded_number(tt.UnsplatOp(constant(3.0, tensor(f32, 1)))) == 3.0


def test_views_of_a_splat_constant():
    row = constant(7, tensor(i32, 32))
    assert folded_attribute(tt.ExpandDimsOp(row, 1)) == SplatElementsAttr.get(7, tensor(i32, 32, 1))
    column = constant(7, tensor(i32, 32, 1))
    wide = tensor(i32, 32, 64)
    assert folded_attribute(tt.BroadcastOp(column, wide)) == SplatElementsAttr.get(7, wide)
    assert folded_attribute(tt.TransOp(column, [1, 0])) == SplatElementsAttr.get(
        7, tensor(i32, 1, 32)
    )


def test_elements_keep_their_order():
    line = constant([1, 2, 3, 4], tensor(i32, 4))
    expected = DenseIntOrFPElementsAttr.from_list(tensor(i32, 4, 1), [1, 2, 3, 4])
    assert folded_attribute(tt.ExpandDimsOp(line, 1)) == expected
    # A list is neither copied along a dimension nor permuted.
    square = constant([1, 2, 3, 4], tensor(i32, 2, 2))
    assert fold_values(tt.TransOp(square, [1, 0])) is None
    assert (
        fold_values(tt.BroadcastOp(constant([1, 2], tensor(i32, 2, 1)), tensor(i32, 2, 4))) is None
    )


def test_nothing_to_do():
    x = unknown(tensor(f32, 4, 8))
    assert folded_operand(tt.BroadcastOp(x, x.type)) is x
    assert folded_operand(tt.TransOp(x, [0, 1])) is x
    assert fold_values(tt.TransOp(x, [1, 0])) is None
    # Equal extents do not make an exchange of dimensions an identity.
    square = unknown(tensor(f32, 4, 4))
    assert fold_values(tt.TransOp(square, [1, 0])) is None


@pytest.mark.parametrize(("start", "end", "expected"), [(5, 6, 5), (0, 1, 0), (0, 2, None)])
def test_range(start: int, end: int, expected: int | None):
    assert folded_number(tt.MakeRangeOp(start, end)) == expected


def test_pointer_offset():
    pointer = unknown(tt.PtrType.get(f32))
    assert folded_operand(tt.AddPtrOp(pointer, constant(0, i32))) is pointer
    assert fold_values(tt.AddPtrOp(pointer, constant(1, i32))) is None
    assert fold_values(tt.AddPtrOp(pointer, unknown(i32))) is None
