"""Copies of ops: operands mapped, names and locations preserved."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation, SSAValue

from tests.passes.pass_support import parse
from tilewright.dialects.func import FuncOp
from tilewright.ir.traversal import walk, walk_for
from tilewright.passes.tile.clone_ops import copy_op

NESTED = """
func.func @f(%n: index, %x: f32, %m: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (f32) {
    %odd = arith.remui %i, %c1 : index
    %zero = arith.cmpi eq, %odd, %c0 : index
    scf.if %zero {
      memref.store %sum, %m[%i] : memref<8xf32>
    }
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  func.return
}
"""
BLOCKS = """
func.func @f(%n: i32) {
  %0 = scf.execute_region -> i32 {
    cf.br ^later
  ^earlier:
    scf.yield %y : i32
  ^later:
    %y = arith.addi %n, %n : i32
    cf.br ^earlier
  }
  func.return
}
"""


def _described(op: Operation, ids: dict[SSAValue, int]) -> list[object]:
    """All of an op and of what is in it; values outside of it by themselves."""
    found: list[object] = []
    for each in walk(op):
        values = [*each.results, *(a for r in each.regions for b in r.blocks for a in b.args)]
        for value in values:
            ids[value] = len(ids)
        found.append((each.name, each.location, each.properties, each.attributes))
        found.extend((value.type, value.name_hint) for value in values)
    for each in walk(op):
        found.append([ids.get(operand, operand) for operand in each.operands])
    return found


@pytest.mark.parametrize(("text", "name"), ((NESTED, "scf.for"), (BLOCKS, "scf.execute_region")))
def test_a_copy_is_what_xdsl_clones(text: str, name: str) -> None:
    function = next(walk_for(parse(text), FuncOp))
    op = next(each for each in walk(function) if each.name == name)
    values: dict[SSAValue, SSAValue] = {}
    copy = copy_op(op, values)
    assert _described(copy, {}) == _described(op, {}) == _described(op.clone(), {})
    assert {each for inner in walk(op) for each in inner.results} <= values.keys()
    assert not {*walk(copy)} & {*walk(op)}


def test_operands_are_mapped_at_all_depths() -> None:
    function = next(walk_for(parse(NESTED), FuncOp))
    _, x, memory = function.body.block.args
    loop = next(each for each in walk(function) if each.name == "scf.for")
    other = next(walk_for(parse(NESTED), FuncOp)).body.block.args
    copy = copy_op(loop, {x: other[1], memory: other[2]})
    used = {operand for each in walk(copy) for operand in each.operands}
    assert {other[1], other[2]} <= used
    assert not used & {x, memory}
