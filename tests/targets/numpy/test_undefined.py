"""Lanes that a masked load leaves undefined: using one is reported, everything else is not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.kernels import compiled, run
from tilewright.targets.numpy import NumpyFault


def kernel(body: str) -> str:
    """`%v` is loaded where `%m` holds, the first `%n` of 16 lanes; `%ptrs` points to the output."""
    return f"""tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>, %n: i32) {{
  %lane = tt.make_range {{start = 0 : i32, end = 16 : i32}} : tensor<16xi32>
  %all = tt.splat %n : i32 -> tensor<16xi32>
  %m = arith.cmpi slt, %lane, %all : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %xq = tt.addptr %xs, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %v = tt.load %xq, %m : tensor<16x!tt.ptr<i32>>
  %os = tt.splat %out : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %ptrs = tt.addptr %os, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %zero = arith.constant dense<0> : tensor<16xi32>
  %yes = arith.constant dense<true> : tensor<16xi1>
{body}
  tt.return
}}"""


REDUCE = """  %sum = "tt.reduce"(%s) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tt.reduce.return %c : i32
  }) : (tensor<16xi32>) -> i32
  tt.store %out, %sum : !tt.ptr<i32>"""
STORE = "  tt.store %ptrs, %w : tensor<16x!tt.ptr<i32>>"
MASKED_STORE = "  tt.store %ptrs, %w, %m : tensor<16x!tt.ptr<i32>>"

FINE = {
    "stored under the same mask": "%w = arith.addi %v, %v : tensor<16xi32>\n" + MASKED_STORE,
    "stored under a stronger mask": """%f = arith.constant dense<4> : tensor<16xi32>
  %g = arith.cmpi sgt, %lane, %f : tensor<16xi32>
  %h = arith.andi %g, %m : tensor<16xi1>
  tt.store %ptrs, %v, %h : tensor<16x!tt.ptr<i32>>""",
    "replaced by select": "%w = arith.select %m, %v, %zero : tensor<16xi1>, tensor<16xi32>\n"
    + STORE,
    "replaced by the opposite select": """%n2 = arith.xori %m, %yes : tensor<16xi1>
  %w = arith.select %n2, %zero, %v : tensor<16xi1>, tensor<16xi32>
"""
    + STORE,
    "summed after select": "%s = arith.select %m, %v, %zero : tensor<16xi1>, tensor<16xi32>\n"
    + REDUCE,
    "decided by the other operand": """%pos = arith.cmpi sgt, %v, %zero : tensor<16xi32>
  %both = arith.andi %m, %pos : tensor<16xi1>
  %w = arith.extui %both : tensor<16xi1> to tensor<16xi32>
"""
    + STORE,
    "not used at all": "%w = arith.addi %zero, %lane : tensor<16xi32>\n" + STORE,
    "moved and masked": """%e = tt.expand_dims %v {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %f = tt.reshape %e : tensor<16x1xi32> -> tensor<16xi32>
  tt.store %ptrs, %f, %m : tensor<16x!tt.ptr<i32>>""",
}
WRONG = {
    "stored without a mask": (
        "%w = arith.addi %v, %v : tensor<16xi32>\n" + STORE,
        "a stored value",
    ),
    "summed": ("%s = arith.addi %v, %zero : tensor<16xi32>\n" + REDUCE, "a stored value"),
    "scanned": (
        """%w = "tt.scan"(%v) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tt.scan.return %c : i32
  }) : (tensor<16xi32>) -> tensor<16xi32>
"""
        + MASKED_STORE,
        "a stored value",
    ),
    "an address": (
        """%q = tt.addptr %os, %v : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %lane : tensor<16x!tt.ptr<i32>>""",
        "the address of a store",
    ),
    "a mask": (
        """%g = arith.cmpi sgt, %v, %zero : tensor<16xi32>
  tt.store %ptrs, %lane, %g : tensor<16x!tt.ptr<i32>>""",
        "the mask of a store",
    ),
    "printed": (
        '  tt.print "v" {hex = false, isSigned = array<i32: 1>} : %v : tensor<16xi32>',
        "a printed value",
    ),
    "asserted": (
        """%g = arith.cmpi sge, %v, %zero : tensor<16xi32>
  tt.assert %g, "negative" : tensor<16xi1>""",
        "the condition of an assertion",
    ),
    "branched on": (
        REDUCE.replace("(%s)", "(%v)").replace("tt.store %out, %sum : !tt.ptr<i32>", "")
        + """  %c0 = arith.constant 0 : i32
  %g = arith.cmpi sgt, %sum, %c0 : i32
  scf.if %g {
    tt.store %out, %sum : !tt.ptr<i32>
  }""",
        "the condition of a branch",
    ),
    "carried by a loop": (
        """%c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %w = scf.for %k = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<16xi32>) : i32 {
    %t = arith.addi %s, %v : tensor<16xi32>
    scf.yield %t : tensor<16xi32>
  }
