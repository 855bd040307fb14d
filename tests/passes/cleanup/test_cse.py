"""Common subexpression elimination; the cases one by one are tests/lit/passes/cse."""

from itertools import pairwise

import pytest

from tests.passes.cleanup.test_canonicalize import location_of
from tests.passes.pass_support import CORPUS, ops, parse, run
from tilewright.ir.dominance import DominatorTree
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text import print_module
from tilewright.passes.cleanup import cse
from tilewright.passes.cleanup.cse import eliminate_common_subexpressions


def test_the_first_op_keeps_its_location():
    text = run(
        """
        tt.func @f(%a: i32) -> (i32, i32) {
          %x = arith.muli %a, %a : i32 loc("k.py":1:1)
          %y = arith.muli %a, %a : i32 loc("k.py":2:1)
          tt.return %x, %y : i32, i32
        }
        """,
        "cse",
        locations=True,
    )
    assert ops(text) == ["arith.muli"]
    assert location_of(text, "arith.muli") == '"k.py":1:1'


def test_an_unknown_location_is_filled_in():
    text = run(
        """
        tt.func @f(%a: i32) -> (i32, i32) {
          %x = arith.muli %a, %a : i32 loc(unknown)
          %y = arith.muli %a, %a : i32 loc("k.py":2:1)
          tt.return %x, %y : i32, i32
        }
        """,
        "cse",
        locations=True,
    )
    assert location_of(text, "arith.muli") == '"k.py":2:1'


def test_chains_merge_in_one_run():
    text = run(
        """
        tt.func @f(%a: i32, %b: i32) -> (i32, i32) {
          %x0 = arith.addi %a, %b : i32
          %x1 = arith.muli %x0, %a : i32
          %y0 = arith.addi %b, %a : i32
          %y1 = arith.muli %a, %y0 : i32
          tt.return %x1, %y1 : i32, i32
        }
        """,
        "cse",
    )
    assert ops(text) == ["arith.addi", "arith.muli"]


def test_regions_merge_from_the_inside():
    """Two branches become equal only after their own subexpressions were merged."""
    text = run(
        """
        tt.func @f(%c: i1, %a: i32) -> (i32, i32) {
          %x = scf.if %c -> (i32) {
            %s = arith.addi %a, %a : i32
            %t = arith.addi %a, %a : i32
            %u = arith.muli %s, %t : i32
            scf.yield %u : i32
          } else {
            scf.yield %a : i32
          }
          %y = scf.if %c -> (i32) {
            %s = arith.addi %a, %a : i32
            %u = arith.muli %s, %s : i32
            scf.yield %u : i32
          } else {
            scf.yield %a : i32
          }
          tt.return %x, %y : i32, i32
        }
        """,
        "cse",
    )
    assert ops(text).count("scf.if") == 1


def test_regions_with_effects_stay():
    text = run(
        """
        tt.func @f(%c: i1, %p: !tt.ptr<i32>, %a: i32) {
          scf.if %c {
            tt.store %p, %a : !tt.ptr<i32>
          }
          scf.if %c {
            tt.store %p, %a : !tt.ptr<i32>
          }
          tt.return
        }
        """,
        "cse",
    )
    assert ops(text) == ["scf.if", "tt.store", "scf.if", "tt.store"]


LOOP_OF_BLOCKS = """
    tt.func @f(%n: i32, %p: !tt.ptr<i32>) {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      cf.br ^head(%zero : i32)
    ^head(%i: i32):
      %sq = arith.muli %n, %n : i32
      %go = arith.cmpi slt, %i, %sq : i32
      cf.cond_br %go, ^body, ^exit
    ^body:
      %again = arith.muli %n, %n : i32
      tt.store %p, %again : !tt.ptr<i32>
      %next = arith.addi %i, %one : i32
      cf.br ^head(%next : i32)
    ^exit:
      %last = arith.muli %n, %n : i32
      tt.store %p, %last : !tt.ptr<i32>
      tt.return
    }
"""


def test_a_dominator_serves_a_loop_of_blocks():
    assert ops(run(LOOP_OF_BLOCKS, "cse")).count("arith.muli") == 1


def test_ignoring_dominance_is_noticed(monkeypatch: pytest.MonkeyPatch):
    """With every block under the entry, an op of one branch would serve the other."""
    branches = """
        tt.func @f(%c: i1, %a: i32) -> i32 {
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          %x = arith.muli %a, %a : i32
          tt.return %x : i32
        ^bb2:
          %y = arith.muli %a, %a : i32
          tt.return %y : i32
        }
    """
    assert ops(run(branches, "cse")).count("arith.muli") == 2

    def chain(region):
        blocks = list(region.blocks)
        return {block: [after] for block, after in pairwise(blocks)}

    monkeypatch.setattr(cse, "_dominated_blocks", chain)
    with pytest.raises(Exception, match="does not dominate"):
        run(branches, "cse")


def test_unreachable_blocks_are_left_alone():
    text = """
        tt.func @f(%a: i32) -> i32 {
          tt.return %a : i32
        ^bb1:
          %x = arith.muli %a, %a : i32
          %y = arith.muli %a, %a : i32
          %z = arith.addi %x, %y : i32
          tt.return %z : i32
        }
    """
    module = parse(text)
    region = module.body.block.first_op.regions[0]
    assert not DominatorTree(region).is_reachable(region.last_block)
    assert ops(run(text, "cse")).count("arith.muli") == 2


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_twice_is_once(file):
    module = parse(file.read_text())
    eliminate_common_subexpressions(module, Rewriter())
    once = print_module(module)
    rewriter = Rewriter()
    eliminate_common_subexpressions(module, rewriter)
    assert not rewriter.changed
    assert print_module(module) == once
