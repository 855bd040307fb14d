"""Loop-invariant code motion; the cases one by one are tests/lit/passes/licm."""

import pytest

from tests.passes.cleanup.test_canonicalize import location_of
from tests.passes.pass_support import ops, run
from tilewright.passes.cleanup import loop_invariant_code_motion as licm

PASS = "loop-invariant-code-motion"


def loop(body: str) -> str:
    return f"""
        tt.func @f(%p: !tt.ptr<i32>, %n: i32, %c: i1) {{
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %seven = arith.constant 7 : i32
          scf.for %i = %zero to %n step %one : i32 {{
            {body}
          }}
          tt.return
        }}
    """


def hoisted(body: str) -> list[str]:
    """The ops that left the loop, in order."""
    names = ops(run(loop(body), PASS))
    return names[3 : names.index("scf.for")]


def test_order_and_location_are_kept():
    body = """
        %x = arith.muli %n, %n : i32 loc("k.py":1:1)
        %y = arith.subi %x, %n : i32 loc("k.py":2:1)
        tt.store %p, %y : !tt.ptr<i32> loc("k.py":3:1)
    """
    assert hoisted(body) == ["arith.muli", "arith.subi"]
    text = run(loop(body), PASS, locations=True)
    assert location_of(text, "arith.subi") == '"k.py":2:1'


@pytest.mark.parametrize(
    "name", ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"]
)
@pytest.mark.parametrize(("divisor", "moves"), [("%seven", True), ("%zero", False), ("%n", False)])
def test_divisions(name: str, divisor: str, moves: bool):
    body = f"%x = arith.{name} %n, {divisor} : i32\n tt.store %p, %x : !tt.ptr<i32>"
    assert hoisted(body) == ([f"arith.{name}"] if moves else [])


def test_a_division_inside_a_branch_keeps_it_in():
    body = """
        %x = scf.if %c -> (i32) {
          %d = arith.divsi %n, %n : i32
          scf.yield %d : i32
        } else {
          scf.yield %n : i32
        }
        tt.store %p, %x : !tt.ptr<i32>
    """
    assert hoisted(body) == []


def test_a_value_of_the_iteration_inside_a_branch_keeps_it_in():
    body = """
        %x = scf.if %c -> (i32) {
          scf.yield %i : i32
        } else {
          scf.yield %n : i32
        }
        tt.store %p, %x : !tt.ptr<i32>
    """
    assert hoisted(body) == []


def test_speculating_a_division_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(licm, "_is_harmless", lambda op: True)
    with pytest.raises(AssertionError):
        test_divisions("divsi", "%n", moves=False)


def test_ignoring_the_iteration_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(licm, "_is_invariant", lambda op, body: True)
    with pytest.raises(Exception, match="does not dominate"):
        test_a_value_of_the_iteration_inside_a_branch_keeps_it_in()
