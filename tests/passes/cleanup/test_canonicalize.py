"""The canonicaliser as a whole; its rules one by one are tests/lit/passes/canonicalize."""

import re

import pytest

from tests.passes.pass_support import CORPUS, apply, ops, parse, run
from tilewright.ir.text import print_module
from tilewright.passes.cleanup.canonicalization import constants
from tilewright.passes.cleanup.canonicalize import Canonicalize, canonicalize

CORPUS_IDS = [file.stem for file in CORPUS]


@pytest.mark.parametrize("file", CORPUS, ids=CORPUS_IDS)
def test_canonical_text_stays(file):
    """What Triton's own canonicaliser has been over comes back as it was."""
    module = parse(file.read_text())
    before = print_module(module, locations=True)
    assert print_module(apply(module, "canonicalize", "cse", "dce"), locations=True) == before


NON_CANONICAL = """
    tt.func @f(%x: i32, %n: i32, %c: i1, %p: !tt.ptr<i32>) -> (i32, tensor<8xi32>) {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %a = arith.addi %one, %x : i32
      %b = arith.addi %a, %one : i32
      %r:2 = scf.for %i = %zero to %n step %one iter_args(%s = %b, %t = %x) -> (i32, i32) : i32 {
        %k = arith.constant 1 : i32
        %u = arith.addi %s, %k : i32
        %v = arith.muli %u, %t : i32
        scf.yield %v, %t : i32, i32
      }
      %q = scf.if %c -> (i32) {
        scf.yield %r#0 : i32
      } else {
        scf.yield %r#1 : i32
      }
      scf.if %c {
        tt.store %p, %q : !tt.ptr<i32>
      } else {
      }
      %w = tt.splat %one : i32 -> tensor<8xi32>
      tt.return %q, %w : i32, tensor<8xi32>
    }
"""


def test_rules_work_together():
    text = run(NON_CANONICAL, "canonicalize")
    assert ops(text) == [
        *["arith.constant"] * 4,  # dense<1>, 2, 0, 1
        "arith.addi",
        *("scf.for", "arith.addi", "arith.muli", "scf.yield"),
        "arith.select",
        *("scf.if", "tt.store"),
    ]


def test_the_result_is_a_fixpoint():
    once = run(NON_CANONICAL, "canonicalize", locations=True)
    twice = run(NON_CANONICAL, "canonicalize", "canonicalize", locations=True)
    assert once == twice


def test_runs_are_repeatable():
    assert len({run(NON_CANONICAL, "canonicalize", locations=True) for _ in range(5)}) == 1


def test_convergence_is_reported():
    assert canonicalize(parse(NON_CANONICAL)) is True
    assert canonicalize(parse(NON_CANONICAL), max_iterations=1) is False


def test_option():
    assert str(Canonicalize(max_iterations=3)) == "canonicalize{max-iterations=3}"


# Locations.


def location_of(text: str, op: str) -> str:
    """The location behind the first line that holds ``op``, aliases resolved."""
    line = next(line for line in text.splitlines() if op in line)
    (alias,) = re.findall(r"loc\((#loc\d*)\)$", line)
    (location,) = re.findall(rf"^{alias} = loc\((.*)\)$", text, re.MULTILINE)
    return location


LOCATED = """
    tt.func @f(%x: i32, %n: i32) -> (i32, i32, i32) {
      %a = arith.constant 7 : i32 loc("k.py":1:1)
      %b = arith.constant 7 : i32 loc("k.py":2:1)
      %c = arith.constant 5 : i32 loc("k.py":3:1)
      %d = arith.addi %a, %c : i32 loc("k.py":4:1)
      %e = arith.muli %x, %a : i32 loc("k.py":5:1)
      %f = arith.muli %e, %b : i32 loc("k.py":6:1)
      %zero = arith.constant 0 : i32 loc("k.py":7:1)
      %one = arith.constant 1 : i32 loc("k.py":8:1)
      %r:2 = scf.for %i = %zero to %n step %one iter_args(%s = %x, %t = %n) -> (i32, i32) : i32 {
        %u = arith.subi %s, %i : i32 loc("k.py":9:1)
        scf.yield %u, %t : i32, i32 loc("k.py":10:1)
      } loc("k.py":11:1)
      tt.return %d, %f, %r#0 : i32, i32, i32 loc("k.py":12:1)
    } loc("k.py":0:1)
"""


