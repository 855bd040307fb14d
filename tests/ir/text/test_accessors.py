"""Operands, results and regions by name are those that xDSL's own accessors find."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DenseArrayBase, i32, i64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    region_def,
    result_def,
    successor_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)

from tilewright.ir.text import print_module  # noqa: F401  (installs the accessors)


@irdl_op_definition
class OneVariadic(IRDLOperation):
    name = "test.one_variadic"

    first = operand_def()
    some = var_operand_def()
    last = operand_def()
    result = result_def()
    more = var_result_def()
    body = region_def()
    bodies = var_region_def()
    successor = successor_def()


@irdl_op_definition
class Segments(IRDLOperation):
    name = "test.segments"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    head = operand_def()
    maybe = opt_operand_def()
    some = var_operand_def()
    other = opt_operand_def()


def _values(count: int) -> tuple[Operation, ...]:
    return tuple(AnyOp(result_types=[i32]) for _ in range(count))


@pytest.mark.parametrize("count", (0, 1, 3))
def test_of_one_variadic(count: int) -> None:
    values = [each.results[0] for each in _values(count + 2)]
    regions = [Region() for _ in range(count + 1)]
    target = Block()
    op = OneVariadic(
        operands=[values[0], values[1:-1], values[-1]],
        result_types=[i32, [i64] * count],
        regions=[regions[0], regions[1:]],
        successors=[target],
    )
    assert (op.first, op.last, op.result) == (values[0], values[-1], op.results[0])
    assert tuple(op.some) == tuple(values[1:-1]) == tuple(op.operands[1:-1])
    assert tuple(op.more) == op.results[1:]
    assert op.more.types == (i64,) * count
    assert (op.body, tuple(op.bodies)) == (regions[0], tuple(regions[1:]))
    assert op.successor is target


@pytest.mark.parametrize("element_type", (i32, i64))
def test_of_segments(element_type) -> None:
    """The verifier rejects sizes of 64 bits, and has to be able to print the op."""
    head, maybe, one, two = (each.results[0] for each in _values(4))
    op = Segments(operands=[head, maybe, [one, two], None])
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(element_type, [1, 1, 2, 0])
    assert (op.head, op.maybe, tuple(op.some), op.other) == (head, maybe, (one, two), None)
    op = Segments(operands=[head, None, [], two])
    assert (op.head, op.maybe, tuple(op.some), op.other) == (head, None, (), two)


def test_operands_follow_a_change() -> None:
    first, last, other = (each.results[0] for each in _values(3))
    op = OneVariadic(
        operands=[first, [], last],
        result_types=[i32, []],
        regions=[Region(), []],
        successors=[Block()],
    )
    op.operands[0] = other
    assert op.first is other
    op.operands = (other, first, last)
    assert tuple(op.some) == (first,)
    # xDSL has no assignment to one of several definitions: an error, not another operand.
    with pytest.raises(NotImplementedError):
        op.first = last
