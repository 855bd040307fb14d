"""Ops are made in the state that xDSL's own constructor leaves them in."""

from __future__ import annotations

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, StringAttr, UnitAttr, i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_successor_def,
)
from xdsl.traits import IsTerminator

from tilewright.ir.text import print_module  # noqa: F401  (installs the constructor)


@irdl_op_definition
class Everything(IRDLOperation):
    name = "test.everything"

    first = operand_def()
    more = var_operand_def()
    result = result_def()
    bodies = var_region_def()
    targets = var_successor_def()
    count = prop_def(IntAttr, default_value=IntAttr(7))
    needed = prop_def(IntAttr)
    absent = opt_prop_def(IntAttr)
    label = attr_def(StringAttr, default_value=StringAttr("none"))
    traits = traits_def(IsTerminator())


def _value() -> Operation:
    return AnyOp(result_types=[i32])


def test_operands_are_used_in_order() -> None:
    one, other = _value().results[0], _value().results[0]
    op = Everything.create(operands=(one, other, one), result_types=(i32,))
    assert tuple(op.operands) == (one, other, one)
    assert {(use.operation, use.index) for use in one.uses} == {(op, 0), (op, 2)}
    use = other.get_unique_use()
    assert use is not None and (use.operation, use.index) == (op, 1)
    op.operands = (other,)
    assert one.first_use is None
    assert len(list(other.uses)) == 1
    op.erase()
    assert other.first_use is None


def test_builders_insert_what_is_made() -> None:
    block = Block()
    with ImplicitBuilder(block):
        op = Everything.create(result_types=(i32,))
    assert list(block.ops) == [op]


def test_results_have_their_op_and_index() -> None:
    op = AnyOp.create(result_types=(i32, i32))
    assert [(each.op, each.index, each.type) for each in op.results] == [(op, 0, i32), (op, 1, i32)]


def test_defaults_are_added_where_nothing_is_given() -> None:
    given = {"needed": IntAttr(1), "count": IntAttr(2)}
    op = Everything.create(operands=(_value().results[0],), result_types=(i32,), properties=given)
    assert (op.properties, op.attributes) == (given, {"label": StringAttr("none")})
    other = Everything.create(result_types=(i32,), attributes={"label": StringAttr("x")})
    assert other.properties == {"count": IntAttr(7)}
    assert other.attributes == {"label": StringAttr("x")}
    op.properties["extra"] = UnitAttr()
    assert "extra" not in given  # a copy


def test_locations_successors_and_regions() -> None:
    location = FileLineColLoc(StringAttr("a.py"), IntAttr(3), IntAttr(1))
    target, bodies = Block(), [Region(Block()), Region()]
    op = Everything.create(
        result_types=(i32,), location=location, successors=[target, target], regions=bodies
    )
    assert op.location is location
    assert tuple(op.successors) == (target, target)
    assert op.regions == tuple(bodies)
    assert all(each.parent is op for each in bodies)
    assert len(list(target.uses)) == 2
    plain = AnyOp.create()
    assert (plain.location, tuple(plain.successors), plain.regions) == (UNKNOWN_LOC, (), ())
    assert (plain.parent, plain.next_op, plain.prev_op) == (None, None, None)
    with pytest.raises(ValueError, match="already attached"):
        AnyOp.create(regions=bodies[:1])