@pytest.mark.parametrize(
    ("op", "location"),
    [
        ("arith.constant 12", '"k.py":4:1'),  # folded: where it was computed
        ("arith.constant 49", '"k.py":6:1'),  # combined: where the outer op was
        ("arith.muli", '"k.py":6:1'),
        ("arith.constant 0 ", '"k.py":7:1'),
        ("arith.subi", '"k.py":9:1'),  # inside a loop that was rebuilt
        ("scf.yield", '"k.py":10:1'),
        ("} loc", '"k.py":11:1'),
    ],
)
def test_locations_survive(op: str, location: str):
    text = run(LOCATED, "canonicalize", locations=True)
    assert location_of(text, op) == location


def test_of_merged_constants_the_first_counts():
    text = run(
        """
        tt.func @f() -> (i32, i32) {
          %a = arith.constant 7 : i32 loc("k.py":1:1)
          %b = arith.constant 7 : i32 loc("k.py":2:1)
          tt.return %a, %b : i32, i32
        }
        """,
        "canonicalize",
        locations=True,
    )
    assert text.count("arith.constant") == 1
    assert location_of(text, "arith.constant") == '"k.py":1:1'


# Structure.


def test_isolated_regions_have_their_own_constants():
    """Nothing outside a partition is visible in it, so its constants stay there."""
    text = run(
        """
        module attributes {"ttg.num-warps" = 4 : i32} {
          tt.func @f(%p: !tt.ptr<i32>) {
            ttg.warp_specialize(%p)
            default {
              %a = arith.constant 3 : i32
              tt.store %p, %a : !tt.ptr<i32>
              ttg.warp_yield
            }
            partition0(%q: !tt.ptr<i32>) num_warps(4) {
              %b = arith.constant 3 : i32
              tt.store %q, %b : !tt.ptr<i32>
              ttg.warp_return
            } : (!tt.ptr<i32>) -> ()
            tt.return
          }
        }
        """,
        "canonicalize",
    )
    lines = [line.strip() for line in text.splitlines()]
    constants_at = [index for index, line in enumerate(lines) if "arith.constant 3" in line]
    partition = next(index for index, line in enumerate(lines) if "partition0" in line)
    default = next(index for index, line in enumerate(lines) if line.startswith("default"))
    assert len(constants_at) == 2
    assert constants_at[0] < default
    assert constants_at[1] == partition + 1


def test_a_constant_that_died_is_made_again():
    """The pool must not hand out an op that was erased as dead in between."""
    text = run(
        """
        tt.func @f(%x: i32) -> i32 {
          %unused = arith.constant 8 : i32
          %three = arith.constant 3 : i32
          %five = arith.constant 5 : i32
          %a = arith.addi %x, %three : i32
          %b = arith.addi %a, %five : i32
          tt.return %b : i32
        }
        """,
        "canonicalize",
    )
    assert ops(text) == ["arith.constant", "arith.addi"]
    assert "arith.constant 8" in text


def test_names_that_xdsl_cannot_keep():
    """Of ``%_0`` xDSL keeps an empty name hint, which it refuses when it is handed on."""
    text = """
        tt.func @f(%x: i32) -> i32 {
          %_0 = arith.constant 1 : i32
          %_0_0 = arith.constant 1 : i32
          %_0_1 = arith.addi %_0, %_0_0 : i32
          %_0_2 = arith.addi %_0_1, %_0_1 : i32
          %_0_3 = arith.muli %x, %_0_2 : i32
          tt.return %_0_3 : i32
        }
    """
    assert ops(run(text, "canonicalize")) == ["arith.constant", "arith.muli"]


def test_an_unknown_op_in_a_branch_stays():
    module = parse(
        """
        tt.func @f(%c: i1) {
          scf.if %c {
            "test.use"(%c) : (i1) -> ()
            scf.yield
          }
          tt.return
        }
        """,
        allow_unregistered=True,
    )
    text = print_module(apply(module, "canonicalize"))
    assert '"test.use"(%true)' in text


def test_deep_nesting():
    depth = 60
    opening = "scf.if %c {\n" * depth
    text = f"""
        tt.func @f(%c: i1, %p: !tt.ptr<i32>, %x: i32) {{
          {opening}
          tt.store %p, %x : !tt.ptr<i32>
          {"}" * depth}
          tt.return
        }}
    """
    # Inside the first branch the condition of all others is known.
    assert ops(run(text, "canonicalize")) == ["scf.if", "tt.store"]


def test_forgetting_to_merge_constants_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(constants.ConstantPool, "gather", lambda *_: None)
    with pytest.raises(AssertionError):
        test_of_merged_constants_the_first_counts()
