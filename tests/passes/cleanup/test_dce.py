"""Dead code elimination of ops and of symbols; more cases in tests/lit/passes."""

import pytest

from tests.passes.pass_support import ops, parse, run
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.cleanup import dce
from tilewright.passes.cleanup.dce import eliminate_dead_code
from tilewright.passes.cleanup.symbol_dce import unused_symbols

DEAD_CHAIN = """
    tt.func @f(%p: !tt.ptr<i32>, %x: i32, %c: i1) {
      %a = arith.addi %x, %x : i32
      %b = scf.if %c -> (i32) {
        %d = arith.muli %a, %a : i32
        scf.yield %d : i32
      } else {
        %v = tt.load %p : !tt.ptr<i32>
        scf.yield %v : i32
      }
      %e = arith.subi %b, %a : i32
      tt.return
    }
"""


def test_one_run_removes_whole_chains():
    assert ops(run(DEAD_CHAIN, "dce")) == []


def test_nothing_dead_nothing_done():
    module = parse("tt.func @f(%x: i32) -> i32 {\n tt.return %x : i32\n}")
    rewriter = Rewriter()
    eliminate_dead_code(module, rewriter)
    assert not rewriter.changed


def test_effects_count():
    """Removing whatever is unused would also remove what is done for its effect."""
    text = """
        tt.func @f(%p: !tt.ptr<i32>, %x: i32, %m: i1) {
          %old = tt.atomic_rmw add, acq_rel, gpu, %p, %x, %m : (!tt.ptr<i32>, i32, i1) -> i32
          tt.return
        }
    """
    assert ops(run(text, "dce")) == ["tt.atomic_rmw"]


def test_ignoring_effects_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dce, "is_removable", lambda op: True)
    monkeypatch.setattr(
        dce, "_removable", lambda cls: None if cls.name == "tt.atomic_rmw" else False
    )
    with pytest.raises(AssertionError):
        test_effects_count()


# Symbols.

FUNCTIONS = """
    tt.func public @kernel() {
      tt.call @a() : () -> ()
      tt.return
    }
    tt.func private @a() {
      tt.call @b() : () -> ()
      tt.return
    }
    tt.func private @b() {
      tt.return
    }
    tt.func private @c() {
      tt.call @d() : () -> ()
      tt.return
    }
    tt.func private @d() {
      tt.call @c() : () -> ()
      tt.return
    }
"""


def test_symbols_that_only_the_dead_use():
    names = [op.get_attr_or_prop("sym_name").data for op in unused_symbols(parse(FUNCTIONS))]
    assert names == ["c", "d"]


def test_symbols_in_attributes_count():
    text = FUNCTIONS.replace("@kernel()", "@kernel() attributes {uses = [{also = @d}]}")
    assert unused_symbols(parse(text)) == []