"""
        + STORE,
        "a stored value",
    ),
}


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(16, dtype=np.int32), np.zeros(16, np.int32)


@pytest.mark.parametrize("name", FINE)
def test_fine(name: str) -> None:
    for count in (16, 5, 0):
        x, out = arrays()
        run(kernel(FINE[name]), (1,), x, out, count)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    body, what = WRONG[name]
    x, out = arrays()
    with pytest.raises(NumpyFault, match=f"{what} is undefined"):
        run(kernel(body), (1,), x, out, 5)
    lines: list[str] = []
    run(kernel(body), (1,), x, out, 16, output=lines.append)  # no lane is masked off
    run(kernel(body), (1,), x, out, 5, check_uninitialised=False, output=lines.append)


def test_a_loop_without_iterations_leaves_the_value_defined() -> None:
    x, out = arrays()
    body = WRONG["carried by a loop"][0]
    run(kernel(body), (1,), x, out, 0)
    assert out.tolist() == [0] * 16


def test_many_checks_are_made_when_compiling() -> None:
    source = compiled(kernel(FINE["stored under the same mask"])).source
    assert "rt.need(" not in source
    assert "rt.need(" in compiled(kernel(WRONG["stored without a mask"][0])).source


def test_the_message_names_lane_program_and_load() -> None:
    x, out = arrays()
    with pytest.raises(NumpyFault) as caught:
        run(kernel(WRONG["stored without a mask"][0]), (3,), x, out, 5)
    fault = caught.value
    assert fault.program == (0, 0, 0)
    lines = str(fault).splitlines()
    assert lines[0].startswith("kernel.mlir:13:")
    assert lines[0].endswith(
        "error[TW6011]: a stored value is undefined at element [5] in program (0, 0, 0)"
    )
    assert any("kernel.mlir:7:" in line and "note:" in line for line in lines)


DIVISION = """tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>, %guard: i1) {
  %i = tt.get_program_id x : i32
  %p = tt.addptr %x, %i : !tt.ptr<i32>, i32
  %q = tt.addptr %out, %i : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32>
  %c0 = arith.constant 0 : i32
  %c9 = arith.constant 9 : i32
  %d = arith.divsi %c9, %v : i32
  %z = arith.cmpi ne, %v, %c0 : i32
  %s = arith.select %z, %d, %c0 : i32
  %r = arith.select %guard, %s, %d : i32
  tt.store %q, %r : !tt.ptr<i32>
  tt.return
}"""


def test_division_by_zero_counts_where_it_is_used() -> None:
    x, out = np.array([3, 0, 2], np.int32), np.zeros(3, np.int32)
    run(DIVISION, (3,), x, out, True)
    assert out.tolist() == [3, 0, 4]
    with pytest.raises(NumpyFault, match="division by zero") as caught:
        run(DIVISION, (3,), x, out, False)
    assert caught.value.program == (1, 0, 0)


GATHER = """tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>, %move: i32) {
  %lane = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %mw = tt.splat %move : i32 -> tensor<8xi32>
  %index = arith.addi %lane, %mw : tensor<8xi32>
  %r = tt.gather %lane[%index] {axis = 0 : i32} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %os = tt.splat %out : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %ptrs = tt.addptr %os, %lane : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  tt.store %ptrs, %r : tensor<8x!tt.ptr<i32>>
  tt.return
}"""


def test_an_index_out_of_range_gives_nothing() -> None:
    x, out = np.zeros(8, np.int32), np.zeros(8, np.int32)
    run(GATHER, (1,), x, out, 0)
    assert out.tolist() == list(range(8))
    with pytest.raises(NumpyFault, match=r"an index is not in 0 … 7 here"):
        run(GATHER, (1,), x, out, 1)


def test_values_of_a_branch_inside_a_branch() -> None:
    """Their shadows are computed where they are."""
    body = """%c3 = arith.constant 3 : i32
  %c9 = arith.constant 9 : i32
  %c = arith.cmpi sgt, %n, %c3 : i32
  %d = arith.cmpi sgt, %n, %c9 : i32
  %six = arith.constant dense<6> : tensor<16xi32>
  %m2 = arith.cmpi slt, %lane, %six : tensor<16xi32>
  %w = scf.if %c -> (tensor<16xi32>) {
    %other = tt.load %xq, %m2 : tensor<16x!tt.ptr<i32>>
    %i = scf.if %d -> (tensor<16xi32>) {
      %double = arith.addi %other, %other : tensor<16xi32>
      scf.yield %double : tensor<16xi32>
    } else {
      scf.yield %other : tensor<16xi32>
    }
    %sum = arith.addi %v, %i : tensor<16xi32>
    scf.yield %sum : tensor<16xi32>
  } else {
    scf.yield %v : tensor<16xi32>
  }
  %both = arith.andi %m, %m2 : tensor<16xi1>
  tt.store %ptrs, %w, %both : tensor<16x!tt.ptr<i32>>"""
    for count, factor in ((3, 1), (5, 2), (16, 3)):
        x, out = arrays()
        run(kernel(body), (1,), x, out, count)
        assert out.tolist() == [lane * factor if lane < min(count, 6) else 0 for lane in range(16)]
    with pytest.raises(NumpyFault, match="a stored value is undefined"):
        x, out = arrays()
        run(kernel(body.replace("%w, %both", "%w, %m")), (1,), x, out, 16)
